"""Numbers far from all others, such as those of masks, where nobody reads how far they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import Graph, Node

from ...compat.executorch import aten_overload
from ...lowering.exported_program import attribute, is_constant
from ...lowering.rule import Q
from ...lowering.rule_set import RuleSet
from ..schemes.observers import MARGIN
from .choices import choice_of
from .node_roles import MASKS, arguments_of, float_inputs
from .value_bounds import clamped_to

_ATEN = torch.ops.aten
_PADDED = frozenset((_ATEN.constant_pad_nd.default, _ATEN.pad.default))
#: What tells which number is the largest, and not how large it is.
_PLACES = frozenset((_ATEN.argmax.default, _ATEN.argmin.default, _ATEN.argsort.default))
#: What gives the largest numbers alone, and the smallest; ``topk`` gives either.
_LARGEST = frozenset((_ATEN.amax.default, _ATEN.max.dim, _ATEN.max_pool1d.default, _ATEN.max_pool2d.default))
_SMALLEST = frozenset((_ATEN.amin.default, _ATEN.min.dim))
#: What comes to an end on both sides, and what does so for the least numbers.
_TO_ENDS = frozenset((_ATEN.sigmoid.default, _ATEN.tanh.default, _ATEN.erf.default, _ATEN.hardsigmoid.default))
_TO_END = frozenset((_ATEN.exp.default, _ATEN.relu.default, _ATEN.elu.default, _ATEN.gelu.default, _ATEN.silu.default))


def far_numbers(graph: Graph, rules: RuleSet) -> dict[Node, float]:
    """Of tensors whose far numbers need no range of their own, such a number: the one nearest to 0.

    A choice, a padding or a factor puts it there. Other numbers are added to it, and all readers are bounded there, or
    look for other numbers.
    """
    numbers: dict[Node, float] = {}
    for node in graph.nodes:
        if far := [number for number in _put_into(node, numbers, rules) if MASKS <= abs(number) < math.inf]:
            numbers[node] = min(far, key=abs)
    unread: set[Node] = set()
    for node in reversed(graph.nodes):
        number = numbers.get(node)
        if number is not None and all(user in unread or _is_blind(user, number, rules) for user in node.users):
            unread.add(node)
    return {node: number for node, number in numbers.items() if node in unread}


def _put_into(node: Node, numbers: dict[Node, float], rules: RuleSet) -> Iterator[float]:
    """The numbers that a node adds, and those of its operands as they are in its result."""
    if is_constant(node):
        data = attribute(node)
        if isinstance(data, torch.Tensor) and data.is_floating_point() and data.numel():  # graphs are attributes too
            first = data.detach().flatten()[0]
            if bool((data == first).all()):
                yield float(first)
        return
    rule, traits = rules.of_node(node), rules.traits_of(node)
    if (choice := choice_of(node, rules)) is not None:
        yield choice.number
    if aten_overload(node.target) in _PADDED and isinstance(number := node.args[-1], (int, float)):
        yield number
    if rule is not None and (rule.quant is Q.SHARED or traits.moves):
        yield from (numbers[n] for n in float_inputs(node) if n in numbers)
    elif traits.arithmetic in ("add", "sub") and not node.kwargs:
        yield from _summed(node, numbers, traits.arithmetic)
    elif traits.arithmetic == "mul" and len(node.args) == 2:
        x, factor = node.args
        if isinstance(x, Node) and isinstance(factor, (int, float)):
            yield numbers[x] * factor if x in numbers else factor


def _summed(node: Node, numbers: dict[Node, float], kind: str) -> Iterator[float]:
    for place, operand in enumerate(node.args):
        if isinstance(operand, Node) and operand in numbers:
            yield -numbers[operand] if kind == "sub" and place else numbers[operand]


def _is_blind(user: Node, number: float, rules: RuleSet) -> bool:
    """Whether a reader gives the same for such a number and for one that is a little beyond all others."""
    target: Any = aten_overload(user.target)
    if target in _PLACES or target in _TO_ENDS:
        return True
    if target is _ATEN.topk.default:
        return bool(arguments_of(user)["largest"]) == (number < 0)
    low, high = clamped_to(user, rules)
    if number > 0:
        return high <= MARGIN or target in _SMALLEST
    of_exp = low > -math.inf and all(reader.target is _ATEN.exp.default for reader in user.users)
    return low >= -MARGIN or of_exp or target in _LARGEST or target in _TO_END
