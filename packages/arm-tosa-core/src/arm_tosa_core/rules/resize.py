"""Upsampling, and downsampling by the same operators."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import Q, op
from ..lowering.values import Value

_Factors = Sequence[float | None] | None


def _axis(length: int, target: int, factor: float | None, mode: str, align_corners: bool) -> tuple[int, int, int, int]:
    """Numerator, denominator, offset and border of one axis (TOSA 1.0, section 2.10.1 "RESIZE").

    Result ``o`` reads position ``(o * denominator + offset) / numerator``. A given factor counts even if it
    differs from the ratio of the rounded sizes, as in PyTorch.
    """
    if length == target and (mode != "BILINEAR" or factor in (None, 1.0) or align_corners):
        return 1, 1, 0, 0
    if align_corners:
        ratio = Fraction(target - 1, length - 1) if min(length, target) > 1 else Fraction(target)
        numerator, denominator, offset = ratio.numerator, ratio.denominator, 0
    else:
        ratio = Fraction(factor).limit_denominator(1000) if factor else Fraction(target, length)
        numerator, denominator = 2 * ratio.numerator, 2 * ratio.denominator
        # BILINEAR: between centres of pixels, (o + 1 / 2) / ratio - 1 / 2. Else RESIZE takes the nearest, and PyTorch
        # the floor of o / ratio: half a pixel less, and a little more.
        offset = (ratio.denominator if mode == "BILINEAR" else 1) - ratio.numerator
    return numerator, denominator, offset, (target - 1) * denominator - (length - 1) * numerator + offset


def _resized(
    b: OpBuilder,
    x: Value,
    size: Sequence[int] | None,
    factors: _Factors,
    mode: str = "NEAREST_NEIGHBOR",
    align_corners: bool = False,
) -> Value:
    """An NCHW image resampled to ``size``, or by ``factors`` where that is None."""
    factors = factors or (None, None)
    target = size or [int(n * f) for n, f in zip(x.shape[2:], factors, strict=True) if f]
    axes = zip(x.shape[2:], target, factors, strict=True)
    (*y, y_offset, y_border), (*h, h_offset, h_border) = (_axis(*a, mode, align_corners) for a in axes)
    if [*target] == [*x.shape[2:]] and [*y, *h] == [1] * 4:
        return x
    return b.nchw(b.RESIZE(b.nhwc(x), [*y, *h], [y_offset, h_offset], [y_border, h_border], mode))


@op("aten.upsample_nearest2d.vec", quant=Q.SHARED)
def upsample_nearest2d_vec(b: OpBuilder, x: Value, size: Sequence[int] | None, factors: _Factors) -> Value:
    return _resized(b, x, size, factors)


@op("aten.upsample_nearest2d.default", quant=Q.SHARED)
def upsample_nearest2d(
    b: OpBuilder, x: Value, size: Sequence[int], factor_h: float | None = None, factor_w: float | None = None
) -> Value:
    return _resized(b, x, size, (factor_h, factor_w))


@op("aten.upsample_bilinear2d.vec", quant=Q.SHARED)
def upsample_bilinear2d_vec(
    b: OpBuilder, x: Value, size: Sequence[int] | None, align_corners: bool, factors: _Factors
) -> Value:
    return _resized(b, x, size, factors, "BILINEAR", align_corners)


@op("aten.upsample_bilinear2d.default", quant=Q.SHARED)
def upsample_bilinear2d(
    b: OpBuilder,
    x: Value,
    size: Sequence[int],
    align_corners: bool,
    factor_h: float | None = None,
    factor_w: float | None = None,
) -> Value:
    return _resized(b, x, size, (factor_h, factor_w), "BILINEAR", align_corners)


@op("aten.upsample_nearest1d.vec", quant=Q.SHARED)
def upsample_nearest1d_vec(b: OpBuilder, x: Value, size: Sequence[int] | None, factors: _Factors) -> Value:
    """An image of height 1."""
    image = b.RESHAPE(x, [*x.shape[:2], 1, x.shape[2]])
    y = _resized(b, image, [1, *size] if size else None, (1.0, *(factors or (None,))))
    return b.RESHAPE(y, [*y.shape[:2], y.shape[3]])


@op("aten.upsample_nearest1d.default", quant=Q.SHARED)
def upsample_nearest1d(b: OpBuilder, x: Value, size: Sequence[int], factor: float | None = None) -> Value:
    return upsample_nearest1d_vec(b, x, size, (factor,))
