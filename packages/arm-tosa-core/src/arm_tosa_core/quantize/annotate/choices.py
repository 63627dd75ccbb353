"""Choices between a tensor and a number, such as that of a mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from ...compat.executorch import aten_overload
from ...lowering.exported_program import attribute, is_constant
from ...lowering.rule_set import RuleSet
from .node_roles import origin

_ATEN = torch.ops.aten
#: Choices of two tensors, with an argument of each, and the same choices with a number in its place.
_BY_NUMBER = (
    (_ATEN.where.self, 1, _ATEN.where.ScalarSelf),
    (_ATEN.where.self, 2, _ATEN.where.ScalarOther),
    (_ATEN.masked_fill.Tensor, 2, _ATEN.masked_fill.Scalar),
)


@dataclass(frozen=True)
class Choice:
    """A tensor where a condition is true, and a number elsewhere; ``inverted``: the tensor where it is false."""

    condition: Node
    tensor: Node
    number: float
    inverted: bool


def choice_of(node: Node, rules: RuleSet) -> Choice | None:
    """What a node chooses, if one of the two is a number."""
    if (places := rules.traits_of(node).chooses) is None or len(node.args) < 3:
        return None
    condition, true, false = (node.args[place] for place in places)
    tensor, number = (false, true) if isinstance(false, Node) else (true, false)
    if isinstance(condition, Node) and isinstance(tensor, Node) and isinstance(number, (int, float)):
        return Choice(condition, tensor, number, inverted=tensor is false)
    return None


def choose_number(node: Node, rules: RuleSet, is_trained: bool) -> None:
    """Writes the number that a constant holds again and again in its place: as a number it has no scale to share.

    Args:
        is_trained: parameters will have other numbers.
    """
    operands: list[Any] = list(node.args)
    for by_tensors, place, by_number in _BY_NUMBER:
        if aten_overload(node.target) is not by_tensors:
            continue
        constant = origin(operands[place], rules)
        shapes = [operand.meta["val"].shape for operand in (*operands[:place], *operands[place + 1 :])]
        if not is_constant(constant) or np.broadcast_shapes(*shapes) != node.meta["val"].shape:
            continue
        data = attribute(constant)
        learns = is_trained and isinstance(data, torch.nn.Parameter)
        if not learns and data.numel() and bool((data == data.flatten()[0]).all()):
            node.target, node.args = by_number, (*operands[:place], data.flatten()[0].item(), *operands[place + 1 :])
            return
