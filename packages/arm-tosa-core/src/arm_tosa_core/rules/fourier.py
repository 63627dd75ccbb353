"""Fourier transforms, and operators on complex numbers between them.

FFT2D and RFFT2D, of the extension ``fft``, take powers of two. Other sizes, and specifications without the extension,
have the transform as a product with a constant matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..lowering.complex_numbers import Parts, is_complex, parts
from ..lowering.op_builder import OpBuilder
from ..lowering.rule import op
from ..lowering.values import Complex, Operand, Value
from .linear import matmul
from .shape import select, stack

#: Largest matrix of a transform: its products grow with the square of its size.
_LARGEST = 1024
_NO_NORM, _ROOT = 0, 1


# -- transforms -------------------------------------------------------------------------------------


def _matrix(rows: int, columns: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of ``2 * pi * row * column / size``."""
    angles = torch.outer(torch.arange(rows), torch.arange(columns)) % size * (2 * math.pi / size)
    return angles.double().cos().float(), angles.double().sin().float()


def _fits(b: OpBuilder, sizes: Sequence[int]) -> bool:
    """Whether FFT2D takes these sizes; refuses sizes that are too large for a matrix as well."""
    if b.spec.support_extension("fft") and all(n & (n - 1) == 0 for n in sizes):
        return True
    b.require(
        max(sizes) <= _LARGEST,
        f"transforms {max(sizes)} numbers; TOSA has powers of two (extension fft), or matrices up to {_LARGEST}",
    )
    return False


def _images(b: OpBuilder, x: Value, dims: Sequence[int]) -> tuple[Value, list[int]]:
    """The one or two axes as the last of [N, H, W], and where each axis went."""
    order = [*(i for i in range(x.rank) if i not in dims), *dims]
    moved = b.TRANSPOSE(x, order)
    width = moved.shape[-1]
    height = moved.shape[-2] if len(dims) == 2 else 1
    return b.RESHAPE(moved, [x.size // (height * width), height, width]), order


def _back(b: OpBuilder, y: Value, shape: Sequence[int], order: Sequence[int]) -> Value:
    """``_images`` undone, for a result whose last axis may be shorter."""
    moved = b.RESHAPE(y, [*(shape[i] for i in order[:-1]), y.shape[-1]])
    return b.TRANSPOSE(moved, [order.index(i) for i in range(len(order))])


def _fft2d(b: OpBuilder, x: Parts, dims: Sequence[int], inverse: bool) -> Parts:
    (real, order), (imag, _) = (_images(b, part, dims) for part in x)
    real, imag = (_back(b, v, x[0].shape, order) for v in b.FFT2D(real, imag, inverse))
    return real, imag


def _transformed(b: OpBuilder, x: Parts, dims: Sequence[int], inverse: bool) -> Parts:
    """The transform along each of the axes, without normalization."""
    while dims:
        now, dims = dims[:2], dims[2:]
        if _fits(b, [x[0].shape[d] for d in now]):
            x = _fft2d(b, x, now, inverse)
            continue
        for dim in now:
            x = _product(b, x, dim, inverse)
    return x


def _product(b: OpBuilder, x: Parts, dim: int, inverse: bool) -> Parts:
    size = x[0].shape[dim]
    cosines, sines = (b.const(m) for m in _matrix(size, size, size))
    (re_c, im_c), (re_s, im_s) = ([_along(b, part, dim, m) for part in x] for m in (cosines, sines))
    if inverse:
        return b.SUB(re_c, im_s), b.ADD(im_c, re_s)
    return b.ADD(re_c, im_s), b.SUB(im_c, re_s)


def _along(b: OpBuilder, x: Value, dim: int, matrix: Value) -> Value:
    """The product of an axis with a matrix [old size, new size]."""
    last = [*(i for i in range(x.rank) if i != dim), dim]
    y = matmul(b, b.RESHAPE(b.TRANSPOSE(x, last), [x.size // x.shape[dim], x.shape[dim]]), matrix)
    return _back(b, y, x.shape, last)


def _normed(b: OpBuilder, x: Value, shape: Sequence[int], dims: Sequence[int], norm: int) -> Value:
    count = math.prod(shape[d] for d in dims)
    return x if norm == _NO_NORM else b.MUL(x, 1 / (math.sqrt(count) if norm == _ROOT else count))


@op("aten._fft_r2c.default")
def fft_r2c(b: OpBuilder, x: Value, dims: Sequence[int], norm: int, onesided: bool) -> Complex:
    x = b.real(x)
    dims = [d % x.rank for d in dims]
    if not onesided:
        return fft_c2c(b, x, dims, norm, True)
    *leading, last = dims
    size = x.shape[last]
    if _fits(b, [size]):
        pair = [*leading[-1:], last] if leading and _fits(b, [x.shape[leading[-1]]]) else [last]
        images, order = _images(b, x, pair)
        real, imag = (_back(b, v, x.shape, order) for v in b.RFFT2D(images))
        leading = leading[: len(dims) - len(pair)]
    else:
        cosines, sines = (b.const(m) for m in _matrix(size, size // 2 + 1, size))
        real, imag = _along(b, x, last, cosines), b.NEGATE(_along(b, x, last, sines))
    real, imag = _transformed(b, (real, imag), leading, False)
    return Complex(*(_normed(b, v, x.shape, dims, norm) for v in (real, imag)))


@op("aten._fft_c2c.default", "complex._fft_c2c.default")
def fft_c2c(b: OpBuilder, x: Value | Complex, dims: Sequence[int], norm: int, forward: bool) -> Complex:
    dims = [d % len(x.shape) for d in dims]
    return Complex(*(_normed(b, v, x.shape, dims, norm) for v in _transformed(b, parts(b, x), dims, not forward)))


@op("complex._fft_c2r.default")
def fft_c2r(b: OpBuilder, x: Complex, dims: Sequence[int], norm: int, size: int) -> Value:
    """The spectrum is half of one that mirrors itself: the mirrored numbers count twice."""
    *leading, last = [d % x.real.rank for d in dims]
    half = size // 2 + 1
    real, imag = (b.slice_axis(v, last, 0, half) for v in _transformed(b, parts(b, x), leading, True))
    b.require(size <= _LARGEST, f"makes {size} real numbers of their spectrum, more than {_LARGEST}")
    cosines, sines = _matrix(half, size, size)
    times = torch.full((half, 1), 2.0)
    times[0] = 1.0
    if size % 2 == 0:
        times[-1] = 1.0
    y = b.SUB(*(_along(b, v, last, b.const(times * m)) for v, m in ((real, cosines), (imag, sines))))
    return _normed(b, y, y.shape, [*leading, last], norm)


# -- complex numbers --------------------------------------------------------------------------------


@op("complex.view_as_real.default")
def view_as_real(b: OpBuilder, x: Complex) -> Value:
    return stack(b, parts(b, x), -1)


@op("aten.view_as_complex.default")
def view_as_complex(b: OpBuilder, x: Value) -> Complex:
    x = b.real(x)
    return Complex(select(b, x, -1, 0), select(b, x, -1, 1))


@op("aten.complex.default")
def complex_(b: OpBuilder, real: Value, imag: Value) -> Complex:
    return Complex(b.real(real), b.real(imag))


@op("aten.polar.default")
def polar(b: OpBuilder, size: Value, angle: Value) -> Complex:
    return Complex(*(b.MUL(b.real(size), b.unary(name, angle)) for name in ("COS", "SIN")))


@op("complex.real.default")
def real(b: OpBuilder, x: Complex) -> Value:
    return x.real


@op("complex.imag.default")
def imag(b: OpBuilder, x: Complex) -> Value:
    return x.imag


@op("complex.abs.default")
def abs_(b: OpBuilder, x: Complex) -> Value:
    return b.binary("POW", b.ADD(b.MUL(x.real, x.real), b.MUL(x.imag, x.imag)), 0.5)


@op("complex.angle.default")
def angle(b: OpBuilder, x: Complex) -> Value:
    return b.aten.atan2(x.imag, x.real)


@op("complex._conj.default", "complex.conj_physical.default", "complex._conj_physical.default")
def conj(b: OpBuilder, x: Complex) -> Complex:
    return Complex(x.real, b.NEGATE(x.imag))


@op("complex.resolve_conj.default", "complex.resolve_neg.default")
def same(b: OpBuilder, x: Complex, **_: object) -> Complex:
    return x


@op("complex.add.Tensor")
def add(b: OpBuilder, x: Complex, y: Operand | Complex) -> Complex:
    return Complex(*(b.ADD(v, w) for v, w in zip(parts(b, x), parts(b, y), strict=True)))


@op("complex.sub.Tensor")
def sub(b: OpBuilder, x: Complex, y: Operand | Complex) -> Complex:
    return Complex(*(b.SUB(v, w) for v, w in zip(parts(b, x), parts(b, y), strict=True)))


@op("complex.mul.Tensor", "complex.mul.Scalar")
def mul(b: OpBuilder, x: Value | Complex, y: Operand | Complex) -> Complex:
    for one, factor in ((x, y), (y, x)):
        if not isinstance(factor, (Complex, complex)) and not is_complex(factor):  # by a real
            return Complex(*(b.MUL(part, factor) for part in parts(b, one)))
    (a, c), (d, e) = parts(b, x), parts(b, y)
    return Complex(b.SUB(b.MUL(a, d), b.MUL(c, e)), b.ADD(b.MUL(a, e), b.MUL(c, d)))
