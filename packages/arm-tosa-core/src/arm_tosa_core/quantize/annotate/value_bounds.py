"""What is known of a tensor's numbers before any is seen: its range need not reach further."""

from __future__ import annotations

import math

import torch
from torch.fx import Graph, Node

from ...lowering.exported_program import is_constant
from ...lowering.node_facts import facts, note
from ...lowering.rule_set import RuleSet

Bounds = tuple[float, float]

_ALL = (-math.inf, math.inf)
_NOT_NEGATIVE = (0.0, math.inf)


def find_signs(graph: Graph, rules: RuleSet) -> None:
    """Marks squares, and what is made of nothing below 0 alone, as such.

    What moves or adds numbers of tensors makes none below 0 if none of them is.
    """
    for node in graph.nodes:
        if node.op != "call_function" or facts(node).bounds is not None:
            continue
        traits, operands = rules.traits_of(node), node.all_input_nodes
        square = traits.arithmetic == "mul" and node.args[0] is node.args[1]
        keeps_sign = traits.moves or traits.arithmetic in ("add", "sum", "mean")
        keeps_sign = keeps_sign and bool(operands) and all(_made_between(n, rules)[0] >= 0 for n in operands)
        if square or (keeps_sign and not (traits.arithmetic == "add" and _has_negative(node))):
            note(node, bounds=_NOT_NEGATIVE)


def _has_negative(node: Node) -> bool:
    """Whether a sum's other operand, or the factor of it, is a number below 0."""
    return any(isinstance(v, (int, float)) and v < 0 for v in (*node.args, *node.kwargs.values()))


def bounds_of(node: Node, rules: RuleSet) -> Bounds | None:
    """Bounds of a node's values, after a clamp if that is its only reader; None if unknown."""
    if is_constant(node):
        return 0.0, 0.0  # calibration has seen all of a constant
    low, high = _made_between(node, rules)
    if len(node.users) == 1:
        (user,) = node.users
        least, most = clamped_to(user, rules)
        low, high = max(low, least), min(high, most)
    return (low, high) if low < high and (low, high) != _ALL else None  # crossed, bounds of a clamp give a constant


def _made_between(node: Node, rules: RuleSet) -> Bounds:
    if (known := facts(node).bounds) is not None:
        return known
    traits = rules.traits_of(node)
    if traits.casts and any(n.meta["val"].dtype == torch.bool for n in node.all_input_nodes[:1]):
        return 0.0, 1.0
    reach = traits.reach
    return clamped_to(node, rules) if reach is None else reach


def clamped_to(node: Node, rules: RuleSet) -> Bounds:
    """The constant bounds of a clamp."""
    bounds = rules.traits_of(node).bounds
    if bounds is None:
        return _ALL
    low, high = (a if isinstance(a, (int, float)) else None for a in bounds(*node.args[1:], **node.kwargs))
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)
