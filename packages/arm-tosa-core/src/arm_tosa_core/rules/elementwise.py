"""Arithmetic and functions of one operand."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..build import Builder
from ..build.core import Operand
from ..registry import Q, op
from ..values import Value


@op("aten.add.Tensor", "aten.add.Scalar", "aten.add_.Tensor", quant=Q.ARITHMETIC)
def add(b: Builder, x: Operand, y: Operand, *, alpha: float = 1) -> Value:
    return b.ADD(x, y if alpha == 1 else b.MUL(y, alpha))


@op("aten.sub.Tensor", "aten.sub.Scalar", "aten.sub_.Tensor", quant=Q.ARITHMETIC)
def sub(b: Builder, x: Operand, y: Operand, *, alpha: float = 1) -> Value:
    return b.SUB(x, y if alpha == 1 else b.MUL(y, alpha))


@op("aten.rsub.Scalar", "aten.rsub.Tensor", quant=Q.ARITHMETIC)
def rsub(b: Builder, x: Operand, y: Operand, alpha: float = 1) -> Value:
    return b.SUB(y, x if alpha == 1 else b.MUL(x, alpha))


@op("aten.mul.Tensor", "aten.mul.Scalar", "aten.mul_.Tensor", quant=Q.PRODUCT)
def mul(b: Builder, x: Operand, y: Operand) -> Value:
    return b.MUL(x, y)


@op("aten.div.Tensor", "aten.div.Scalar", quant=Q.PRODUCT)
def div(b: Builder, x: Operand, y: Operand) -> Value:
    divisor = y if isinstance(y, (int, float)) else float(y.real()) if y.is_const and y.size == 1 else None
    if divisor is not None:
        b.require(divisor != 0, "divides by zero")
        if isinstance(x, Value) and not x.dtype.is_floating_point:
            x = b.cast(x, torch.float32)
        return b.MUL(x, 1.0 / divisor)
    assert isinstance(y, Value)
    b.require(y.quant is None, "divides by a quantized tensor", "use our quantizer: it decomposes the division")
    if not y.dtype.is_floating_point:
        y = b.cast(y, torch.float32)
    return b.MUL(x, b.unary("RECIPROCAL", y))


@op("aten.neg.default", quant=Q.TABLE)
def neg(b: Builder, x: Value) -> Value:
    return b.NEGATE(x)


@op("aten.maximum.default", "aten.max.other", quant=Q.ARITHMETIC)
def maximum(b: Builder, x: Operand, y: Operand) -> Value:
    return b.MAXIMUM(x, y)


@op("aten.minimum.default", "aten.min.other", quant=Q.ARITHMETIC)
def minimum(b: Builder, x: Operand, y: Operand) -> Value:
    return b.MINIMUM(x, y)


def _declare_unary(name: str, tosa: str) -> None:
    @op(f"aten.{name}.default", f"aten.{name}_.default", quant=Q.TABLE)
    def rule(b: Builder, x: Value) -> Value:
        return b.unary(tosa, x)


for _name, _tosa in (
    ("abs", "ABS"),
    ("exp", "EXP"),
    ("log", "LOG"),
    ("rsqrt", "RSQRT"),
    ("reciprocal", "RECIPROCAL"),
    ("sin", "SIN"),
    ("cos", "COS"),
    ("erf", "ERF"),
    ("floor", "FLOOR"),
    ("ceil", "CEIL"),
    ("sigmoid", "SIGMOID"),
    ("tanh", "TANH"),
):
    _declare_unary(_name, _tosa)


@op("aten.sqrt.default", quant=Q.TABLE)
def sqrt(b: Builder, x: Value) -> Value:
    return b.plain("POW", b.real(x), 0.5)


@op("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar", quant=Q.TABLE)
def pow_(b: Builder, x: Operand, exponent: Operand) -> Value:
    number = (
        float(exponent.real()) if isinstance(exponent, Value) and exponent.is_const and exponent.size == 1 else exponent
    )
    if number == 2 and isinstance(x, Value):
        return b.MUL(x, x)
    if number == 1 and isinstance(x, Value):
        return x
    if isinstance(number, (int, float)) and number == int(number) and isinstance(x, Value):
        # POW is undefined for negative bases; whole exponents are products
        n = abs(int(number))
        b.require(n <= 16, f"raises to the power {number}")
        result: Value | None = None
        base = x
        while n:
            if n & 1:
                result = base if result is None else b.MUL(result, base)
            n >>= 1
            base = b.MUL(base, base) if n else base
        if result is None:
            return b.ADD(b.MUL(x, 0.0), 1.0)
        return b.unary("RECIPROCAL", result) if number < 0 else result
    return b.plain("POW", x, exponent)


@op("aten.log1p.default", quant=Q.TABLE)
def log1p(b: Builder, x: Value) -> Value:
    return b.unary("LOG", b.ADD(b.real(x), 1.0))


@op("aten.expm1.default", quant=Q.TABLE)
def expm1(b: Builder, x: Value) -> Value:
    return b.SUB(b.unary("EXP", x), 1.0)


@op("aten.round.default", quant=Q.TABLE)
def round_(b: Builder, x: Value) -> Value:
    # CAST rounds to nearest, ties to even, like PyTorch; beyond 2**23 a float32 is whole already
    x = b.real(x)
    whole = b.cast(b.cast(b.clamp(x, -(2.0**23), 2.0**23), torch.int32), x.dtype)
    return b.SELECT(b.compare("GREATER", b.unary("ABS", x), 2.0**23), x, whole)


@op("aten.sign.default", quant=Q.TABLE)
def sign(b: Builder, x: Value) -> Value:
    x = b.real(x)
    negative = b.SELECT(b.compare("GREATER", 0.0, x), b.scalar(-1, x), b.scalar(0, x))
    return b.SELECT(b.compare("GREATER", x, 0.0), b.scalar(1, x), negative)


@op("aten.square.default", quant=Q.TABLE)
def square(b: Builder, x: Value) -> Value:
    return b.MUL(x, x)


def exponential(base: float) -> Any:
    """A rule for ``base ** x``."""
    return lambda b, x: b.unary("EXP", b.MUL(b.real(x), math.log(base)))


op("aten.exp2.default", quant=Q.TABLE)(exponential(2.0))
