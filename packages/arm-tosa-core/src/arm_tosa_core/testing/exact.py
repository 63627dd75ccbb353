"""A quantized graph in float64: eager PyTorch without the errors of float32.

Between integers of 16 bits float32 has 8 bits to spare. One number in some hundreds lies so near the middle of two
integers that float32 takes the other one, which behind a score of attention, or a norm's root, is several quanta.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from ..compat.executorch import aten_overload
from ..compat.torch import HigherOrderOperator, tree_leaves, tree_map
from ..lowering.exported_program import is_dequantize, is_quantize
from ..lowering.operator_names import canonical
from ..lowering.rule import Q
from ..lowering.rule_set import RuleSet


def evaluate(node: Node, args: Any, kwargs: Any, rules: RuleSet) -> Any:
    """The result of an operator; reals that come from integers are float64, and so are results computed with them.

    Args:
        rules: of the target.
    """
    target = node.target
    constant_scale = not canonical(target).endswith(
        ".tensor"
    )  # a scale of run time is a float32 that the graph computes
    if constant_scale and is_dequantize(node):
        return _stands_for(*args, **kwargs)
    if constant_scale and is_quantize(node) and args[0].dtype == torch.float64:
        return _integers(*args, **kwargs)
    wide = any(isinstance(v, torch.Tensor) and v.dtype == torch.float64 for v in tree_leaves((args, kwargs)))
    if wide and (isinstance(target, HigherOrderOperator) or _is_of_float32(node, rules)):
        args, kwargs = tree_map(_narrow, (args, kwargs))
    elif wide:
        args, kwargs = tree_map(_wide, (args, kwargs))
    return aten_overload(target)(*args, **kwargs)


def _is_of_float32(node: Node, rules: RuleSet) -> bool:
    """Whether it is a comparison, or a function by a table: near a pole its results are those of float32.

    Comparisons are of float32: 255 steps of a scale near 1 / 255 are 1.
    """
    rule = rules.of_node(node)
    return rule is not None and (rule.quant in (Q.TABLE, Q.STEPS) or rule.traits.compares)


def _steps(x: torch.Tensor, scale: Any, zero: Any, *parameters: Any) -> tuple[Any, Any, int, int]:
    if not isinstance(scale, torch.Tensor):
        return scale, zero, *parameters[:2]
    shape = [-1 if i == parameters[0] else 1 for i in range(x.dim())]
    return scale.double().reshape(shape), zero.reshape(shape), *parameters[1:3]


def _stands_for(x: torch.Tensor, *parameters: Any, **_: Any) -> torch.Tensor:
    scale, zero, _low, _high = _steps(x, *parameters)
    reals: torch.Tensor = (x.double() - zero) * scale
    return reals


def _integers(x: torch.Tensor, *parameters: Any, **_: Any) -> torch.Tensor:
    scale, zero, low, high = _steps(x, *parameters)
    (dtype,) = (p for p in parameters if isinstance(p, torch.dtype))
    return torch.clamp(torch.round(x / scale) + zero, low, high).to(dtype)


def _wide(value: Any) -> Any:
    if value is torch.float32:
        return torch.float64
    return value.double() if isinstance(value, torch.Tensor) and value.dtype == torch.float32 else value


def _narrow(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype == torch.float64 else value
