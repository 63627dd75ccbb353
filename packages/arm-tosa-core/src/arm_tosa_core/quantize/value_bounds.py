"""What is known of a tensor's numbers before any is seen: its range need not reach further."""

from __future__ import annotations

import math

from torch.fx import Graph, Node

from ..lower.exported_program import is_constant
from ..lower.operator_names import canonical
from ..lower.rule import Q
from ..lower.rule_set import RuleSet
from .composites import KNOWN

Bounds = tuple[float, float]

_ALL = (-math.inf, math.inf)
_NOT_NEGATIVE = (0.0, math.inf)
#: Bounds of clamps without arguments; the others have theirs behind the tensor.
_CLAMPS = {"aten.relu.default": _NOT_NEGATIVE, "aten.relu6.default": (0.0, 6.0)}

#: What chooses or adds numbers of tensors: of none below 0 it makes none below 0.
_KEEPS_SIGN = frozenset(
    f"aten.{name}"
    for name in (
        *("add.Tensor", "mean.dim", "mean.default", "sum.dim_IntList", "sum.default", "amax.default", "amin.default"),
        *("cat.default", "slice.Tensor", "select.int", "expand.default", "permute.default", "transpose.int"),
        *("view.default", "reshape.default", "flatten.using_ints", "unsqueeze.default", "squeeze.dim"),
    )
)


def find_signs(graph: Graph, rules: RuleSet) -> None:
    """Marks squares, and what is made of nothing below 0 alone, as such."""
    for node in graph.nodes:
        if node.op != "call_function" or KNOWN in node.meta:
            continue
        name, operands = canonical(node.target), node.all_input_nodes
        square = name == "aten.mul.Tensor" and node.args[0] is node.args[1]
        kept = name in _KEEPS_SIGN and bool(operands) and all(_made_between(n, rules)[0] >= 0 for n in operands)
        if square or (kept and not (name == "aten.add.Tensor" and _has_negative(node))):
            node.meta[KNOWN] = _NOT_NEGATIVE


def _has_negative(node: Node) -> bool:
    """Whether a sum's other operand, or the factor of it, is a number below 0."""
    return any(isinstance(v, (int, float)) and v < 0 for v in (*node.args, *node.kwargs.values()))


def bounds_of(node: Node, rules: RuleSet) -> Bounds | None:
    """What the numbers lie between, or what a clamp that alone reads them leaves of them; None: nothing is known."""
    if is_constant(node):
        return 0.0, 0.0  # all that a constant is has been seen
    low, high = _made_between(node, rules)
    if len(node.users) == 1:
        (user,) = node.users
        least, most = _clamped_to(user, rules)
        low, high = max(low, least), min(high, most)
    return (low, high) if low < high and (low, high) != _ALL else None  # crossed, bounds of a clamp give a constant


def _made_between(node: Node, rules: RuleSet) -> Bounds:
    if KNOWN in node.meta:
        low, high = node.meta[KNOWN]
        return low, high
    rule = rules.of_node(node)
    return _clamped_to(node, rules) if rule is None or rule.reach is None else rule.reach


def _clamped_to(node: Node, rules: RuleSet) -> Bounds:
    """The constant bounds of a clamp."""
    name = canonical(node.target)
    rule = rules.of_node(node)
    if rule is None or rule.quant is not Q.BOUNDS:
        return _ALL
    low, high = (a if isinstance(a, (int, float)) else None for a in [*node.args[1:3], None, None][:2])
    if name == "aten.hardtanh.default":
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    elif name == "aten.clamp_max.default":
        low, high = None, low
    least, most = _CLAMPS.get(name, _ALL)
    return least if low is None else float(low), most if high is None else float(high)
