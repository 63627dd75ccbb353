"""Functions that turn several times between two integers of their operand, such as a sine of many radians."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import ObserverBase

from ..lowering.exported_program import source_line
from ..lowering.rule import Q
from ..lowering.rule_set import RuleSet
from ..support.errors import CoarseFunctionWarning

#: Of what a function varies, the part that it may be off a straight line between two integers where a warning is due.
_MOST = 0.25
#: Pairs of neighbours that are looked at.
_PAIRS = 255


def warn_of_coarse_functions(prepared: GraphModule, rules: RuleSet) -> None:
    """Warns of functions whose results between two integers have little to do with those at the two.

    Args:
        prepared: calibrated.

    Warns:
        CoarseFunctionWarning: names the operator, its line, the step of its operand, and what to do.
    """
    for node in prepared.graph.nodes:
        rule = rules.of_node(node)
        if rule is None or rule.quant is not Q.TABLE or rule.traits.pole:  # at a pole the range of the results ends
            continue
        if (integers := _integers(prepared, node)) is None:
            continue
        if _bends(node, *integers):
            line = source_line(node)
            warnings.warn(
                f"{node.name}{line and f' at {line}'}: its operand is quantized in steps of {integers[2]:.3g}, and the "
                "function rises and falls within one step, so that its results are noise: quantize it with int16x8, "
                "give its operand a smaller range, leave it in float, or compute it outside of the model",
                CoarseFunctionWarning,
                stacklevel=3,
            )


def _integers(prepared: GraphModule, node: Node) -> tuple[float, float, float] | None:
    """Of the one operand of a function, the least real number that integers have, the most, and the step."""
    (read, *others) = node.all_input_nodes
    observer: Any = getattr(prepared, str(read.target)) if read.op == "call_module" and not others else None
    if not isinstance(observer, ObserverBase):
        return None
    step, zero = (float(each) for each in observer.calculate_qparams())
    return (observer.quant_min - zero) * step, (observer.quant_max - zero) * step, step


def _bends(node: Node, low: float, high: float, step: float) -> bool:
    target: Any = node.target
    at = torch.linspace(low, max(high - step, low), _PAIRS)
    read = node.all_input_nodes[0]

    def of(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = target(*(x if a is read else a for a in node.args), **node.kwargs)
        return result.double()

    left, middle, right = (of(at + each * step) for each in (0.0, 0.5, 1.0))
    known = left.isfinite() & middle.isfinite() & right.isfinite()
    if int(known.sum()) < 2:
        return False
    off = (middle - (left + right) / 2)[known].square().mean()
    return bool(off > _MOST * left[known].var())
