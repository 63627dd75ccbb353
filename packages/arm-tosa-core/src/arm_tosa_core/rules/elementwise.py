"""Arithmetic, signs and steps."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..lowering.half_precision import number_in_float32, sum_in_float32
from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Traits
from ..lowering.values import Operand, Value
from ..support.errors import Rejected


@sum_in_float32
def _sum(b: OpBuilder, x: Operand, y: Operand, factor: float) -> Value:
    return b.wrapped("ADD", x, b.wrapped("MUL", y, factor))


@sum_in_float32
def _difference(b: OpBuilder, x: Operand, y: Operand, factor: float) -> Value:
    return b.wrapped("SUB", x, b.wrapped("MUL", y, factor))


def _factor(alpha: float, y: Operand) -> float:
    """A number rounded to the tensor's type, as PyTorch multiplies a tensor of floats by it."""
    floats = isinstance(y, Value) and y.dtype.is_floating_point and y.quant is None
    return torch.tensor(alpha, dtype=y.dtype).item() if isinstance(y, Value) and floats else alpha


@op("aten.add.Tensor", "aten.add.Scalar", quant=Q.ARITHMETIC, traits=Traits(arithmetic="add", promotes=True))
def add(b: OpBuilder, x: Operand, y: Operand, *, alpha: float = 1) -> Value:
    return b.wrapped("ADD", x, y) if alpha == 1 else _sum(b, x, y, _factor(alpha, y))


@op("aten.sub.Tensor", "aten.sub.Scalar", quant=Q.ARITHMETIC, traits=Traits(arithmetic="sub", promotes=True))
def sub(b: OpBuilder, x: Operand, y: Operand, *, alpha: float = 1) -> Value:
    return b.wrapped("SUB", x, y) if alpha == 1 else _difference(b, x, y, _factor(alpha, y))


@op("aten.rsub.Scalar", "aten.rsub.Tensor", quant=Q.ARITHMETIC)
def rsub(b: OpBuilder, x: Operand, y: Operand, alpha: float = 1) -> Value:
    return b.wrapped("SUB", y, x) if alpha == 1 else _difference(b, y, x, _factor(alpha, x))


@op("aten.mul.Tensor", "aten.mul.Scalar", quant=Q.PRODUCT, traits=Traits(arithmetic="mul", promotes=True))
@number_in_float32
def mul(b: OpBuilder, x: Operand, y: Operand) -> Value:
    return b.wrapped("MUL", x, y)


@op("aten.maximum.default", "aten.max.other", "aten.clamp_min.Tensor", quant=Q.ARITHMETIC, traits=Traits(promotes=True))
def maximum(b: OpBuilder, x: Operand, y: Operand) -> Value:
    return b.MAXIMUM(x, y)


@op("aten.minimum.default", "aten.min.other", "aten.clamp_max.Tensor", quant=Q.ARITHMETIC, traits=Traits(promotes=True))
def minimum(b: OpBuilder, x: Operand, y: Operand) -> Value:
    return b.MINIMUM(x, y)


@op("aten.lerp.Scalar", "aten.lerp.Tensor", quant=Q.PIECEWISE)
@sum_in_float32
def lerp(b: CompositeBuilder[V], x: V, y: V, weight: V | float) -> V:
    return b.aten.add(x, b.aten.mul(b.aten.sub(y, x), weight))


@op("aten.addcmul.default", quant=Q.PIECEWISE)
@sum_in_float32
def addcmul(b: CompositeBuilder[V], x: V, y: V, z: V, *, value: float = 1) -> V:
    product = b.aten.mul(y, z)
    return b.aten.add(x, product if value == 1 else b.aten.mul(product, value))


@op("aten.addcdiv.default", quant=Q.PIECEWISE)
@sum_in_float32
def addcdiv(b: CompositeBuilder[V], x: V, y: V, z: V, *, value: float = 1) -> V:
    return addcmul(b, x, y, b.aten.reciprocal(z), value=value)


@op("aten.hypot.default", quant=Q.PIECEWISE)
@sum_in_float32
def hypot(b: CompositeBuilder[V], x: V, y: V) -> V:
    return b.aten.sqrt(b.aten.add(b.aten.mul(x, x), b.aten.mul(y, y)))


# -- signs and steps --------------------------------------------------------------------------------


@op("aten.neg.default", quant=Q.TABLE)
def neg(b: OpBuilder, x: Value) -> Value:
    return b.NEGATE(x)


@op("aten.abs.default", quant=Q.TABLE)
def abs_(b: OpBuilder, x: Value) -> Value:
    if not x.dtype.is_signed:
        raise Rejected("gives numbers without a sign as they are", "leave it out")
    return b.unary("ABS", x) if x.dtype.is_floating_point else b.MAXIMUM(x, b.NEGATE(x))


@op("aten.sign.default", quant=Q.STEPS)
def sign(b: OpBuilder, x: Value) -> Value:
    if b.can_round_in_integers(x):
        return b.signs(x)
    x = b.real_for_step_function(x)
    negative = b.SELECT(b.compare("GREATER", 0, x), b.scalar(-1, x), b.scalar(0, x))
    return b.SELECT(b.compare("GREATER", x, 0), b.scalar(1, x), negative)


def _declare_step(name: str, function: Callable[[OpBuilder, Value], Value]) -> None:
    @op(f"aten.{name}.default", quant=Q.STEPS)
    def rule(b: OpBuilder, x: Value) -> Value:
        if not x.dtype.is_floating_point:
            return x
        if not b.can_round_in_integers(x):
            return function(b, b.real_for_step_function(x))
        if name == "frac":
            return b.SUB(x, b.round_to_integer(x, "trunc", torch.trunc))
        return b.round_to_integer(x, name, getattr(torch, name))


def rounded(b: OpBuilder, x: Value) -> Value:
    """The nearest whole number, ties to even, which is how CAST rounds."""
    limit = 1 / torch.finfo(x.dtype).eps  # beyond, numbers are whole already
    whole = b.cast(b.cast(b.clamp(x, -limit, limit), torch.int32), x.dtype)
    return b.SELECT(b.compare("GREATER_EQUAL", limit, b.unary("ABS", x)), whole, x)  # x of NaN


def truncated(b: OpBuilder, x: Value) -> Value:
    """Reals rounded towards 0."""
    return b.SELECT(b.compare("GREATER", 0.0, x), b.unary("CEIL", x), b.unary("FLOOR", x))


_declare_step("floor", lambda b, x: b.unary("FLOOR", x))
_declare_step("ceil", lambda b, x: b.unary("CEIL", x))
_declare_step("trunc", truncated)
_declare_step("frac", lambda b, x: b.SUB(x, truncated(b, x)))
_declare_step("round", rounded)
