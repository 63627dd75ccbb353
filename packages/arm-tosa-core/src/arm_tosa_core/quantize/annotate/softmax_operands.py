"""What a softmax tells apart of a tensor that it reads: masks, which are far below, need no range."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from ...lowering.rule_set import RuleSet
from ...lowering.traits import Moves
from ..schemes.observers import Row
from .choices import choice_of
from .node_roles import float_inputs
from .value_bounds import clamped_to


def told_apart(node: Node, rules: RuleSet) -> Row | None:
    """What is told apart of a node that a softmax reads, perhaps with numbers in places, or scaled; None: it is all."""
    if len(node.users) == 1:
        return _by_reader(node, next(iter(node.users)), rules)
    if (row := _by_softmaxes(node, rules)) is not None:
        return row
    return masked_by(_by_reader(node, user, rules) for user in node.users)


def masked_by(rows: Iterable[Row | None]) -> Row | None:
    """The masks of what is told apart of several tensors that have one scale, and other readers perhaps."""
    masked = [row for row in rows if row is not None and row.masks]
    masks = tuple(sorted({mask for row in masked for mask in row.masks}))
    return Row(None, max(row.depth for row in masked), masks) if masked else None


def _by_reader(node: Node, user: Node, rules: RuleSet) -> Row | None:
    """What one reader leaves told apart; where it makes other rows, the masks are known and the axis is not."""
    moves, choice, factor = rules.traits_of(user).moves, choice_of(user, rules), _factor(node, user)
    chooses = choice is not None and choice.tensor is node and not math.isnan(choice.number)
    if not (moves or chooses or factor) or float_inputs(user) != [node] or (row := told_apart(user, rules)) is None:
        return None
    shapes: list[Any] = [getattr(n.meta.get("val"), "shape", ()) for n in (node, user)]
    if moves == Moves.CHOSEN or row.axis != -1 or not all(map(len, shapes)) or shapes[0][-1] != shapes[1][-1]:
        row = replace(row, axis=None)
    if factor is not None:
        row = replace(row, depth=row.depth / factor, masks=tuple(mask / factor for mask in row.masks))
    elif choice is not None and chooses:
        row = replace(row, masks=(*row.masks, choice.number))
    return row if row.axis is not None or row.masks else None


def _factor(node: Node, user: Node) -> float | None:
    """The positive number that a reader multiplies by, such as a temperature."""
    match user.args:
        case (Node() as operand, int() | float() as number) if operand is node and 0 < number < math.inf:
            if user.target is torch.ops.aten.mul.Tensor:
                return number
            if user.target is torch.ops.aten.div.Tensor:
                return 1 / number
    return None


def _by_softmaxes(node: Node, rules: RuleSet) -> Row | None:
    """Where a node's readers are its largest numbers along an axis, and clamped differences from them, for exp."""
    readers: list[Any] = list(node.users)
    largest = [user for user in readers if user.target is torch.ops.aten.amax.default and user.args[2:] == (True,)]
    axes = {axis for user in largest for axis in user.args[1]}
    if len(axes) != 1:
        return None
    depth = max((_depth(user, node, largest, rules) for user in readers if user not in largest), default=math.inf)
    (axis,), rank = axes, len(node.meta["val"].shape)
    return Row(axis - rank if axis >= 0 else axis, depth) if depth < math.inf else None


def _depth(difference: Any, node: Node, largest: list[Any], rules: RuleSet) -> float:
    """How far below its largest number a difference is read; infinite where it is all, or no such difference."""
    if rules.traits_of(difference).arithmetic != "sub" or len(difference.args) != 2 or difference.args[0] is not node:
        return math.inf
    other = difference.args[1]
    is_clamp = isinstance(other, Node) and rules.traits_of(other).bounds is not None
    if is_clamp and clamped_to(other, rules)[1] == math.inf:
        other = other.args[0]  # which makes infinities numbers
    clamps = list(difference.users)
    exp = all(reader.target is torch.ops.aten.exp.default for clamp in clamps for reader in clamp.users)
    return -min(clamped_to(clamp, rules)[0] for clamp in clamps) if exp and clamps and other in largest else math.inf
