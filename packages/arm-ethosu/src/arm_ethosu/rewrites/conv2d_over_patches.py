"""Convolutions that Vela takes, but spends many times the cycles on that another form of them needs."""

from __future__ import annotations

from math import gcd, prod
from typing import NamedTuple

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.rewrites.conv2d_over_patches import is_over_patches, over_patches
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage

from ..accelerators import MAX_STRIDE

#: Beyond it Vela writes a dilation's zeros into the weights; a stride beyond ``MAX_STRIDE`` it unrolls.
_NATIVE_DILATION = 2
#: Multiplications that take as long as copying one element, at least: measured, on Ethos-U55-128 and U85-256.
_PRODUCTS_PER_COPY = 80


def _native_stride(match: Match) -> str | None:
    strides = zip(match.op.attrs["stride"], match.op.output.shape[1:3], strict=True)
    if not any(stride > MAX_STRIDE and count > 1 for stride, count in strides):
        return "Vela has its stride"
    return _not_over_patches(match.op)


def _not_over_patches(op: Op) -> str | None:
    if max(op.attrs["stride"]) <= MAX_STRIDE:
        return "Vela has its stride"
    return None if is_over_patches(op) else "its weights vary, are dilated or have a zero point"


class _Taps(NamedTuple):
    """Along one axis: the kernel's elements that meet the image, and what each of them sees of it."""

    positions: list[int]  # in the kernel
    starts: list[int]  # of their views, in the image, which begins at 0
    extent: int  # of a view

    @classmethod
    def of(cls, kernel: int, dilation: int, stride: int, pad: int, size: int, results: int) -> _Taps:
        extent = (results - 1) * stride + 1
        starts = {i: i * dilation - pad for i in range(kernel)}
        met = {i: start for i, start in starts.items() if start + extent > 0 and start < size} or {0: starts[0]}
        return cls(list(met), list(met.values()), extent)

    def padding(self, size: int) -> tuple[int, int]:
        """What the image lacks before and after itself."""
        return max(0, -min(self.starts)), max(0, max(self.starts) + self.extent - size)


def _views(graph: Graph, op: Op) -> bool:
    """A convolution dilated beyond 2 becomes one without, over shifted views of the image side by side as channels.

    Vela writes the zeros between the kernel's elements into the weights and computes with them: 72 G MACs where
    DeepLabv3 has 2 G. Elements that meet nothing but padding are dropped. Left as it is where copying the views takes
    longer.
    """
    image, weight, *rest = op.inputs
    dilation, kernel = op.attrs["dilation"], weight.shape[1:3]
    spread = [axis for axis in (0, 1) if kernel[axis] > 1 and dilation[axis] > _NATIVE_DILATION]
    zero = rest[1].data
    if not spread or weight.data is None or zero is None:
        return False
    pad, stride, sizes = op.attrs["pad"], op.attrs["stride"], image.shape[1:3]
    taps: list[_Taps] = []
    for axis in (0, 1):
        if axis in spread:
            geometry = (dilation[axis], stride[axis], pad[2 * axis], sizes[axis], op.output.shape[axis + 1])
            taps.append(_Taps.of(kernel[axis], *geometry))
        else:
            taps.append(_Taps([0], [0], sizes[axis]))
    if not _pays(op, taps, spread):
        return False
    insert = Inserter(graph, op)
    (top, bottom), (left, right) = (tap.padding(size) for tap, size in zip(taps, sizes, strict=True))
    padded = image
    if top or bottom or left or right:
        widths = graph.shape([0, 0, top, bottom, left, right, 0, 0])
        padded = insert("PAD", image, widths, graph.constant(zero, image.dtype))
    batch, _, _, channels = image.shape
    size = graph.shape([batch, taps[0].extent, taps[1].extent, channels])
    views = [
        insert("SLICE", padded, graph.shape([0, top + y, left + x, 0]), size)
        for y in taps[0].starts
        for x in taps[1].starts
    ]
    side_by_side = insert.join(views, axis=3)
    data = weight.data
    for axis in spread:
        data = data.take(taps[axis].positions, axis + 1)
    rows, columns = (1 if axis in spread else kernel[axis] for axis in (0, 1))
    # [OC, taps in y or KH, taps in x or KW, IC] to [OC, KH, KW, taps * IC]: at most one of the two axes is left.
    if rows > 1:  # spread along x alone
        flat = data.reshape(weight.shape[0], rows, 1, -1)
    elif columns > 1:  # spread along y alone
        flat = data.swapaxes(1, 2).reshape(weight.shape[0], 1, columns, -1)
    else:
        flat = data.reshape(weight.shape[0], 1, 1, -1)
    attrs = {
        **op.attrs,
        "dilation": tuple(1 if axis in spread or kernel[axis] == 1 else dilation[axis] for axis in (0, 1)),
        "pad": tuple(0 if side // 2 in spread else pad[side] for side in range(4)),
    }
    result = insert("CONV2D", side_by_side, graph.constant(flat, weight.dtype), *rest, **attrs)
    graph.replace(op.output, result)
    return True


def _pays(op: Op, taps: list[_Taps], spread: list[int]) -> bool:
    """Whether multiplying with zeros takes longer than copying the views."""
    image, weight = op.inputs[:2]
    channels, sizes = image.shape[3], image.shape[1:3]
    dense = sparse = 1
    for axis in (0, 1):
        # Vela divides stride and dilation by what they share.
        dilation = op.attrs["dilation"][axis] // gcd(op.attrs["dilation"][axis], op.attrs["stride"][axis])
        dense *= (weight.shape[axis + 1] - 1) * dilation + 1
        sparse *= len(taps[axis].positions) if axis in spread else weight.shape[axis + 1]
    products = (dense - sparse) * op.output.size * channels
    views = prod(len(tap.positions) * tap.extent for tap in taps)
    padded = prod(size + sum(tap.padding(size)) for tap, size in zip(taps, sizes, strict=True))
    return products > _PRODUCTS_PER_COPY * (views + padded) * channels * image.shape[0]


OVERLAPPING_PATCHES = pattern_rewrite(
    "overlapping_patches", Stage.LEGALIZE, Pattern("CONV2D"), over_patches, _native_stride
)
VIEWS = Rewrite("dilation_as_views", Stage.LEGALIZE, ("CONV2D",), _views)
#: Ethos-U85 has strides beyond 3 with padding too: there it is one way among others.
OVERLAPPING_PATCHES_U85 = Choice("overlapping_patches_u85", Pattern("CONV2D"), over_patches, _native_stride)
