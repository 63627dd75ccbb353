"""Quotients, whole quotients and remainders."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import cast

import torch

from ..lowering.half_precision import in_float32, sum_in_float32
from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Traits
from ..lowering.values import Operand, Value
from .elementwise import rounded, sign, truncated
from .large_quotients import rest

_LEAST = -(2**31)


def as_number(x: object) -> float | None:
    """A number, or a constant that is one; a size that varies is a number."""
    if isinstance(x, Value) and x.is_const and x.size == 1:
        return float(x.real())
    if isinstance(x, torch.SymInt | torch.SymFloat):
        return cast(float, x)
    return float(x) if isinstance(x, (int, float)) else None


@op("aten.div.Tensor", "aten.div.Scalar", quant=Q.PIECEWISE, traits=Traits(promotes=True))
def div(b: CompositeBuilder[V], x: V | float, y: V | float) -> V:
    number = as_number(y)
    b.require(number != 0, "divides by zero")
    return b.aten.mul(x, b.aten.reciprocal(y) if number is None else 1.0 / number)


def _observed_quotient(b: CompositeBuilder[V], x: V | float, y: V | float, *, rounding_mode: str | None) -> V:
    """A quotient of two tensors, in parts that are observed."""
    quotient = div(b, x, y)
    if rounding_mode is None:
        return quotient
    return b.aten.floor(quotient) if rounding_mode == "floor" else b.aten.trunc(quotient)


def _observed_rest(b: CompositeBuilder[V], x: V | float, y: V | float, *, rounding_mode: str) -> V:
    return b.aten.sub(x, b.aten.mul(_observed_quotient(b, x, y, rounding_mode=rounding_mode), y))


@op(
    "aten.div.Tensor_mode",
    "aten.div.Scalar_mode",
    quant=Q.STEPS,
    decomposition=_observed_quotient,
    traits=Traits(promotes=True),
)
def div_mode(b: OpBuilder, x: Operand, y: Operand, *, rounding_mode: str | None) -> Value:
    if rounding_mode is None:
        return div(b, x, y)
    whole = _whole_quotient(b, x, y, rounding_mode, partial(torch.div, rounding_mode=rounding_mode))
    if isinstance(x, Value) and rounding_mode == "floor" and (number := _real_divisor(b, x, y)) is not None:
        return _floor_of_real(b, x, number)
    return whole or _quotient(b, x, y, rounding_mode == "floor")[0]


@in_float32
def _floor_of_real(b: OpBuilder, x: Value, number: float) -> Value:
    """``floor(x / number)`` as PyTorch computes it: NaN for inf and NaN."""
    x = b.real_for_step_function(x)
    return rounded(b, b.MUL(b.SUB(x, _rest_of_real(b, x, number, True)), 1 / number))


@op(
    "aten.floor_divide.default",
    "aten.floor_divide.Scalar",
    quant=Q.STEPS,
    decomposition=partial(_observed_quotient, rounding_mode="floor"),
    traits=Traits(promotes=True),
)
def floor_divide(b: OpBuilder, x: Operand, y: Operand) -> Value:
    return div_mode(b, x, y, rounding_mode="floor")


@op(
    "aten.remainder.Scalar",
    "aten.remainder.Tensor",
    "aten.remainder.Scalar_Tensor",
    quant=Q.STEPS,
    decomposition=partial(_observed_rest, rounding_mode="floor"),
    traits=Traits(promotes=True),
)
def remainder(b: OpBuilder, x: Operand, y: Operand) -> Value:
    return _rest(b, x, y, "floor", torch.remainder)


@op(
    "aten.fmod.Scalar",
    "aten.fmod.Tensor",
    quant=Q.STEPS,
    decomposition=partial(_observed_rest, rounding_mode="trunc"),
    traits=Traits(promotes=True),
)
def fmod(b: OpBuilder, x: Operand, y: Operand) -> Value:
    return _rest(b, x, y, "trunc", torch.fmod)


def _rest(
    b: OpBuilder, x: Operand, y: Operand, mode: str, function: Callable[[torch.Tensor, float], torch.Tensor]
) -> Value:
    def exact(real: torch.Tensor, number: float) -> torch.Tensor:
        return torch.round((real.double() - function(real, number).double()) / number)

    quotient = _whole_quotient(b, x, y, mode, exact)
    if quotient is not None:
        return b.aten.sub(x, b.aten.mul(quotient, y))
    if isinstance(x, Value) and (number := _real_divisor(b, x, y)) is not None:
        return _rest_of_real(b, x, number, mode == "floor")
    return _quotient(b, x, y, mode == "floor")[1]


def _real_divisor(b: OpBuilder, x: Value, y: Operand) -> float | None:
    """The divisor of a real, rounded to its type; None if it is a tensor, tiny or infinite, or ``x`` is no real."""
    number = as_number(y)
    if number is None or not x.dtype.is_floating_point or b.can_round_in_integers(x):
        return None
    number = torch.tensor(number, dtype=x.dtype).item()  # as PyTorch rounds it
    return number if 2.0**-100 < abs(number) < math.inf else None


@in_float32
def _rest_of_real(b: OpBuilder, x: Value, number: float, floor: bool) -> Value:
    """``remainder`` (the number's sign) or ``fmod`` (the sign of x)."""
    residue = rest(b, b.real_for_step_function(x), number)
    if not floor:
        return residue
    opposite = b.compare("GREATER", 0.0, residue) if number > 0 else b.compare("GREATER", residue, 0.0)
    return b.SELECT(opposite, b.ADD(residue, number), residue)


def _whole_quotient(
    b: OpBuilder, x: Operand, y: Operand, mode: str, exact: Callable[[torch.Tensor, float], torch.Tensor]
) -> Value | None:
    """The whole quotient of a quantized value and a number, in integers; None where there is float, or no number."""
    number = as_number(y)
    if not number or not isinstance(x, Value) or not b.can_round_in_integers(x):
        return None
    return b.round_to_integer(x, mode, lambda real: exact(real, number), number)


def _turns(b: OpBuilder, x: Value, y: Value) -> Value | None:
    """Where int32 is divided by -1, for which the least number has no quotient; None: where it is not."""
    least, _ = x.bounds or (_LEAST, 0)
    if x.dtype != torch.int32 or least > _LEAST or (y.const is not None and not bool((y.const == -1).any())):
        return None
    return b.compare("EQUAL", y, -1) if y.const is None else b.const(y.const == -1)


def _quotient(b: OpBuilder, x: Operand, y: Operand, floor: bool) -> tuple[Value, Value]:
    """The whole quotient, rounded down or towards 0, and the remainder."""
    x, y = (b.real_for_step_function(v) for v in b.operands(x, y))
    return _whole_and_rest(b, x, y, floor)


@sum_in_float32
def _whole_and_rest(b: OpBuilder, x: Value, y: Value, floor: bool) -> tuple[Value, Value]:
    turns: Value | None = None
    if x.dtype in (torch.int8, torch.uint8, torch.int16) and not b.spec.support_integer():  # float32 holds them exactly
        dtype = x.dtype
        quotient, residue = _whole_and_rest(b, b.cast(x, torch.float32), b.cast(y, torch.float32), floor)
        return b.cast(quotient, dtype), b.cast(residue, dtype)
    if x.dtype.is_floating_point:
        quotient = truncated(b, b.MUL(x, b.unary("RECIPROCAL", y)))
        residue = b.SUB(x, b.MUL(quotient, y))
        # the reciprocal is rounded, so that 6 / 3 may have come out just below 2
        size, step = b.unary("ABS", y), b.MUL(sign(b, x), sign(b, y))
        quotient = b.ADD(quotient, b.SELECT(b.compare("GREATER_EQUAL", b.unary("ABS", residue), size), step, 0.0))
    else:
        turns = _turns(b, x, y)
        y = y if turns is None else b.SELECT(turns, b.scalar(1, y), y)
        quotient = b.INTDIV(x, y)
    residue = b.SUB(x, b.MUL(quotient, y))
    if floor:
        # without integers, comparisons are of floats, to which a CAST keeps signs and zeros
        comparable, divisor = (v if b.spec.support_integer() else b.floating(v) for v in (residue, y))
        crossed = b.binary("LOGICAL_XOR", b.compare("GREATER", 0, comparable), b.compare("GREATER", 0, divisor))
        down = b.binary("LOGICAL_AND", crossed, b.elementwise("LOGICAL_NOT", b.compare("EQUAL", comparable, 0)))
        one = down if b.spec.support_integer() else b.SELECT(down, b.scalar(1, comparable), b.scalar(0, comparable))
        quotient = b.SUB(quotient, b.cast(one, quotient.dtype))
        # quotient * y may leave int32, this does not
        more = b.SELECT(down, y, 0.0) if y.dtype.is_floating_point else b.MUL(b.cast(down, y.dtype), y)
        residue = b.ADD(residue, more)
    return quotient if turns is None else b.SELECT(turns, b.NEGATE(x), quotient), residue
