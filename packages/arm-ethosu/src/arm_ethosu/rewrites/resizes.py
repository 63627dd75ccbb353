"""Bilinear RESIZE as convolutions with constant weights, for Ethos-U55 and U65, which have none."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from arm_tosa_core.ir import DType, Graph, Op, Tensor
from arm_tosa_core.rewrite import Rewrite, Stage

from .chain import Chain

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

    @property
    def is_identity(self) -> bool:
        return (self.up, self.down, self.offset, self.results) == (1, 1, 0, self.size)

    def taps(self, count: int) -> list[tuple[int, int]]:
        """For each of the first results: the pixel before its position, and how many ``up``-ths it is behind that."""
        return [divmod(o * self.down + self.offset, self.up) for o in range(count)]

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
        long = self.period[0] == 1 or self.results >= 4 * self.size or self.size >= 32
        return self.has_phases and long

    @property
    def heaviest(self) -> int:
        return max(max(self.up - part, part) for _, part in self.taps(self.period[0]))

    def edges(self) -> tuple[int, int]:
        """Pixels read before the first and behind the last: copies of these."""
        taps = self.taps(self.results)
        return int(taps[0][0] < 0), int(taps[-1][0] + (taps[-1][1] > 0) >= self.size)


def _axes(op: Op) -> list[_Axis]:
    scale, offset = (op.inputs[i].data for i in (1, 2))
    assert scale is not None and offset is not None
    sizes = zip(op.inputs[0].shape[1:3], op.output.shape[1:3], strict=True)
    return [
        _Axis(i + 1, size, results, int(scale[2 * i]), int(scale[2 * i + 1]), int(offset[i]))
        for i, (size, results) in enumerate(sizes)
    ]


def why_no_convolutions(op: Op) -> tuple[str, str] | None:
    """What is against RESIZE_AS_CONVOLUTIONS, and what to do about it; None where it takes a bilinear RESIZE."""
    x, axes = op.inputs[0], [axis for axis in _axes(op) if not axis.is_identity]
    for axis in axes:
        if axis.up > _LARGEST_WEIGHT:
            where = "height" if axis.axis == 1 else "width"
            reason = f"bilinear, {axis.size} to {axis.results} along the {where}, has weights up to {axis.up}"
            return f"{reason}; weights of 8 bits reach {_LARGEST_WEIGHT}", "choose sizes with a smaller ratio"
    if x.dtype is DType.INT16 and len(axes) > 1:
        if not all(axis.has_phases for axis in axes):
            return "bilinear along both axes of INT16, at no simple ratio: sums need more than 16 bits", _NARROW_FIRST
        if (heaviest := axes[0].heaviest * axes[1].heaviest) > _LARGEST_WEIGHT:
            reason = f"bilinear along both axes of INT16 has weights up to {heaviest}"
            return f"{reason}; weights of 8 bits reach {_LARGEST_WEIGHT}", _NARROW_FIRST
    elif x.shape[0] > 1 and not all(axis.by_phases for axis in axes):
        largest = sorted(map(max, zip(x.shape[1:], op.output.shape[1:], strict=True)))[1:]
        if prod(largest) > _LARGEST_JOINED:
            reason = f"bilinear, in a batch, joins axes to {prod(largest)} elements"
            return f"{reason}; {_LARGEST_JOINED} at most there", "resize the images one by one"
    return None


def _with_edges(chain: Chain, x: Tensor, axis: _Axis) -> Tensor:
    """The image with its first and last pixels once more where an axis reads beyond them."""
    before, after = axis.edges()
    first = [chain.slice(x, axis.axis, 0, 1)] if before else []
    last = [chain.slice(x, axis.axis, axis.size - 1, 1)] if after else []
    return chain.join([*first, x, *last], axis.axis)


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
        kernels = [(start + edge, [axis.up - part, part] if part else [axis.up]) for start, part in axis.taps(phases)]
        return [cls(start, steps + len(kernel), kernel) for start, kernel in kernels]


def _phases(chain: Chain, x: Tensor, y: _Axis | None, z: _Axis | None, finish: Finish) -> Tensor:
    """One depthwise convolution for each result of a period, along the height, the width, or both.

    Those of one row lie side by side as channels, those of one column as pixels, which is how they lie in the image.
    """
    batch, height, width, channels = x.shape
    stride = (y.period[1] if y else 1, z.period[1] if z else 1)
    rows = []
    for above in _Phase.all(y, height):
        columns = []
        for left in _Phase.all(z, width):
            part = chain.slice(chain.slice(x, 1, above.start, above.extent), 2, left.start, left.extent)
            kernel = np.outer(above.kernel, left.kernel)[:, :, None, None]
            weights = np.broadcast_to(kernel, (*kernel.shape[:2], channels, 1))
            columns.append(finish(chain.convolve("DEPTHWISE_CONV2D", part, weights, stride)))
        rows.append(chain.join(columns, 3))
    size = (y.results if y else height, z.results if z else width)
    return chain.reshape(chain.join(rows, 2), batch, *size, channels)


def _product(chain: Chain, x: Tensor, axis: _Axis, finish: Finish) -> Tensor:
    """A 1x1 convolution with a matrix of weights, [results, pixels], the axis being the channels."""
    weights = np.zeros((axis.results, axis.size), np.int64)
    for row, (pixel, part) in zip(weights, axis.taps(axis.results), strict=True):
        row[np.clip(pixel, 0, axis.size - 1)] += axis.up - part
        row[np.clip(pixel + 1, 0, axis.size - 1)] += part
    perms = (0, 3, 2, 1) if axis.axis == 1 else (0, 1, 3, 2)
    x = chain.insert("TRANSPOSE", x, perms=perms)
    made = finish(chain.convolve("CONV2D", x, weights.reshape(axis.results, 1, 1, axis.size)))
    return chain.insert("TRANSPOSE", made, perms=perms)


def _along(chain: Chain, x: Tensor, axis: _Axis, finish: Finish) -> Tensor:
    if not axis.by_phases:
        return _product(chain, x, axis, finish)
    return _phases(chain, x, axis if axis.axis == 1 else None, axis if axis.axis == 2 else None, finish)


def _resize_as_convolutions(graph: Graph, op: Op) -> bool:
    """A bilinear RESIZE becomes convolutions whose weights are those of its pixels: the same integers.

    INT8 first along one axis, to INT16, then along the other. The RESCALE of the result moves to the convolutions,
    where it costs nothing.
    """
    x, wide, axes = op.inputs[0], op.output, _axes(op)
    todo = sorted((a for a in axes if not a.is_identity), key=lambda a: a.results / a.size)
    if op.attrs["mode"] != "BILINEAR" or not todo or why_no_convolutions(op):
        return False
    user = wide.uses[0] if len(wide.uses) == 1 and wide not in graph.outputs else None
    if user is not None and (user.name != "RESCALE" or user.attrs["per_channel"]):
        user = None
    if user is None and wide.dtype is DType.INT48:
        return False
    chain = Chain(graph, user or op)

    def finish(made: Tensor) -> Tensor:
        if made.dtype is not wide.dtype:
            made = chain.rescale(made, wide.dtype)
        return made if user is None else chain.insert("RESCALE", made, *user.inputs[1:], **user.attrs)

    at_once = len(todo) == 2 and x.dtype is DType.INT16
    for axis in axes:
        x = _with_edges(chain, x, axis) if at_once or axis.by_phases else x
    if at_once:
        x = _phases(chain, x, axes[0], axes[1], finish)
    else:
        if len(todo) == 2:
            x = _along(chain, x, todo[0], lambda made: chain.rescale(made, DType.INT16))
        x = _along(chain, x, todo[-1], finish)
    graph.replace(wide if user is None else user.output, x)
    return True


RESIZE_AS_CONVOLUTIONS = Rewrite("resize_as_convolutions", Stage.LEGALIZE, ("RESIZE",), _resize_as_convolutions)
