"""What is known of a tensor's numbers before any is seen: its range need not reach further."""

from __future__ import annotations

import math

from torch.fx import Node

from ..program import is_constant
from ..registry import Q, canonical, find
from .decompose import KNOWN

Bounds = tuple[float, float]

_ALL = (-math.inf, math.inf)
#: Bounds of clamps without arguments; the others have theirs behind the tensor.
_CLAMPS = {"aten.relu.default": (0.0, math.inf), "aten.relu6.default": (0.0, 6.0)}


def bounds_of(node: Node) -> Bounds | None:
    """What the numbers lie between, or what a clamp that alone reads them leaves of them; None: nothing is known."""
    if is_constant(node):
        return 0.0, 0.0  # all that a constant is has been seen
    low, high = _made_between(node)
    if len(node.users) == 1:
        (user,) = node.users
        least, most = _clamped_to(user)
        low, high = max(low, least), min(high, most)
    return (low, high) if low < high and (low, high) != _ALL else None  # crossed, bounds of a clamp give a constant


def _made_between(node: Node) -> Bounds:
    if KNOWN in node.meta:
        low, high = node.meta[KNOWN]
        return low, high
    rule = find(canonical(node.target)) if node.op == "call_function" else None
    return _clamped_to(node) if rule is None or rule.reach is None else rule.reach


def _clamped_to(node: Node) -> Bounds:
    """The constant bounds of a clamp."""
    name = canonical(node.target)
    rule = find(name) if node.op == "call_function" else None
    if rule is None or rule.quant is not Q.BOUNDS:
        return _ALL
    low, high = (a if isinstance(a, (int, float)) else None for a in [*node.args[1:3], None, None][:2])
    if name == "aten.hardtanh.default":
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    elif name == "aten.clamp_max.default":
        low, high = None, low
    least, most = _CLAMPS.get(name, _ALL)
    return least if low is None else float(low), most if high is None else float(high)
