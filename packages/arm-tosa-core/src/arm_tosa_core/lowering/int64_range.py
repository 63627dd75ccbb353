"""int64 numbers, which TOSA holds in int32: which operators take them, and what is known of their results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ..compat.executorch import aten_overload
from ..compat.torch import schema_of
from ..support.errors import Rejected
from .builder.casts import NARROW, RANGES, SATURATED
from .operator_names import canonical
from .rule import Rule
from .traits import Moves
from .values import INTEGER_RANGES, Value

_INT32 = INTEGER_RANGES[torch.int32]
#: Arguments with which operators look something up: numbers that are beyond what there is are an error in PyTorch, too.
_INDICES = frozenset({"index", "indices", "target"})
#: Operators of nothing but such numbers, whose argument has another name.
_OF_INDICES = frozenset({"one_hot"})
#: Casts, which narrow as PyTorch does, or ask for the range themselves; but not of what was saturated.
_CASTS = frozenset({"_to_copy", "to"})
#: What compares the numbers that it moves.
_CHOOSES = frozenset({"amax", "amin", "max", "min", "max_pool1d", "max_pool2d", "max_pool3d"})
#: What moves numbers to places of another tensor.
_PUTS = frozenset({"constant_pad_nd", "pad", "copy", "fill", "where", "masked_fill", "masked_scatter", "scatter"}) | {
    *("index_copy", "index_fill", "index_put", "_unsafe_index_put"),
    *("diagonal_scatter", "select_scatter", "slice_scatter"),
}

#: Why numbers that TOSA would cut off stay on the CPU.
UNKNOWN = Rejected("computes with int64 numbers whose range is not known to fit int32", NARROW)


def require_known(node: Node, rule: Rule, values: Mapping[Node, Any]) -> None:
    """Makes sure that an operator that computes can do so on int32; what only moves numbers may take any.

    Raises:
        Rejected: numbers may lie beyond int32.
    """
    given = [v for v in _operands(node, values) if v.dtype == torch.int64]
    if _name(node) in _CASTS:
        lost = node.meta["val"].dtype != torch.int64 and any(v.bounds == SATURATED for v in given)
    else:
        lost = _computes(node, rule) and not all(v.is_narrow for v in given)
    if lost:
        raise UNKNOWN


def with_range(result: Any, node: Node, rule: Rule, values: Mapping[Node, Any]) -> Any:
    """The result of an operator, with what is known of its int64 numbers where its rule does not say it."""
    if isinstance(result, (tuple, list)):
        return type(result)(with_range(part, node, rule, values) for part in result)
    if not isinstance(result, Value) or result.dtype != torch.int64 or result.bounds is not None or result.is_const:
        return result
    if _name(node) in _CASTS:
        return result
    if _computes(node, rule):  # in int32, of numbers that are known to fit
        return result.replace(bounds=_INT32)
    given = [_bounds(v) for v in _operands(node, values)] + [(n, n) for n in (0, *_numbers(node))]  # 0 where it pads
    known = [bounds for bounds in given if bounds is not None]
    if len(known) < len(given):
        return result
    return result.replace(bounds=(min(low for low, _ in known), max(high for _, high in known)))


def _bounds(value: Value) -> tuple[int, int] | None:
    """Of integers that are cast to int64, those of their type."""
    return value.bounds if value.dtype == torch.int64 else RANGES.get(value.dtype)


def _computes(node: Node, rule: Rule) -> bool:
    """Whether numbers of the result are others than those of the operands, or depend on how these compare."""
    if _name(node) in _PUTS:
        return "reduce" in canonical(node.target) or True in node.args[3:4]  # index_put, accumulating
    return rule.traits.moves is Moves.NOT or _name(node) in _CHOOSES


def _name(node: Node) -> str:
    return canonical(node.target).split(".")[1]


def _operands(node: Node, values: Mapping[Node, Any]) -> list[Value]:
    """The tensors that an operator takes numbers from."""
    found: list[Node] = []
    for argument in _arguments(node):
        map_arg(argument, found.append)
    return [v for n in found if isinstance(v := values[n], Value)]


def _numbers(node: Node) -> list[int]:
    return [int(n) for n in _arguments(node) if isinstance(n, int | float) and math.isfinite(n)]


def _arguments(node: Node) -> Iterator[Any]:
    """What an operator is given, without indices."""
    if _name(node) in _OF_INDICES:
        return
    schema = schema_of(aten_overload(node.target))
    names = [argument.name for argument in schema.arguments] if schema else []
    for name, given in (*zip(names, node.args, strict=False), *node.kwargs.items()):
        if name not in _INDICES:
            yield given
