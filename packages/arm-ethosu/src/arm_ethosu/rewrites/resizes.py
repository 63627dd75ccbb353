"""RESIZE as convolutions with constant weights, for Ethos-U55 and U65, which have few."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .inserter import Inserter

#: Weights have 8 bits; with a zero point of -128 they count from 0 to 255.
_LARGEST_WEIGHT = 255
#: Results in a row, each with a convolution of its own: beyond that many, one multiplies by a matrix.
_MOST_PHASES = 32
_LARGEST_STRIDE = 3
_LARGEST_JOINED = 1 << 16  # elements of axes that a TRANSPOSE with a batch joins
_NARROW_FIRST = "quantize the activations to 8 bits"

Finish = Callable[[Tensor], Tensor]


class _Axis(NamedTuple):
    """Along the height (1) or the width (2): result ``o`` reads position ``(o * down + offset) / up``."""

    axis: int
    size: int
    results: int
    up: int
    down: int
    offset: int
    bilinear: bool

    @property
    def whole(self) -> int:
        """The weights of a result, added up."""
        return self.up if self.bilinear else 1

    @property
    def is_identity(self) -> bool:
        return (self.up, self.down, self.offset, self.results) == (1, 1, 0, self.size)

    def taps(self, count: int) -> list[tuple[int, int]]:
        """For each of the first results: the pixel before its position, and the weight of the next, of ``whole``."""
        taps = [divmod(o * self.down + self.offset, self.up) for o in range(count)]
        return taps if self.bilinear else [(pixel + (2 * part >= self.up), 0) for pixel, part in taps]

    @property
    def period(self) -> tuple[int, int]:
        """After how many results and how many pixels the distances repeat."""
        shared = gcd(self.up, self.down)
        return self.up // shared, self.down // shared

    @property
    def has_phases(self) -> bool:
        """Whether each result of a period can have a convolution of its own."""
        phases, stride = self.period
        fits = phases <= _MOST_PHASES and stride <= _LARGEST_STRIDE and self.results % phases == 0
        return self.is_identity or (fits and self.size > 1)

    @property
    def by_phases(self) -> bool:
        """Whether these take fewer cycles than a matrix: by Vela's estimate, on Ethos-U55-128."""
        long = not self.bilinear or self.period[0] == 1 or self.results >= 4 * self.size or self.size >= 32
        return self.has_phases and long

    @property
    def heaviest(self) -> int:
        return max(max(self.whole - part, part) for _, part in self.taps(self.period[0]))

    def edges(self) -> tuple[int, int]:
        """Pixels read before the first and behind the last: copies of these."""
        taps = self.taps(self.results)
        return int(taps[0][0] < 0), int(taps[-1][0] + (taps[-1][1] > 0) >= self.size)


def _axes(op: Op) -> list[_Axis]:
    scale, offset = (op.inputs[i].data for i in (1, 2))
    assert scale is not None and offset is not None
    sizes = zip(op.inputs[0].shape[1:3], op.output.shape[1:3], strict=True)
    bilinear = op.attrs["mode"] == "BILINEAR"
    return [
        _Axis(i + 1, size, results, int(scale[2 * i]), int(scale[2 * i + 1]), int(offset[i]), bilinear)
        for i, (size, results) in enumerate(sizes)
    ]


def is_native(op: Op) -> bool:
    """Whether Vela has a RESIZE for Ethos-U55 and U65: none that is bilinear but the identity."""
    x, scale, offset, border = op.inputs
    n, height, width, _ = x.shape
    numbers = [tensor.data.tolist() for tensor in (scale, offset, border) if tensor.data is not None]
    (up_y, down_y, up_x, down_x), (offset_y, offset_x), borders = numbers
    nearest = op.attrs["mode"] != "BILINEAR"
    if up_y == down_y and up_x == down_x and not any((offset_y, offset_x, *borders)) and (nearest or up_y == up_x == 1):
        return True  # the identity
    if not nearest:
        return False
    if height == width == 1:
        return True  # a broadcast
    half_pixel = down_y == down_x == 2 and (offset_y, offset_x) == (1 - up_y // 2, 1 - up_x // 2)
    if half_pixel and up_y % 2 == up_x % 2 == 0:
        up_y, up_x = up_y // 2, up_x // 2
    else:
        half_pixel = False
    _, out_height, out_width, _ = op.output.shape
    up = max(up_y, up_x)
    if up not in (2, 4, 8) or (up_y != up and height > 1) or (up_x != up and width > 1):
        return False  # Vela takes 2 by 4, but makes 4 by 4 of it
    reached = max((out_height - 1) / max(height - 1, 1), (out_width - 1) / max(width - 1, 1))
    return n == 1 and (half_pixel or reached == up)


def why_no_convolutions(op: Op) -> tuple[str, str] | None:
    """What is against RESIZE_AS_CONVOLUTIONS, and what to do about it; None where it takes a RESIZE."""
    x, axes = op.inputs[0], [axis for axis in _axes(op) if not axis.is_identity]
    how = op.attrs["mode"].lower().replace("_", " ")
    for axis in axes:
        if axis.whole > _LARGEST_WEIGHT:
            where = "height" if axis.axis == 1 else "width"
            reason = f"bilinear, {axis.size} to {axis.results} along the {where}, has weights up to {axis.up}"
            return f"{reason}; weights of 8 bits reach {_LARGEST_WEIGHT}", "choose sizes with a smaller ratio"
    if x.dtype is DType.INT16 and len(axes) > 1 and axes[0].bilinear:
        if not all(axis.has_phases for axis in axes):
            return "bilinear along both axes of INT16, at no simple ratio: sums need more than 16 bits", _NARROW_FIRST
        if (heaviest := axes[0].heaviest * axes[1].heaviest) > _LARGEST_WEIGHT:
            reason = f"bilinear along both axes of INT16 has weights up to {heaviest}"
            return f"{reason}; weights of 8 bits reach {_LARGEST_WEIGHT}", _NARROW_FIRST
    elif x.shape[0] > 1 and not all(axis.by_phases for axis in axes):
        largest = sorted(map(max, zip(x.shape[1:], op.output.shape[1:], strict=True)))[1:]
        if prod(largest) > _LARGEST_JOINED:
            reason = f"{how}, in a batch, joins axes to {prod(largest)} elements"
            return f"{reason}; {_LARGEST_JOINED} at most there", "resize the images one by one"
    return None


def _with_edges(insert: Inserter, x: Tensor, axis: _Axis) -> Tensor:
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
    def all(cls, axis: _Axis | None, size: int) -> list[_Phase]:
        if axis is None:
            return [cls(0, size, [1])]
        phases, stride = axis.period
        steps = (axis.results // phases - 1) * stride
        edge = axis.edges()[0]
        kernels = [
            (start + edge, [axis.whole - part, part] if part else [axis.whole]) for start, part in axis.taps(phases)
        ]
        return [cls(start, steps + len(kernel), kernel) for start, kernel in kernels]


def _phases(insert: Inserter, x: Tensor, y: _Axis | None, z: _Axis | None, finish: Finish) -> Tensor:
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


def _product(insert: Inserter, x: Tensor, axis: _Axis, finish: Finish) -> Tensor:
    """A 1x1 convolution with a matrix of weights, [results, pixels], the axis being the channels."""
    weights = np.zeros((axis.results, axis.size), np.int64)
    for row, (pixel, part) in zip(weights, axis.taps(axis.results), strict=True):
        row[np.clip(pixel, 0, axis.size - 1)] += axis.whole - part
        row[np.clip(pixel + 1, 0, axis.size - 1)] += part
    perms = (0, 3, 2, 1) if axis.axis == 1 else (0, 1, 3, 2)
    x = insert("TRANSPOSE", x, perms=perms)
    made = finish(insert.convolve("CONV2D", x, weights.reshape(axis.results, 1, 1, axis.size)))
    return insert("TRANSPOSE", made, perms=perms)


def _along(insert: Inserter, x: Tensor, axis: _Axis, finish: Finish) -> Tensor:
    if not axis.by_phases:
        return _product(insert, x, axis, finish)
    return _phases(insert, x, axis if axis.axis == 1 else None, axis if axis.axis == 2 else None, finish)


def _resize_as_convolutions(graph: Graph, op: Op) -> bool:
    """A RESIZE that Vela has not becomes convolutions whose weights are those of its pixels: the same integers.

    INT8 first along one axis, if bilinear to INT16, then along the other. The RESCALE of a bilinear result moves to the
    convolutions, where it costs nothing.
    """
    x, wide, axes = op.inputs[0], op.output, _axes(op)
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

    def finish(made: Tensor) -> Tensor:
        if made.dtype is not wide.dtype:
            made = insert.rescale(made, wide.dtype)
        return made if user is None else insert("RESCALE", made, *user.inputs[1:], **user.attrs)

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
