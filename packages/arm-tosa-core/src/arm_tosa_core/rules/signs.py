"""Functions of the signs of two numbers."""

from __future__ import annotations

import math

import torch

from ..lowering.half_precision import sum_in_float32
from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Traits
from ..lowering.values import Operand, Value
from .functions import _atan

#: Beyond it tanh(d / 2) is 1 in 16 bits: ratios need not be told apart.
_FAR = 12.0
#: Stands for 0 under a logarithm.
_TINY = 1e-6


def _negative(b: OpBuilder, x: Value) -> Value:
    """Whether the sign of a number is set, which it may be of 0 too; the integers of quantized numbers have one 0."""
    below = b.compare("GREATER", 0, x)
    if x.quant is not None or not x.dtype.is_floating_point:
        return below
    return b.binary("LOGICAL_OR", below, b.compare("GREATER", 0, b.unary("RECIPROCAL", x)))


@op("aten.signbit.default", quant=Q.ARITHMETIC)
def signbit(b: OpBuilder, x: Value) -> Value:
    return _negative(b, x)


def _observed_copysign(b: CompositeBuilder[V], x: V, y: V | float) -> V:
    size = b.aten.abs(x)
    if isinstance(y, (int, float)):
        return b.aten.neg(size) if math.copysign(1.0, y) < 0 else size
    return b.aten.where(b.aten.lt(y, 0.0), b.aten.neg(size), size)


@op("aten.copysign.Tensor", "aten.copysign.Scalar", quant=Q.PIECEWISE, decomposition=_observed_copysign)
def copysign(b: OpBuilder, x: Value, y: Operand) -> Value:
    y = y if isinstance(y, (int, float)) else b.floating(y)
    size = b.aten.abs(b.floating(x))
    if isinstance(y, (int, float)):
        return b.aten.neg(size) if math.copysign(1.0, y) < 0 else size
    return b.SELECT(_negative(b, y), b.NEGATE(size), size)


def _observed_atan2(b: CompositeBuilder[V], y: V, x: V) -> V:
    """From the logarithm d of the ratio: a quotient has poles. atan(exp(d)) = pi / 4 + atan(tanh(d / 2))."""
    sizes = (b.aten.log(b.aten.clamp(b.aten.abs(v), _TINY, None)) for v in (y, x))
    ratio = b.aten.tanh(b.aten.mul(b.aten.clamp(b.aten.sub(*sizes), -_FAR, _FAR), 0.5))
    angle = b.aten.add(b.aten.atan(ratio), math.pi / 4)
    angle = b.aten.where(b.aten.lt(x, 0.0), b.aten.rsub(angle, math.pi), angle)
    return b.aten.where(b.aten.lt(y, 0.0), b.aten.neg(angle), angle)


@op("aten.atan2.default", quant=Q.PIECEWISE, decomposition=_observed_atan2, traits=Traits(promotes=True))
def atan2(b: OpBuilder, y: Value, x: Value) -> Value:
    return _angle(b, *b.operands(y, x))


@sum_in_float32
def _angle(b: OpBuilder, y: Value, x: Value) -> Value:
    """Of two numbers of one type."""
    y, x = (b.floating(b.real(v)) for v in (y, x))
    height, width = b.unary("ABS", y), b.unary("ABS", x)
    small, large = b.MINIMUM(height, width), b.MAXIMUM(height, width)
    nowhere = b.compare("EQUAL", large, 0.0)
    ratio = b.MUL(small, b.unary("RECIPROCAL", b.SELECT(nowhere, 1.0, large)))
    ratio = b.SELECT(b.compare("EQUAL", small, large), b.SELECT(nowhere, 0.0, 1.0), ratio)  # two infinities too
    angle = _atan(b, ratio)
    angle = b.SELECT(b.compare("GREATER", height, width), b.SUB(math.pi / 2, angle), angle)
    angle = b.SELECT(_negative(b, x), b.SUB(math.pi, angle), angle)
    return b.SELECT(_negative(b, y), b.NEGATE(angle), angle)


@op("aten.one_hot.default")
def one_hot(b: OpBuilder, indices: Value, classes: int) -> Value:
    places = b.RESHAPE(b.as_index_numbers(indices), [*indices.shape, 1])
    hit = b.compare("EQUAL", places, b.const(torch.arange(classes, dtype=torch.int32)))
    return b.cast(hit, torch.int64)
