"""Channels of a convolution in the order in which a TRANSPOSE behind it, of a pixel shuffle for example, wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern

from ..operator_classes import AT_THE_OUTPUT
from .graph_parts import WORTH_ASKING, with_layer

#: Planes of a result, at most, that are made of an image's channels at last.
_MOST_PLANES = 4


def _row(op: Op) -> list[Op]:
    """A convolution, and what is fused behind it up to an operator; nothing if others read any of it."""
    row: list[Op] = []
    while not row or row[0].name != "CONV2D":
        maker = (row[0] if row else op).inputs[0].producer
        if maker is None or maker.name not in ("CONV2D", *AT_THE_OUTPUT) or len(maker.output.uses) > 1:
            return []
        row.insert(0, maker)
    return row


@dataclass(frozen=True)
class _Order:
    """How channels should lie: ``axes`` are those of the RESHAPE, ``result`` those of the TRANSPOSE's result.

    Args:
        planes: the first axis of the result is made of channels: it is last in ``result``, and moved at last.
    """

    axes: Sequence[int]
    result: Sequence[int]
    planes: bool


def _order(view: Tensor, channels: int, perms: Sequence[int]) -> _Order | None:
    """The order in which the TRANSPOSE moves the longest runs; None if they lie so already."""
    first = view.rank
    while first and prod(view.shape[first - 1 :]) <= channels:
        first -= 1
    moved = [axis for axis in perms if view.shape[axis] > 1]
    if prod(view.shape[first:]) != channels or not moved:
        return None
    planes = moved[0] >= first and view.shape[moved[0]] <= _MOST_PLANES
    result = [*moved[1:], moved[0]] if planes else moved
    if planes and moved[1:] == sorted(moved[1:]):
        return None  # heads of attention, for which heads_side_by_side is there
    axes = [axis for axis in result if axis >= first]
    return None if axes == sorted(axes) or result[-1] < first else _Order(axes, result, planes)


def _check(match: Match) -> str | None:
    view = match["view"]
    if match.op.output.size < WORTH_ASKING or view.inputs[0].rank != 4:
        return "it moves little"
    row = _row(view)
    if not row or any(x.data is None for op in row for x in op.inputs[1:]):
        return "it is not of a convolution with constant weights"
    order = _order(view.output, view.inputs[0].shape[3], match.op.attrs["perms"])
    return None if order is not None else "its channels lie in order"


def _in_order(match: Match) -> Tensor:
    """The channels of a convolution lie as the TRANSPOSE behind it wants them, which then moves longer runs.

    A pixel shuffle by 3 of [32, 32, 27] moves single elements, for 450,000 cycles on Ethos-U85-256, and runs of 9, and
    then three planes of the whole, for 80,000.
    """
    view, insert, perms = match["view"], match.insert, match.op.attrs["perms"]
    shape, channels = view.output.shape, view.inputs[0].shape[3]
    order = _order(view.output, channels, perms)
    assert order is not None
    parted = sorted(order.axes)
    places = np.arange(channels).reshape([shape[axis] for axis in parted])
    places = places.transpose([parted.index(axis) for axis in order.axes]).reshape(-1)

    def own(constant: Tensor) -> Tensor:
        assert constant.data is not None
        if constant.rank == 0 or constant.shape[0] != channels:
            return constant
        return match.graph.constant(np.ascontiguousarray(constant.data[places]), constant.dtype)

    row = _row(view)
    x = row[0].inputs[0]
    for op in row:
        rest = op.inputs[1:] if op.name == "TABLE" else map(own, op.inputs[1:])
        x = insert.like(op, x, *rest)
    rest_axes = [axis for axis in sorted(order.result) if axis not in order.axes]
    axes = [*rest_axes, *order.axes]
    x = insert.reshape(x, *(shape[axis] for axis in axes))
    x = insert("TRANSPOSE", x, perms=tuple(axes.index(axis) for axis in order.result))
    if order.planes:
        planes = shape[order.result[-1]]
        x = insert("TRANSPOSE", insert.reshape(x, x.size // planes, planes), perms=(1, 0))
    return insert.reshape(x, *match.op.output.shape)


CHANNELS_IN_ORDER = Choice(
    "channels_in_order",
    Pattern("TRANSPOSE", {0: Pattern("RESHAPE", name="view", alone=True)}),
    _in_order,
    _check,
    around=with_layer,
)
