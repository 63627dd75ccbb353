"""Sums over whole images: several columns of partial sums at once, which then are added.

The accelerator computes blocks of 2x2 results (more on Ethos-U85), and a window as large as its image has one: most of
it is idle. The image is read as ``[1, part, columns, channels]`` in place, and a window of ``part`` rows gives the sums
of all columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import AnyOf, Match, Pattern
from arm_tosa_core.tosa.rewrite import Inserter
from arm_tosa_core.tosa.scaling import reciprocal
from arm_tosa_core.tosa.walks import is_alone, only_reader

from .graph_parts import VELA, around

# Measured on Ethos-U55-128 and U85-256, for images of 49 to 2,304 pixels and 32 to 1,280 channels.
#: Channels of a column, the first that divide those of the image. On Ethos-U85 8 are slower than a pool.
_DEPTHS, _DEPTHS_U85 = (16, 8), (16,)
#: Rows of a window, at most, and columns at least, where there are as many.
_ROWS, _COLUMNS = 64, 8


def _depth(channels: int, depths: Sequence[int]) -> int | None:
    """The channels of a column; None: there are none that fit."""
    return next((depth for depth in depths if channels % depth == 0), None)


def _rows(size: int, columns: int) -> int:
    """The pixels of a column: the most that leave enough columns, of which a pixel has some."""
    known = [rows for rows in range(2, _ROWS + 1) if size % rows == 0]
    wide = [rows for rows in known if size // rows * columns >= _COLUMNS]
    return max(wide or known or [1])


def _sum(insert: Inserter, image: Tensor, zero: Tensor, depth: int) -> Tensor:
    """The sums of all pixels in INT32, ``[1, 1, 1, channels]``; in columns where one window has all pixels."""
    _, height, width, channels = image.shape
    rows = _rows(height * width, channels // depth)
    parts = height * width // rows
    columns = insert.reshape(image, 1, rows, parts * channels // depth, depth)
    ones = np.ones((rows, 1, depth, 1), np.int8)
    sums = insert.convolve("DEPTHWISE_CONV2D", columns, ones, zero=zero)
    if parts == 1:
        return sums
    sums = insert.reshape(sums, 1, parts, 1, channels)
    odd: list[Tensor] = []
    while parts > 1:
        if parts % 2:
            odd.append(insert.slice(sums, 1, parts - 1, 1))
        parts //= 2
        sums = insert("ADD", insert.slice(sums, 1, 0, parts), insert.slice(sums, 1, parts, parts))
    for rest in odd:
        sums = insert("ADD", sums, rest)
    return sums


def _layer(match: Match) -> Op:
    """The operator that reads the image."""
    return match["sum"] if match.op.name == "RESCALE" else match.op


def _unfit(match: Match, depths: Sequence[int]) -> str | None:
    op = _layer(match)
    batch, height, width, channels = op.inputs[0].shape
    depth = _depth(channels, depths)
    if not is_alone(match.graph, op.inputs[0]):
        return "Vela would copy the image, which others read in its own shape"
    if batch != 1 or depth is None or any(op.attrs["pad"]) or op.output.shape[1:3] != (1, 1):
        return "it is of several images, of few channels, or not over a whole image"
    if op.name == "AVG_POOL2D":
        if op.attrs["kernel"] != (height, width):
            return "its window is not the whole image"
    elif reason := _not_a_sum(match, op):
        return reason
    return "no part of its pixels is a window" if _rows(height * width, channels // depth) == 1 else None


def _not_a_sum(match: Match, op: Op) -> str | None:
    """Why a convolution and its RESCALE are no sum of an image's pixels."""
    _, weights, bias, _, weight_zero = op.inputs
    if (
        not (weights.is_constant and bias.is_constant and weight_zero.is_constant)
        or match.op.attrs["per_channel"]
        or only_reader(match.graph, op) is None
    ):
        return "its weights vary, or channels differ"
    height, width = op.inputs[0].shape[1:3]
    if weights.shape[:2] != (height, width) or weights.shape[3] != 1 or op.attrs["dilation"] != (1, 1):
        return "its window is not the whole image"
    assert weights.data is not None and bias.data is not None and weight_zero.data is not None
    is_plain = (weights.data == 1).all() and not bias.data.any() and not weight_zero.data.any()
    return None if is_plain else "it is not a plain sum"


def _in_columns(match: Match, depths: Sequence[int]) -> Tensor:
    """A sum over a whole image becomes sums of columns side by side, which are added.

    An average then divides by the factor that TOSA has for it.
    """
    op, insert = _layer(match), match.insert
    height, width, channels = op.inputs[0].shape[1:]
    is_pool = op.name == "AVG_POOL2D"
    zero = op.inputs[1] if is_pool else op.inputs[3]
    depth = _depth(channels, depths)
    assert depth is not None
    total = _sum(insert, op.inputs[0], zero, depth)
    if is_pool:
        scaled = insert.rescale(total, DType.INT8, reciprocal(height * width), op.inputs[2])
    else:
        scaled = insert.like(match.op, total, *match.op.inputs[1:])
    return insert.reshape(scaled, 1, 1, 1, channels)


def _with_sum(graph: Graph, op: Op) -> list[Op]:
    """The operators around a pool, or around a sum and its RESCALE."""
    source = op.inputs[0].producer
    if op.name == "AVG_POOL2D" or source is None:
        return around(graph, op)
    before = [each for each in around(graph, source) if each.position <= source.position]
    return [*before, op, *VELA.behind(graph, op)]


_WHOLE = AnyOf(
    [
        Pattern("AVG_POOL2D", {0: Pattern(dtype=DType.INT8), 1: Pattern(constant=True)}),
        Pattern("RESCALE", {0: Pattern("DEPTHWISE_CONV2D", {0: Pattern(dtype=DType.INT8)}, name="sum")}),
    ]
)


def _for(depths: Sequence[int]) -> Choice:
    replacement = partial(_in_columns, depths=depths)
    replacement.__doc__ = _in_columns.__doc__
    return Choice("sums_in_columns", _WHOLE, replacement, partial(_unfit, depths=depths), _with_sum)


SUMS_IN_COLUMNS, SUMS_IN_COLUMNS_U85 = _for(_DEPTHS), _for(_DEPTHS_U85)
