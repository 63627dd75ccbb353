"""A SLICE where Vela forgets its part of a tensor, in windows, or reads it with the axes that it had."""

from __future__ import annotations

from itertools import takewhile
from math import prod

import numpy as np

from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.scaling import is_by_one

from ..accelerators import MAX_AXIS, MAX_STRIDE
from ..native.pools import windows_as_rows
from .max_pool_copies import copied

_DILATION = 2  # of more Vela makes several operations
_AVERAGED = 8  # rows or columns that an average with padding has at most in one operation
_WINDOWS = ("AVG_POOL2D", "CONV2D", "DEPTHWISE_CONV2D", "MAX_POOL2D")
_POOLS = ("AVG_POOL2D", "MAX_POOL2D")


def _rightly_read(match: Match) -> str | None:
    op, part, shape = match.op, match["part"], match.op.inputs[0].shape
    if not all(map(_is_left_out, match.between("part"))):
        return "what lies between is an operation"
    is_copy = op.attrs.get("kernel") == op.attrs["stride"] == (1, 1)  # a pool that this rewrite has put in
    if is_copy or not (_is_of_many(op) or shape[0] > 1):
        return "Vela makes one operation of it"
    if op.name in _POOLS and windows_as_rows(op) is not None:
        return "`rows_of_windows` makes others of it"
    top, _, left, _ = op.attrs["pad"]
    cuts_image = part.inputs[0].shape[1:-1] != part.output.shape[1:-1]
    return None if top or left or (_is_of_many(op) and cuts_image) else "it has no padding, and reads all rows"


def _is_of_many(op: Op) -> bool:
    """Whether Vela makes several operations of one image."""
    return (
        max(*op.inputs[0].shape[1:], *op.output.shape[1:]) > MAX_AXIS
        or max(op.attrs["stride"]) > MAX_STRIDE
        or max(op.attrs.get("dilation", (1, 1))) > _DILATION
        or (op.name == "AVG_POOL2D" and max(op.attrs["kernel"]) > _AVERAGED)
        or (op.name == "DEPTHWISE_CONV2D" and op.inputs[1].shape[3] > 1)
        or (op.name in _WINDOWS[1:3] and not all(weight.is_constant for weight in op.inputs[1:3]))
    )


def _is_left_out(op: Op) -> bool:
    if op.name == "RESHAPE":
        read, result = op.inputs[0].shape, op.output.shape
        return read[leading_ones(read) :] == result[leading_ones(result) :]
    return op.name == "IDENTITY" or (op.name == "RESCALE" and is_by_one(op))


_OF_SLICE = Pattern("|".join(_WINDOWS), {0: Pattern("SLICE", name="part", through=("IDENTITY", "RESCALE", "RESHAPE"))})

# Vela has a whole tensor begin at minus the padding, and a part of it where the SLICE says: padding at the top and left
# is lost (``DecomposeConv2D`` and its like in Vela's ``scheduler_decompose.cpp``). Of a part of the rows or columns,
# longer dilations and strides count elements from the start of the whole.
POOL_OF_SLICE = copied(
    "pool_of_slice",
    _OF_SLICE,
    "What a window with padding, in several operations of Vela, takes of a SLICE goes through a pool first.",
    _rightly_read,
)


_IMAGE = 4  # axes: of more, Vela takes the wrong ones


def leading_ones(shape: tuple[int, ...]) -> int:
    """How many axes of one element a shape begins with."""
    return sum(1 for _ in takewhile(lambda size: size == 1, shape))


def _check(match: Match) -> str | None:
    part, view = match["slice"].output.shape, match.op.output.shape
    if part[leading_ones(part) :] != view[leading_ones(view) :] or part == view:
        return "Vela copies the part"
    if match["slice"].inputs[1].data is None:
        return "it begins at an element that is computed"
    return None if max(len(part), len(view)) > _IMAGE else "Vela reads the right axes"


def _slice_of_view(match: Match) -> Tensor:
    """A RESHAPE behind a SLICE that adds or drops axes of one element at the start comes before it.

    Vela has the reader take the part from the whole tensor, with the axes of the whole. Axes that the SLICE takes one
    element of become one with the next.
    """
    x, start, _ = match["slice"].inputs
    view = match.op.output.shape
    assert start.data is not None
    first = [int(each) for each in start.data]
    joined = min(leading_ones(match["slice"].output.shape), x.rank - 1) + 1
    rest = x.rank - joined
    lead = len(view) - rest - 1
    at = int(np.ravel_multi_index(first[:joined], x.shape[:joined]))
    whole = match.insert.reshape(x, *[1] * lead, prod(x.shape[:joined]), *x.shape[joined:])
    begin = match.graph.shape([*[0] * lead, at, *first[joined:]])
    return match.insert("SLICE", whole, begin, match.graph.shape(view))


SLICE_OF_VIEW = pattern_rewrite(
    "slice_of_view", Stage.LEGALIZE, Pattern("RESHAPE", {0: Pattern("SLICE", name="slice")}), _slice_of_view, _check
)
