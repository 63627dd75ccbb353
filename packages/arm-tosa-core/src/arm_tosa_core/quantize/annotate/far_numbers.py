"""Numbers far from all others, such as those of masks, where nobody reads how far they are."""

from __future__ import annotations

import math
import operator
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.fx import Graph, Node

from ...compat.executorch import aten_overload
from ...lowering.exported_program import attribute, is_constant
from ...lowering.rule import Q
from ...lowering.rule_set import RuleSet
from ...lowering.values import unbounded
from ..schemes.observers import MARGIN
from .node_roles import MASKS, arguments_of, float_inputs, is_float_result
from .value_bounds import clamped_to

_ATEN = torch.ops.aten
_PADDED = frozenset((_ATEN.constant_pad_nd.default, _ATEN.pad.default))
#: What gives the numbers less, behind another sign.
_NEGATIVE = frozenset((_ATEN.neg.default, _ATEN.rsub.Scalar))
#: What tells which number is the largest, and not how large it is.
_PLACES = frozenset((_ATEN.argmax.default, _ATEN.argmin.default, _ATEN.argsort.default))
#: What gives the largest numbers alone, and the smallest; ``topk`` gives either.
_LARGEST = frozenset((_ATEN.amax.default, _ATEN.max.dim, _ATEN.max_pool1d.default, _ATEN.max_pool2d.default))
_SMALLEST = frozenset((_ATEN.amin.default, _ATEN.min.dim))
#: What comes to an end on both sides, and what does so for the least numbers.
_TO_ENDS = frozenset((_ATEN.sigmoid.default, _ATEN.tanh.default, _ATEN.erf.default, _ATEN.hardsigmoid.default))
_TO_END = frozenset((_ATEN.exp.default, _ATEN.relu.default, _ATEN.elu.default, _ATEN.gelu.default, _ATEN.silu.default))


#: Of a tensor the far numbers nearest to 0: one below, one above, or both.
Numbers = tuple[float, ...]


def far_numbers(graph: Graph, rules: RuleSet) -> dict[Node, float]:
    """Of tensors that far numbers are put into the one nearest to 0; 0 where somebody reads how far they are.

    Of the largest numbers of a tensor none is far, unless there is no other: they are missing where they are read.
    """
    numbers = put_numbers(graph, rules)
    unread: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in numbers and all(is_blind(user, numbers[node], unread, rules) for user in node.users):
            unread.add(node)
    largest: set[Node] = set()
    for node in numbers:
        whole = whole_of(node)
        moved = [n for n in float_inputs(whole) if n in numbers] if rules.traits_of(whole).moves else []
        if is_blind(whole, numbers[node], (), rules) or (moved and largest.issuperset(moved)):
            largest.add(node)
    read = dict.fromkeys(numbers.keys() - unread - largest, 0.0)
    return read | {node: min(numbers[node], key=abs) for node in unread}


def put_numbers(graph: Graph, rules: RuleSet) -> dict[Node, Numbers]:
    """The far numbers of tensors: a choice, a padding, a constant or a factor puts them there."""
    numbers: dict[Node, Numbers] = {}
    for node in graph.nodes:
        if far := _nearest(_put_into(node, numbers, rules)):
            numbers[node] = far
    return numbers


def _nearest(numbers: Iterable[float]) -> Numbers:
    far = [number for number in numbers if MASKS <= abs(number) < math.inf]
    sides = [n for n in far if n < 0], [n for n in far if n > 0]
    return tuple(min(side, key=abs) for side in sides if side)


def _put_into(node: Node, numbers: Mapping[Node, Numbers], rules: RuleSet) -> Iterator[float]:
    """The numbers that a node adds, and those of its operands as they are in its result."""
    if is_constant(node):
        data = attribute(node)
        if isinstance(data, torch.Tensor) and data.is_floating_point():  # graphs are attributes too
            far = data.detach()[data.abs() >= MASKS]
            if far.numel():
                yield from torch.unique(data.detach()[unbounded(data, float(far.abs().min()))]).tolist()
        return
    if not is_float_result(node):
        return
    whole = whole_of(node)
    rule, traits = rules.of_node(whole), rules.traits_of(whole)
    if traits.chooses is not None:
        chosen = (node.args[place] for place in traits.chooses[1:] if place < len(node.args))
        yield from (number for number in chosen if isinstance(number, (int, float)))
    if aten_overload(node.target) in _PADDED and isinstance(number := node.args[-1], (int, float)):
        yield number
    if rule is not None and (rule.quant is Q.SHARED or traits.moves):
        yield from (number for n in float_inputs(whole) for number in numbers.get(n, ()))
    elif traits.bounds is not None:
        low, high = clamped_to(node, rules)
        yield from (min(max(number, low), high) for n in float_inputs(node)[:1] for number in numbers.get(n, ()))
    elif aten_overload(node.target) in _NEGATIVE:
        yield from (-number for n in float_inputs(node) for number in numbers.get(n, ()))
    elif traits.arithmetic in ("add", "sub") and not node.kwargs:
        yield from _summed(node, numbers, rules)
    elif traits.arithmetic == "mul" and len(node.args) == 2:
        x, factor = node.args
        if isinstance(x, Node) and isinstance(factor, (int, float)):
            yield from (number * factor for number in numbers.get(x, (1.0,)))


def _summed(node: Node, numbers: Mapping[Node, Numbers], rules: RuleSet) -> Iterator[float]:
    """A tensor without its largest number along an axis has none above 0."""
    for place, operand in enumerate(node.args):
        sign = -1 if place and rules.traits_of(node).arithmetic == "sub" else 1
        if isinstance(operand, Node) and not (sign < 0 and _is_largest(operand, node.args[0], rules)):
            yield from (sign * number for number in numbers.get(operand, ()))


def _is_largest(node: Any, of: Any, rules: RuleSet) -> bool:
    """Whether a node is the largest numbers of another, perhaps clamped."""
    while rules.traits_of(node).bounds is not None:
        node = node.args[0]
    return node.target in _LARGEST and node.args[0] is of


def whole_of(node: Node) -> Node:
    """The operator of which a node is a result."""
    whole = node.args[0] if node.target is operator.getitem else node
    return whole if isinstance(whole, Node) else node


def is_blind(user: Node, numbers: Numbers, unread: Container[Node], rules: RuleSet) -> bool:
    """Whether a reader gives the same for such numbers and for others that are a little beyond the rest.

    Args:
        unread: tensors whose own numbers nobody needs.
    """
    parts = [part for part in user.users if part.target is operator.getitem]
    handed_on = all(part in unread or not is_float_result(part) for part in parts) if parts else user in unread
    return handed_on or all(_is_blind(user, number, rules) for number in numbers)


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
