"""What a softmax tells apart of a tensor that nothing else reads: masks, which are far below, need no range."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node

from ...lowering.rule_set import RuleSet
from ...lowering.traits import Moves
from .choices import choice_of
from .node_roles import float_inputs
from .value_bounds import clamped_to


@dataclass(frozen=True)
class ToldApart:
    """How much of a tensor a softmax tells apart.

    Args:
        axis: of the softmax, counted from the end.
        depth: numbers that are farther below the largest along the axis count as one.
        mask: the number that stands where nothing counts, which calibration may not have shown; None if there is none.
    """

    axis: int
    depth: float
    mask: float | None = None


def told_apart(node: Node, rules: RuleSet) -> ToldApart | None:
    """What is told apart of a node that only a softmax reads, perhaps with a number in places; None: it is all."""
    if len(node.users) != 1:
        return _by_softmax(node, rules)
    (user,) = node.users
    if not _has_rows_of(node, user) or (found := told_apart(user, rules)) is None or found.axis != -1:
        return None
    if rules.traits_of(user).moves >= Moves.IN_ORDER:
        return found
    if (choice := choice_of(user, rules)) is None or choice.tensor is not node:
        return None
    return replace(found, mask=choice.number if found.mask is None else min(choice.number, found.mask))


def _has_rows_of(node: Node, user: Node) -> bool:
    shapes: list[Any] = [getattr(n.meta.get("val"), "shape", ()) for n in (node, user)]
    return all(len(shape) for shape in shapes) and shapes[0][-1] == shapes[1][-1] and float_inputs(user) == [node]


def _by_softmax(node: Node, rules: RuleSet) -> ToldApart | None:
    """Where a node's readers are its largest numbers along an axis, and differences from them, clamped below."""
    readers: list[Any] = list(node.users)
    for largest in readers:
        if largest.target is torch.ops.aten.amax.default and largest.args[2:] == (True,) and len(largest.args[1]) == 1:
            differences = [reader for reader in readers if reader is not largest]
            depth = max((_depth(difference, node, largest, rules) for difference in differences), default=math.inf)
            axis, rank = largest.args[1][0], len(node.meta["val"].shape)
            return ToldApart(axis - rank if axis >= 0 else axis, depth) if depth < math.inf else None
    return None


def _depth(difference: Any, node: Node, largest: Node, rules: RuleSet) -> float:
    """How far below its largest number a difference is read; infinite where it is all, or no such difference."""
    if rules.traits_of(difference).arithmetic != "sub" or len(difference.args) != 2 or difference.args[0] is not node:
        return math.inf
    other = difference.args[1]
    if isinstance(other, Node) and rules.traits_of(other).bounds is not None:  # infinities become numbers
        other = other.args[0]
    lows = [clamped_to(reader, rules)[0] for reader in difference.users]
    return -min(lows) if other is largest and lows else math.inf
