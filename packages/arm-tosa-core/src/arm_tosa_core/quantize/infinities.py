"""Operators that tell infinity from other numbers: integers have none, so calibration must not show any there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch.fx import Node

from ..lowering.exported_program import source_line
from ..lowering.node_facts import facts
from ..lowering.operator_names import canonical
from ..lowering.rule_set import RuleSet
from ..support.errors import UsageError

_ASK = ("aten.isinf", "aten.isfinite", "aten.isneginf", "aten.isposinf", "aten.nan_to_num")


def asks_for_infinity(node: Node, rules: RuleSet) -> bool:
    """Whether an operator reads a quantized tensor, and its result for infinity may differ from any other's."""
    if node.op != "call_function" or not any(n.op == "call_module" for n in node.all_input_nodes):
        return False
    rule = rules.of_node(node)
    return canonical(node.target).startswith(_ASK) or (rule is not None and rule.traits.compares)


def refuse_infinities(node: Node, operands: Sequence[Any]) -> None:
    """Refuses a call of such an operator on infinity; a comparison, where both operands are infinite.

    Args:
        operands: its arguments of one call of the calibration.

    Raises:
        UsageError: names the operator, and says what to do.
    """
    compared = operands[:1] if canonical(node.target).startswith(_ASK) else operands[:2]
    infinite = [torch.isinf(x) if isinstance(x, torch.Tensor) else torch.tensor(math.isinf(x)) for x in compared]
    if reduce(torch.logical_and, infinite).any():
        line = source_line(node)
        raise UsageError(
            f"{facts(node).whole or node.name!r}{f' ({line})' if line else ''} asks for infinity, which the "
            "calibration data lead to there, and integers have none: compute these truth values before the model "
            "and give it those, or keep this operator and those before it in float"
        )
