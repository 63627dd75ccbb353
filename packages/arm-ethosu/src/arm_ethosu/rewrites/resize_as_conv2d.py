"""RESIZE as convolutions with constant weights, for Ethos-U55 and U65, which have few."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage

from ..native.resize import Axis, axes_of, is_native, why_no_convolutions

Finish = Callable[[Tensor], Tensor]


def _with_edges(insert: Inserter, x: Tensor, axis: Axis) -> Tensor:
    """The image with its first and last pixels once more where an axis reads beyond them."""
    before, after = axis.edges()
    first = [insert.slice(x, axis.axis, 0, 1)] if before else []
    last = [insert.slice(x, axis.axis, axis.size - 1, 1)] if after else []
    return insert.join([*first, x, *last], axis.axis)


class _Phase(NamedTuple):
    """Every ``period``-th result along an axis: pixels from ``start`` on, in steps, times one kernel."""

    start: int
    extent: int
    kernel: list[int]

    @classmethod
    def all(cls, axis: Axis | None, size: int) -> list[_Phase]:
        if axis is None:
            return [cls(0, size, [1])]
        phases, stride = axis.period
        steps = (axis.results // phases - 1) * stride
        edge = axis.edges()[0]
        kernels = [
            (start + edge, [axis.whole - part, part] if part else [axis.whole]) for start, part in axis.taps(phases)
        ]
        return [cls(start, steps + len(kernel), kernel) for start, kernel in kernels]


def _phases(insert: Inserter, x: Tensor, y: Axis | None, z: Axis | None, finish: Finish) -> Tensor:
    """One depthwise convolution for each result of a period, along the height, the width, or both.

    Those of one row lie side by side as channels, those of one column as pixels, which is how they lie in the image.
    Where each result is one pixel, and no pixel is left out, there is nothing to convolve.
    """
    moved = not any(axis.bilinear or axis.period[1] > 1 for axis in (y, z) if axis)
    batch, height, width, channels = x.shape
    stride = (y.period[1] if y else 1, z.period[1] if z else 1)
    rows = []
    for above in _Phase.all(y, height):
        columns = []
        for left in _Phase.all(z, width):
            part = insert.slice(insert.slice(x, 1, above.start, above.extent), 2, left.start, left.extent)
            if not moved:
                kernel = np.outer(above.kernel, left.kernel)[:, :, None, None]
                weights = np.broadcast_to(kernel, (*kernel.shape[:2], channels, 1))
                part = finish(insert.convolve("DEPTHWISE_CONV2D", part, weights, stride))
            columns.append(part)
        rows.append(insert.join(columns, 3))
    size = (y.results if y else height, z.results if z else width)
    return insert.reshape(insert.join(rows, 2), batch, *size, channels)


def _product(insert: Inserter, x: Tensor, axis: Axis, finish: Finish) -> Tensor:
    """A 1x1 convolution with a matrix of weights, [results, pixels], the axis being the channels."""
    weights = np.zeros((axis.results, axis.size), np.int64)
    for row, (pixel, part) in zip(weights, axis.taps(axis.results), strict=True):
        row[np.clip(pixel, 0, axis.size - 1)] += axis.whole - part
        row[np.clip(pixel + 1, 0, axis.size - 1)] += part
    perms = (0, 3, 2, 1) if axis.axis == 1 else (0, 1, 3, 2)
    x = insert("TRANSPOSE", x, perms=perms)
    product = finish(insert.convolve("CONV2D", x, weights.reshape(axis.results, 1, 1, axis.size)))
    return insert("TRANSPOSE", product, perms=perms)


def _along(insert: Inserter, x: Tensor, axis: Axis, finish: Finish) -> Tensor:
    if not axis.by_phases:
        return _product(insert, x, axis, finish)
    return _phases(insert, x, axis if axis.axis == 1 else None, axis if axis.axis == 2 else None, finish)


def _resize_as_convolutions(graph: Graph, op: Op) -> bool:
    """A RESIZE that Vela lacks becomes convolutions whose weights are those of its pixels: the same integers.

    INT8 first along one axis, if bilinear to INT16, then along the other. The RESCALE of a bilinear result moves to the
    convolutions, where it costs nothing.
    """
    x, wide, axes = op.inputs[0], op.output, axes_of(op)
    todo = sorted((a for a in axes if not a.is_identity), key=lambda a: a.results / a.size)
    if not todo or is_native(op) or why_no_convolutions(op):
        return False
    bilinear = op.attrs["mode"] == "BILINEAR"
    user = wide.uses[0] if len(wide.uses) == 1 and wide not in graph.outputs else None
    if user is not None and (not bilinear or user.name != "RESCALE" or user.attrs["per_channel"]):
        user = None
    if user is None and wide.dtype is DType.INT48:
        return False
    insert = Inserter(graph, user or op)

    def finish(sums: Tensor) -> Tensor:
        if sums.dtype is not wide.dtype:
            sums = insert.rescale(sums, wide.dtype)
        return sums if user is None else insert("RESCALE", sums, *user.inputs[1:], **user.attrs)

    one_in_few = all(axis.has_phases and axis.period[0] == 1 for axis in todo)
    at_once = len(todo) == 2 and (x.dtype is DType.INT16 if bilinear else one_in_few)
    for axis in axes:
        x = _with_edges(insert, x, axis) if at_once or axis.by_phases else x
    if at_once:
        x = _phases(insert, x, axes[0], axes[1], finish)
    else:
        if len(todo) == 2:
            between = DType.INT16 if bilinear else wide.dtype
            x = _along(insert, x, todo[0], lambda made: insert.rescale(made, between))
        x = _along(insert, x, todo[-1], finish)
    graph.replace(wide if user is None else user.output, x)
    return True


RESIZE_AS_CONVOLUTIONS = Rewrite("resize_as_convolutions", Stage.LEGALIZE, ("RESIZE",), _resize_as_convolutions)
