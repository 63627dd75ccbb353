"""RESIZE on Ethos-U55 and U65: the cases that Vela takes, and those that convolutions replace."""

from __future__ import annotations

from math import gcd, prod
from typing import NamedTuple

from arm_tosa_core.tosa.ir import DType, Op

from ..accelerators import MAX_AXIS, MAX_STRIDE

#: Weights have 8 bits; with a zero point of -128 they count from 0 to 255.
_LARGEST_WEIGHT = 255
#: Results in a row, each with a convolution of its own: beyond that many, one multiplies by a matrix.
_MOST_PHASES = 32
_NARROW_FIRST = "quantize the activations to 8 bits"


class Axis(NamedTuple):
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
        fits = phases <= _MOST_PHASES and stride <= MAX_STRIDE and self.results % phases == 0
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


def axes_of(op: Op) -> list[Axis]:
    """The height and the width of a RESIZE."""
    scale, offset = (op.inputs[i].data for i in (1, 2))
    assert scale is not None and offset is not None
    sizes = zip(op.inputs[0].shape[1:3], op.output.shape[1:3], strict=True)
    bilinear = op.attrs["mode"] == "BILINEAR"
    return [
        Axis(i + 1, size, results, int(scale[2 * i]), int(scale[2 * i + 1]), int(offset[i]), bilinear)
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
    """The obstacle to RESIZE_AS_CONVOLUTIONS, and the remedy; None if the rewrite takes the RESIZE."""
    x, axes = op.inputs[0], [axis for axis in axes_of(op) if not axis.is_identity]
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
        largest = sorted(map(max, zip(x.shape, op.output.shape, strict=True)))[2:]
        if prod(largest) > MAX_AXIS:
            reason = f"{how}, in a batch, joins axes to {prod(largest)} elements"
            return f"{reason}; {MAX_AXIS} at most there", "resize the images one by one"
    return None
