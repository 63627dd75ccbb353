"""Upsampling."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..build import Builder
from ..registry import Q, op
from ..values import Value


def _size(x: Value, size: Sequence[int] | None, factors: Sequence[float] | None) -> list[int]:
    if size is not None:
        return list(size)
    assert factors is not None
    return [int(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]


def _axis(b: Builder, length: int, target: int, align_corners: bool, bilinear: bool) -> tuple[int, int, int, int]:
    """Numerator, denominator, offset and border of one axis (TOSA 1.0, section 2.10.1 "RESIZE").

    Output position ``o`` reads input position ``(o * denominator + offset) / numerator``.
    """
    if length == target:
        return 1, 1, 0, 0
    if align_corners and target > 1:
        ratio = Fraction(target - 1, length - 1) if length > 1 else Fraction(target, 1)
    else:
        ratio = Fraction(target, length)
    numerator, denominator = ratio.numerator, ratio.denominator
    offset = 0
    if not align_corners:  # centres of pixels: (o + 0.5) / ratio - 0.5, in half steps
        numerator, denominator = 2 * numerator, 2 * denominator
        offset = (denominator - numerator) // 2 if bilinear else 0
    if not bilinear and not align_corners:  # floor(o / ratio)
        numerator, denominator = ratio.numerator, ratio.denominator
    border = (target - 1) * denominator - (length - 1) * numerator + offset
    return numerator, denominator, offset, border


def _resized(b: Builder, x: Value, size: Sequence[int], align_corners: bool, bilinear: bool) -> Value:
    y = [_axis(b, n, m, align_corners, bilinear) for n, m in zip(x.shape[2:], size, strict=True)]
    scale = [y[0][0], y[0][1], y[1][0], y[1][1]]
    offset, border = [y[0][2], y[1][2]], [y[0][3], y[1][3]]
    mode = "BILINEAR" if bilinear else "NEAREST_NEIGHBOR"
    return b.nchw(b.RESIZE(b.nhwc(x), scale, offset, border, mode))


@op("aten.upsample_nearest2d.vec", quant=Q.SHARED)
def upsample_nearest2d_vec(b: Builder, x: Value, size: Sequence[int] | None, factors: Sequence[float] | None) -> Value:
    return _nearest(b, x, _size(x, size, factors))


@op("aten.upsample_nearest2d.default", quant=Q.SHARED)
def upsample_nearest2d(b: Builder, x: Value, size: Sequence[int], *_: float | None) -> Value:
    return _nearest(b, x, size)


def _nearest(b: Builder, x: Value, size: Sequence[int]) -> Value:
    """floor(o * length / target). RESIZE rounds to the nearest, so the offset makes its nearest the floor."""
    axes = []
    for n, m in zip(x.shape[2:], size, strict=True):
        ratio = Fraction(m, n)
        numerator, denominator = 2 * ratio.numerator, 2 * ratio.denominator
        offset = -ratio.numerator + 1 if n != m else 0
        border = (m - 1) * denominator - (n - 1) * numerator + offset if n != m else 0
        axes.append((numerator, denominator, offset, border) if n != m else (1, 1, 0, 0))
    (a, c, e, g), (p, q, r, s) = axes
    return b.nchw(b.RESIZE(b.nhwc(x), [a, c, p, q], [e, r], [g, s], "NEAREST_NEIGHBOR"))


@op("aten.upsample_bilinear2d.vec", quant=Q.SHARED)
def upsample_bilinear2d_vec(
    b: Builder, x: Value, size: Sequence[int] | None, align_corners: bool, factors: Sequence[float] | None
) -> Value:
    return _resized(b, x, _size(x, size, factors), align_corners, True)


@op("aten.upsample_bilinear2d.default", quant=Q.SHARED)
def upsample_bilinear2d(b: Builder, x: Value, size: Sequence[int], align_corners: bool, *_: float | None) -> Value:
    return _resized(b, x, size, align_corners, True)


@op("aten.upsample_nearest1d.vec", "aten.upsample_nearest1d.default", quant=Q.SHARED)
def upsample_nearest1d(
    b: Builder, x: Value, size: Sequence[int] | None, factors: Sequence[float] | None = None
) -> Value:
    target = [int(x.shape[2] * factors[0])] if size is None and factors else list(size or ())
    image = b.RESHAPE(x, [*x.shape[:2], 1, x.shape[2]])
    y = _nearest(b, image, [1, *target])
    return b.RESHAPE(y, [*y.shape[:2], y.shape[3]])
