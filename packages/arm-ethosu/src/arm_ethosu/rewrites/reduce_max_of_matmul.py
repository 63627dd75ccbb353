"""The maximum of each row of a product, as in softmax, on Ethos-U85: from the product transposed."""

from __future__ import annotations

from math import inf, prod

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Stage
from arm_tosa_core.tosa.scaling import is_by_one
from arm_tosa_core.tosa.walks import made_by, through

from ..operator_classes import RESCALE_BY_THEMSELVES
from .reduce_max_as_max_pool import is_pool, maximum_as_pool, no_pool

# The estimate is not asked about these two. It is asked about whole attentions, whose forms have this rewrite, or do
# not, by the two numbers: to choose here as well would double the forms. What other values cost is in
# docs/notes/2026-11-25-choices.md.
#: Columns for each row of a matrix from which on Vela transposes it slowly.
_LONG = 10
#: Elements of a product up to which it is slow in itself, so that to compute it again does not pay.
_SMALL = 64 * 64
#: Channels of one row up to which Vela's REDUCE_MAX is faster than a pool, for which they are copied.
_FEW = 32
_BY_ELEMENT = frozenset(("ADD", "CAST", "CLAMP", "MAXIMUM", "MINIMUM", "RESCALE", "SELECT", "SUB", "TABLE"))


def _elements(op: Op) -> list[Tensor]:
    """Operands with an element for each of the result's: no table, no multiplier."""
    return op.inputs[:1] if op.name == "RESCALE" else [x for x in op.inputs if x.rank == op.output.rank]


def _work(x: Tensor) -> float:
    """Elements to transpose and to read for ``x`` with its last two axes exchanged; infinite if there is no way."""
    op = x.producer
    if x.is_constant or 1 in x.shape[-2:]:
        return x.size
    if op is None or x.rank < 3:
        return inf
    if op.name == "RESHAPE":
        return _work(op.inputs[0]) if op.inputs[0].shape[-2:] == x.shape[-2:] else inf
    if op.name == "MATMUL":
        count, depth = op.inputs[1].shape[:2]
        transposed = sum(count * size * max(depth, size / _LONG) for size in x.shape[-2:])
        return transposed if prod(x.shape[-2:]) > _SMALL else inf
    return sum(map(_work, _elements(op))) if op.name in _BY_ELEMENT and not op.attrs.get("per_channel") else inf


def _factor(insert: Inserter, x: Tensor) -> Tensor:
    """A factor of a product with its last two axes exchanged: what it was made of by such a TRANSPOSE, if it was."""
    op, turn, shape = x.producer, (0, 1, 3, 2), (x.shape[0], x.shape[2], x.shape[1])
    factor = op.inputs[0] if op is not None and op.name == "RESHAPE" else x
    by = factor.producer
    if by is not None and by.name == "TRANSPOSE" and by.attrs["perms"] == turn and factor.shape[-2:] == x.shape[-2:]:
        return insert.reshape(by.inputs[0], *shape)
    return insert("TRANSPOSE", x, perms=(0, 2, 1))


def _turned(insert: Inserter, x: Tensor) -> Tensor:
    """``x`` with its last two axes exchanged."""
    op, shape = x.producer, (*x.shape[:-2], x.shape[-1], x.shape[-2])
    if x.data is not None:
        return insert.graph.constant(np.swapaxes(x.data, -1, -2).copy(), x.dtype)
    if op is None or 1 in x.shape[-2:]:
        return insert.reshape(x, *shape)
    if op.name == "RESHAPE":
        return insert.reshape(_turned(insert, op.inputs[0]), *shape)
    if op.name == "MATMUL":
        left, right = (_factor(insert, factor) for factor in op.inputs[:2])
        return insert("MATMUL", right, left, op.inputs[3], op.inputs[2], **op.attrs)
    elements = _elements(op)
    return insert(op.name, *(_turned(insert, y) if y in elements else y for y in op.inputs), **op.attrs)


def _is_of_columns(op: Op) -> bool:
    """Whether it pays to compute the product transposed: there is less to transpose and read than there are scores."""
    x, last = op.inputs[0], op.inputs[0].rank - 1
    if last < 2 or op.attrs["axis"] != last or x.producer is None or 1 in x.shape[-2:] or _work(x) > x.size:
        return False
    *outer, rows, columns = x.shape
    return is_pool(prod(outer), columns, rows)


def _is_softmaxs(graph: Graph, op: Op) -> bool:
    """Whether it is of one row that a layer made, and subtracted: elsewhere Vela may lose its place."""
    row, wide = through(op.inputs[0], ("RESHAPE",)).producer, op.output.uses
    if row is None or row.name != "RESCALE" or not made_by(row.inputs[0], *RESCALE_BY_THEMSELVES):
        return False
    subtracted = all(use.name == "RESCALE" and is_by_one(use) and _is_subtracted(graph, use.output) for use in wide)
    return subtracted and op.output not in graph.outputs


def _is_subtracted(graph: Graph, x: Tensor) -> bool:
    return x not in graph.outputs and all(use.name == "SUB" for use in x.uses)


def _check(match: Match) -> str | None:
    op = match.op
    if _is_of_columns(op):
        return None
    x, axis = op.inputs[0], op.attrs["axis"]
    few = x.size == x.shape[axis] <= _FEW and axis == x.rank - 1
    return "there are few channels" if few and _is_softmaxs(match.graph, op) else no_pool(match)


def _of_columns(match: Match) -> Tensor:
    """A maximum along the rows of a product is one along the columns of the product transposed, or a pool.

    Vela has rows as channels, and these cannot be compared before they are copied elsewhere. In DeiT-tiny the maxima of
    3 x 197 rows of 197 take 229,000 cycles on Ethos-U85-256; to compute the scores again and compare takes 71,000.
    """
    op = match.op
    if not _is_of_columns(op):
        return maximum_as_pool(match)
    insert, axis = match.insert, op.inputs[0].rank - 2
    maxima = insert("REDUCE_MAX", _turned(insert, op.inputs[0]), **{**op.attrs, "axis": axis})
    return insert.reshape(maxima, *op.output.shape)


MAXIMUM_U85 = pattern_rewrite(
    "maximum_of_columns", Stage.LEGALIZE, Pattern("REDUCE_MAX"), _of_columns, _check, _BY_ELEMENT | {"RESHAPE"}
)
