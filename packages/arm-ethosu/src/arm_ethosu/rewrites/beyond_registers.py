"""Padding, axes and indices beyond the registers for them, which Vela shortens without a word or does not take."""

from __future__ import annotations

from math import prod

import numpy as np

from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from ..accelerators import MAX_AXIS, MAX_INDICES
from ..constraints import longer_padding


def _short_padding(match: Match) -> str | None:
    return "its padding fits the registers" if longer_padding(match.op) is None else None


def padded_before(match: Match) -> Tensor:
    """Padding of more than 127 at top or left, or 255 at bottom or right, becomes a PAD before the kernel.

    Vela writes the most into the register instead, and the windows then read other elements, or beyond the image.
    """
    op, insert = match.op, match.insert
    top, bottom, left, right = op.attrs["pad"]
    image, *rest = op.inputs
    edge = _lowest(match) if op.name == "MAX_POOL2D" else rest[2]  # a convolution's: its input's zero point
    padded = insert("PAD", image, match.graph.shape((0, 0, top, bottom, left, right, 0, 0)), edge)
    return insert(op.name, padded, *rest, **{**op.attrs, "pad": (0, 0, 0, 0)})


def _lowest(match: Match) -> Tensor:
    image = match.op.inputs[0]
    numbers = np.iinfo(f"int{image.dtype.bits}")
    return match.graph.constant(np.array([numbers.min], numbers.dtype), image.dtype)


LONG_PADDING = pattern_rewrite(
    "long_padding", Stage.LEGALIZE, Pattern("CONV2D|DEPTHWISE_CONV2D|MAX_POOL2D"), padded_before, _short_padding
)


def _short_axis(match: Match) -> str | None:
    return "its axis is short" if match.op.inputs[0].shape[match.op.attrs["axis"]] <= MAX_AXIS else None


def _sums_of_parts(match: Match) -> Tensor:
    """A sum along an axis of more than 65536 elements becomes one of sums.

    Vela makes the axis channels of a convolution. Along a last axis it takes such a sum of numbers without a zero
    point; of what has one, as in a GroupNorm of one group, it does not, and along other axes none.
    """
    op, x, graph = match.op, match.op.inputs[0], match.graph
    insert, axis = match.insert, op.attrs["axis"]
    before, size, behind = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    parts = -(-size // MAX_AXIS)
    part = -(-size // parts)
    x = insert.reshape(x, before, size, behind)
    if lacking := parts * part - size:
        x = insert("PAD", x, graph.shape((0, 0, 0, lacking, 0, 0)), insert.zero(DType.INT32))
    flat = () if behind == 1 else (behind,)  # with channels last Vela need not move them
    sums = insert("REDUCE_SUM", insert.reshape(x, before * parts, part, *flat), axis=1)
    total = insert("REDUCE_SUM", insert.reshape(sums, before, parts, *flat), axis=1)
    return insert.reshape(total, *op.output.shape)


SUMS_OF_PARTS = pattern_rewrite("sums_of_parts", Stage.LEGALIZE, Pattern("REDUCE_SUM"), _sums_of_parts, _short_axis)


def _few(match: Match) -> str | None:
    return "the register holds their count" if match.op.inputs[1].shape[1] <= MAX_INDICES else None


def _in_parts(match: Match) -> Tensor:
    """A GATHER or SCATTER with more than 65535 indices becomes several, one for each part of them.

    Vela writes the lower 16 bits of their count.
    """
    op, graph, insert = match.op, match.graph, match.insert
    values, indices, *updates = op.inputs

    def part(tensor: Tensor, first: int) -> Tensor:
        size = min(MAX_INDICES, tensor.shape[1] - first)
        if tensor.data is not None:
            return graph.constant(tensor.data[:, first : first + size], tensor.dtype)
        return insert.slice(tensor, 1, first, size)

    starts = range(0, indices.shape[1], MAX_INDICES)
    if op.name == "GATHER":
        return insert.join([insert.like(op, values, part(indices, first)) for first in starts], axis=1)
    for first in starts:
        values = insert.like(op, values, part(indices, first), part(updates[0], first))
    return values


INDICES_IN_PARTS = pattern_rewrite("indices_in_parts", Stage.LEGALIZE, Pattern("GATHER|SCATTER"), _in_parts, _few)
