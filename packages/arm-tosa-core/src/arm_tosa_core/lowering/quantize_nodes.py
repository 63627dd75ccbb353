"""Quantize and dequantize nodes of a program: they become properties of values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.fx import Node

from ..support.errors import LoweringError, Rejected, require
from .exported_program import is_dequantize, is_quantize, qparams
from .operator_names import canonical
from .rule import Q
from .values import QParams, Value, same_steps

if TYPE_CHECKING:
    from .node_lowering import NodeLowering
    from .rule_set import RuleSet


def dequantized(lowering: NodeLowering, node: Node) -> Value:
    """The value of a dequantize node: the integers that it reads, with what they stand for."""
    value = _read(lowering, node)
    if value.quant is not None:
        if value.quant.run_time or any(isinstance(n, Node) for n in node.args[1:3]):
            return value
        quant, _ = _parameters(node, lowering.constants)
        return value if same_steps(value.quant, quant) else value.replace(quant=quant)
    if (run_time := _run_time(lowering.values, node)) is not None:
        low, high = cast(tuple[int, int], node.args[3:5])
        return value.replace(dtype=torch.float32, quant=QParams((1.0,), 0, low, high, run_time=run_time))
    quant, _ = _parameters(node, lowering.constants)
    if value.dtype == torch.uint8:
        value = lowering.builder.signed(value)
    if value.const is not None:
        constant = lowering.builder.const(value.const, quant)
        # a bias: its layer rounds it to the steps that it has in the end
        return lowering.builder.const(constant.real()) if value.dtype == torch.int32 else constant
    return value.replace(dtype=torch.float32, quant=quant)


def quantized(lowering: NodeLowering, node: Node) -> Value:
    """The value of a quantize node."""
    value = _read(lowering, node)
    if (run_time := _run_time(lowering.values, node)) is not None:
        low, high, kind = cast(tuple[int, int, torch.dtype], node.args[3:6])
        return lowering.builder.quantize_at_run_time(value, *run_time, low, high, kind)
    return lowering.builder.quantize(value, *_parameters(node, lowering.constants))


def operand(value: Any, node: Node, moved: bool) -> Any:
    """A value as an operator reads it: of a quantize node, and of what moves its result, the integers themselves.

    Args:
        node: what has the value.
        moved: whether the operator only moves numbers.

    Raises:
        Rejected: it computes with uint8, which is int8 with another zero point here.
    """
    meta = node.meta.get("val")
    if not isinstance(value, Value) or value.quant is None:
        return value
    if not isinstance(meta, torch.Tensor) or meta.dtype.is_floating_point:
        return value
    if meta.dtype == torch.uint8:
        require(moved, "computes with the unsigned integers of a quantized tensor", "dequantize it first")
        return value
    return value.replace(dtype=meta.dtype, quant=None)


def _read(lowering: NodeLowering, node: Node) -> Value:
    """What a quantize or dequantize node reads."""
    value: Value = lowering.values[node.all_input_nodes[0]]
    return value


def output_qparams(node: Node, data: dict[str, torch.Tensor]) -> tuple[QParams, torch.dtype] | None:
    """Parameters to which the result of a node is quantized, if all its users quantize it."""
    users = list(node.users)
    return _parameters(users[0], data) if users and all(map(is_quantize, users)) else None


def steps_behind(node: Node, rules: RuleSet, data: dict[str, torch.Tensor]) -> tuple[QParams, torch.dtype] | None:
    """``output_qparams``, or those behind operators that only move the result, if they are all the same."""
    if (own := output_qparams(node, data)) is not None:
        return own
    found = None
    for user in node.users:
        rule = rules.of_node(user)
        if rule is None or not rule.traits.moves or len(user.all_input_nodes) > 1:
            return None
        behind = steps_behind(user, rules, data)
        if behind is None or (found is not None and found != behind):
            return None
        found = behind
    return found


def ends_quantized(node: Node, rules: RuleSet) -> bool:
    """Whether all that reads a node quantizes it, behind moves and clamps at most, or is a table with its clamp."""

    def hands_on(user: Node) -> bool:
        rule = rules.of_node(user)
        if rule is None:
            return False
        if rule.quant in (Q.TABLE, Q.STEPS):
            return True
        return bool(rule.traits.moves or rule.quant is Q.BOUNDS) and ends_quantized(user, rules)

    return bool(node.users) and all(is_quantize(user) or hands_on(user) for user in node.users)


def quantized_as(node: Node, data: dict[str, torch.Tensor]) -> QParams | None:
    """The parameters of a dequantized node, or those that a user quantizes it to, if there are any."""
    found = node if is_dequantize(node) else next(filter(is_quantize, node.users), None)
    return None if found is None else _parameters(found, data)[0]


def _run_time(values: Mapping[Node, Any], node: Node) -> tuple[Value, Value] | None:
    """Scale and zero point of a quantize or dequantize node, if the graph computes them."""
    found = [values.get(n) for n in node.args[1:3] if isinstance(n, Node)]
    match [v for v in found if isinstance(v, Value) and not v.is_const]:
        case [scale, zero_point]:
            return scale.replace(dtype=torch.float32), zero_point
    return None


def _parameters(node: Node, data: dict[str, torch.Tensor]) -> tuple[QParams, torch.dtype]:
    """Those of the integers as they are lowered: uint8 becomes int8, as ``Builder.signed`` has it."""
    try:
        quant, dtype = qparams(node, data)
    except ValueError as why:
        raise Rejected(f"has {why}", "use static, symmetric per-channel quantization") from why
    wrong = [s for s in quant.scale if not (s > 0 and math.isfinite(s))]
    if wrong:
        raise LoweringError(
            f"{node.name} ({canonical(node.target)}), which quantizes {node.all_input_nodes[0].name}, "
            f"has the scale {wrong[0]}: "
            "calibrate or train again with finite data"
        )
    if not dtype.is_floating_point and not torch.iinfo(dtype).min <= quant.zero_point <= torch.iinfo(dtype).max:
        raise Rejected(f"has the zero point {quant.zero_point}, which is no {str(dtype)[6:]}", "calibrate again")
    if dtype != torch.uint8:
        return quant, dtype
    return replace(quant, zero_point=quant.zero_point - 128, qmin=quant.qmin - 128, qmax=quant.qmax - 128), torch.int8
