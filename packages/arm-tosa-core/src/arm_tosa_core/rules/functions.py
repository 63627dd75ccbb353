"""Powers, roots and functions of one real."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from ..lowering.half_precision import in_float32
from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Traits
from ..lowering.values import Operand, Value
from .division import as_number
from .large_quotients import angle


def _observed_power(b: CompositeBuilder[V], x: V | float, exponent: V | float = 2) -> V:
    """Squares are products, whose operand and result may have more bits than those of a table; half a power is a root.

    Energies are made of both, and have 16 bits.
    """
    supported = not isinstance(x, (int, float)) and x.dtype.is_floating_point and exponent in (0.5, 2)
    b.require(supported, "is no square and no root of reals")
    return b.aten.sqrt(x) if exponent == 0.5 else b.aten.mul(x, x)


@op(
    "aten.pow.Tensor_Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.pow.Scalar",
    quant=Q.TABLE,
    decomposition=_observed_power,
    traits=Traits(promotes=True),
)
def pow_(b: OpBuilder, x: Operand, exponent: Operand) -> Value:
    number = as_number(exponent)
    b.require(isinstance(x, Value) or x >= 0, "raises a negative number to powers that are computed")
    if number is None and isinstance(exponent, Value):
        return _computed_power(b, *b.operands(x, exponent))
    if number is None or not number.is_integer() or not isinstance(x, Value):
        return b.binary("POW", x, exponent)
    # POW is undefined for negative bases; whole exponents are products
    if x.dtype in (torch.float16, torch.bfloat16):  # PyTorch rounds the result, not each product
        return b.cast(pow_(b, b.cast(x, torch.float32), number), x.dtype)
    n = abs(int(number))
    b.require(n <= 16, f"raises to the power {number}")
    result: Value | None = None
    base = x
    while n:
        if n & 1:
            result = base if result is None else b.wrapped("MUL", result, base)
        n >>= 1
        base = b.wrapped("MUL", base, base) if n else base
    if result is None:
        return b.const(torch.ones(x.shape, dtype=x.dtype))
    return b.unary("RECIPROCAL", result) if number < 0 else result


def _computed_power(b: OpBuilder, x: Value, y: Value) -> Value:
    """``x ** y`` of two tensors; POW is undefined for a base that is negative, and for 0 unless to a positive power.

    The sign of a zero is not told: -0.0 to the power -1 is inf.
    """
    if x.const is not None and bool((x.const > 0).all()):
        return b.binary("POW", x, y)
    b.require(x.dtype.is_floating_point, "raises integers to powers that are computed")
    zero, size = b.compare("EQUAL", x, 0), b.unary("ABS", x)
    power = b.binary("POW", b.SELECT(zero, 1.0, size), y)
    half = b.MUL(y, 0.5)
    is_whole, is_even = (b.compare("EQUAL", b.unary("FLOOR", v), v) for v in (y, half))
    turned = b.SELECT(is_whole, b.SELECT(is_even, power, b.NEGATE(power)), math.nan)
    power = b.SELECT(b.compare("GREATER", 0, x), turned, power)
    of_zero = b.SELECT(b.compare("GREATER", y, 0), 0.0, b.SELECT(b.compare("EQUAL", y, 0), power, math.inf))
    return b.SELECT(zero, of_zero, power)


@op("aten.sqrt.default", quant=Q.TABLE, traits=Traits(steep=True))
def sqrt(b: OpBuilder, x: Value) -> Value:
    return b.binary("POW", b.floating(b.real(x)), 0.5)


@op("aten.square.default", quant=Q.TABLE, decomposition=_observed_power)
def square(b: OpBuilder, x: Value) -> Value:
    return b.wrapped("MUL", x, x)


# -- functions of one real --------------------------------------------------------------------------

Function = Callable[[OpBuilder, Value], Value]


def polynomial(b: OpBuilder, x: Value, coefficients: Sequence[float]) -> Value:
    """``coefficients[0] + coefficients[1] * x + ...``."""
    result = b.MUL(x, coefficients[-1])
    for c in reversed(coefficients[1:-1]):
        result = b.MUL(b.ADD(result, c), x)
    return b.ADD(result, coefficients[0])


#: atan(x) / x and asin(x) / x in x * x, erfinv(x) / x in w - 2.5 and sqrt(w) - 3 for w = -log(1 - x * x): Chebyshev
#: interpolation over [0, 1], [0, 1/4], [0, 5] and [5, 17]; relative errors below 2e-7.
_ATAN = (
    0.999999998, -0.333332823, 0.199982306, -0.142615737, 0.10940199, -0.0837206395, 0.0574635578, -0.0307175089,
    0.0106807194, -0.00174370114,
)  # fmt: skip
_ASIN = (1.0, 0.166666572, 0.075005915, 0.044505242, 0.031884143, 0.014198828, 0.0378063615)
_ERFINV_MIDDLE = (
    1.50140936, 0.246640758, -0.00417738976, -0.00125374861, 0.000218346915, -4.38363159e-06, -3.46335617e-06,
    3.42524857e-07, 2.32858445e-08,
)  # fmt: skip
_ERFINV_TAIL = (
    2.83297706, 1.00167527, 0.00943308119, -0.00763948329, 0.005779413, -0.00361478121, 0.00125542725, 4.4777304e-05,
    -0.000126930092,
)  # fmt: skip


def _odd(function: Function) -> Function:
    """An odd function, from the one for positive numbers."""

    def both(b: OpBuilder, x: Value) -> Value:
        result = function(b, b.unary("ABS", x))
        return b.SELECT(b.compare("GREATER", 0.0, x), b.NEGATE(result), result)

    return both


def _atan(b: OpBuilder, x: Value) -> Value:
    small = b.MINIMUM(x, b.unary("RECIPROCAL", b.MAXIMUM(x, 1.0)))
    angle = b.MUL(small, polynomial(b, b.MUL(small, small), _ATAN))
    return b.SELECT(b.compare("GREATER", x, 1.0), b.SUB(math.pi / 2, angle), angle)


def _asin(b: OpBuilder, x: Value) -> Value:
    steep = b.compare("GREATER", x, 0.5)
    squared = b.SELECT(steep, b.MUL(b.SUB(1.0, x), 0.5), b.MUL(x, x))
    base = b.SELECT(steep, sqrt(b, squared), x)
    angle = b.MUL(base, polynomial(b, squared, _ASIN))
    return b.SELECT(steep, b.SUB(math.pi / 2, b.MUL(angle, 2.0)), angle)


def _erfinv(b: OpBuilder, x: Value) -> Value:
    size = b.unary("ABS", x)
    w = b.NEGATE(b.unary("LOG", b.MAXIMUM(b.SUB(1.0, b.MUL(x, x)), 2.0**-25)))  # 2**-24 is the least beside 0
    tail = polynomial(b, b.SUB(sqrt(b, w), 3.0), _ERFINV_TAIL)
    middle = polynomial(b, b.SUB(w, 2.5), _ERFINV_MIDDLE)
    inside = b.MUL(x, b.SELECT(b.compare("GREATER", w, 5.0), tail, middle))
    beyond = b.SELECT(b.compare("GREATER", size, 1.0), math.nan, b.MUL(x, math.inf))
    return b.SELECT(b.compare("GREATER", 1.0, size), inside, beyond)


def _exponentials(sign: int) -> Function:
    """``(exp(x) + sign * exp(-x)) / 2``."""

    def function(b: OpBuilder, x: Value) -> Value:
        up, down = b.unary("EXP", x), b.unary("EXP", b.NEGATE(x))
        return b.MUL(b.ADD(up, down) if sign > 0 else b.SUB(up, down), 0.5)

    return function


def _log(base: float) -> Function:
    return lambda b, x: b.MUL(b.unary("LOG", x), 1 / math.log(base))


def _inverse_hyperbolic(sign: float) -> Function:
    """``log(x + sqrt(x * x + sign))`` of positive numbers; of large ones, whose square overflows, ``log(2 * x)``."""

    def function(b: OpBuilder, x: Value) -> Value:
        small = b.unary("LOG", b.ADD(x, sqrt(b, b.ADD(b.MUL(x, x), sign))))
        return b.SELECT(b.compare("GREATER", x, 2.0**30), b.ADD(b.unary("LOG", x), math.log(2)), small)

    return function


def _acosh(b: OpBuilder, x: Value) -> Value:
    return b.SELECT(b.compare("GREATER", 1.0, x), math.nan, _inverse_hyperbolic(-1.0)(b, x))


def _atanh(b: OpBuilder, x: Value) -> Value:
    ratio = b.MUL(b.ADD(1.0, x), b.unary("RECIPROCAL", b.SUB(1.0, x)))
    return b.MUL(b.unary("LOG", ratio), 0.5)


def _tosa(name: str) -> Function:
    return lambda b, x: b.unary(name, x)


#: Functions that are one operator of TOSA's.
_TOSA = ("exp", "log", "rsqrt", "reciprocal", "erf", "sigmoid", "tanh")


def _of_angle(name: str) -> Function:
    return lambda b, x: b.clamp(b.unary(name, angle(b, x)), -1.0, 1.0)


def _tan(b: OpBuilder, x: Value) -> Value:
    x = angle(b, x)
    return b.MUL(b.unary("SIN", x), b.unary("RECIPROCAL", b.unary("COS", x)))


_FUNCTIONS: dict[str, Function] = {
    **{name: _tosa(name.upper()) for name in _TOSA},
    "sin": _of_angle("SIN"),
    "cos": _of_angle("COS"),
    "acos": lambda b, x: b.SUB(math.pi / 2, _odd(_asin)(b, x)),
    "acosh": _acosh,
    "asin": _odd(_asin),
    "asinh": _odd(_inverse_hyperbolic(1.0)),
    "atan": _odd(_atan),
    "atanh": _atanh,
    "cosh": _exponentials(1),
    "erfc": lambda b, x: b.SUB(1.0, b.unary("ERF", x)),
    "erfinv": _erfinv,
    "exp2": lambda b, x: b.unary("EXP", b.MUL(x, math.log(2))),
    "expm1": lambda b, x: b.SUB(b.unary("EXP", x), 1.0),
    "log10": _log(10),
    "log1p": lambda b, x: b.unary("LOG", b.ADD(x, 1.0)),
    "log2": _log(2),
    "sinh": _exponentials(-1),
    "tan": _tan,
}


#: Domains of functions that rounding of a quantized number may leave; 0 is always exact.
_DOMAINS = {
    "acos": (-1.0, 1.0),
    "acosh": (1.0, math.inf),
    "asin": (-1.0, 1.0),
    "atanh": (-1.0, 1.0),
    "erfinv": (-1.0, 1.0),
}
_POLES = frozenset({"rsqrt", "reciprocal", "log", "log2", "log10"})
#: Bounds of the results.
_REACHES = {
    **dict.fromkeys(("sin", "cos", "erf", "tanh"), (-1.0, 1.0)),
    "sigmoid": (0.0, 1.0),
    "atan": (-math.pi / 2, math.pi / 2),
}


def _declare_function(name: str, function: Function) -> None:
    traits = Traits(domain=_DOMAINS.get(name), reach=_REACHES.get(name), pole=name in _POLES)

    def rule(b: OpBuilder, x: Value) -> Value:
        return function(b, b.floating(b.real(x)))

    op(f"aten.{name}.default", quant=Q.TABLE, traits=traits)(rule if name in _TOSA else in_float32(rule))


for _name, _function in _FUNCTIONS.items():
    _declare_function(_name, _function)


@op("aten.logit.default", quant=Q.TABLE, traits=Traits(domain=(0.0, 1.0)))
def logit(b: OpBuilder, x: Value, eps: float | None = None) -> Value:
    x = b.floating(b.real(x))
    if eps is not None:
        x = b.clamp(x, eps, 1 - eps)
    return b.unary("LOG", b.MUL(x, b.unary("RECIPROCAL", b.SUB(1.0, x))))
