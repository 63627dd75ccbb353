"""Comparisons, logic, bits, choice and casts."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Traits
from ..lowering.values import Complex, Operand, Value
from .elementwise import truncated


def _declare_comparison(name: str, tosa: str, swapped: bool, negated: bool) -> None:
    @op(f"aten.{name}.Tensor", f"aten.{name}.Scalar", quant=Q.ARITHMETIC, traits=Traits(compares=True))
    def rule(b: OpBuilder, x: Operand, y: Operand) -> Value:
        result = b.compare(tosa, y, x) if swapped else b.compare(tosa, x, y)
        return b.elementwise("LOGICAL_NOT", result) if negated else result


for _name, _tosa, _swapped, _negated in (
    ("eq", "EQUAL", False, False),
    ("ne", "EQUAL", False, True),
    ("gt", "GREATER", False, False),
    ("ge", "GREATER_EQUAL", False, False),
    ("lt", "GREATER", True, False),
    ("le", "GREATER_EQUAL", True, False),
):
    _declare_comparison(_name, _tosa, _swapped, _negated)


def _declare_binary(name: str, tosa: str, as_bool: bool) -> None:
    # floats are compared with 0 first
    @op(*([f"aten.{name}.default"] if as_bool else _bit_overloads(name)), quant=Q.ARITHMETIC if as_bool else Q.NONE)
    def rule(b: OpBuilder, x: Operand, y: Operand) -> Value:
        if as_bool:
            return b.binary(tosa, *(truth(b, v) if isinstance(v, Value) else bool(v) for v in (x, y)))
        x, y = b.operands(x, y)
        return b.binary(tosa.replace("BITWISE", "LOGICAL") if x.dtype == torch.bool else tosa, _bits(b, x), _bits(b, y))


def _bit_overloads(name: str) -> list[str]:
    return [f"aten.{n}.{o}" for n in (name, f"__{name.removeprefix('bitwise_')}__") for o in ("Tensor", "Scalar")]


def truth(b: OpBuilder, x: Value) -> Value:
    """Whether numbers are not 0."""
    if not x.dtype.is_floating_point:
        return b.cast(x, torch.bool)
    return b.elementwise("LOGICAL_NOT", b.compare("EQUAL", x, 0))


def _bits(b: OpBuilder, x: Value) -> Value:
    b.require(x.dtype != torch.int64, "works on the bits of int64", "cast the input to int32 in the model")
    return x


for _name in ("and", "or", "xor"):
    _declare_binary(f"logical_{_name}", f"LOGICAL_{_name.upper()}", True)
    _declare_binary(f"bitwise_{_name}", f"BITWISE_{_name.upper()}", False)


@op("aten.logical_not.default", quant=Q.ARITHMETIC)
def logical_not(b: OpBuilder, x: Value) -> Value:
    return b.elementwise("LOGICAL_NOT", truth(b, x))


@op("aten.bitwise_not.default")
def bitwise_not(b: OpBuilder, x: Value) -> Value:
    return b.elementwise("LOGICAL_NOT" if x.dtype == torch.bool else "BITWISE_NOT", _bits(b, x))


_Shift = Callable[[OpBuilder, Value, Value], Value]


def _shift(name: str, operator: str) -> Callable[[_Shift], _Shift]:
    """Declares a rule of two integers of one type. TOSA leaves shifts beyond the type's bits undefined."""
    overloads = (
        f"aten.{name}.Tensor",
        f"aten.{name}.Tensor_Scalar",
        f"aten.{operator}.Tensor",
        f"aten.{operator}.Scalar",
    )

    def declare(shift: _Shift) -> _Shift:
        @op(*overloads)
        def rule(b: OpBuilder, x: Value, n: Operand) -> Value:
            return shift(b, *(_bits(b, v) for v in b.operands(x, n)))

        return shift

    return declare


_LEFT, _RIGHT = "LOGICAL_LEFT_SHIFT", "ARITHMETIC_RIGHT_SHIFT"


@_shift("bitwise_left_shift", "__lshift__")
def left_shift(b: OpBuilder, x: Value, n: Value) -> Value:
    """A shift below 0, or by all bits of the type or more, gives 0, as in PyTorch."""
    bits = 8 * x.dtype.itemsize
    inside = _inside(n, bits)
    if inside is None:
        n, beyond = _within(b, n, bits)
        n, half = b.cast(n, x.dtype), b.cast(b.MUL(beyond, bits // 2), x.dtype)
    elif bool(inside.all()):
        return b.binary(_LEFT, x, n)
    else:
        assert n.const is not None
        n, half = b.const(n.const * inside), b.const((~inside).to(x.dtype) * (bits // 2))
    return b.binary(_LEFT, b.binary(_LEFT, b.binary(_LEFT, x, n), half), half)


@_shift("bitwise_right_shift", "__rshift__")
def right_shift(b: OpBuilder, x: Value, n: Value) -> Value:
    """A shift below 0, or by all bits of the type or more, gives the sign alone, as in PyTorch."""
    last = 8 * x.dtype.itemsize - 1
    inside = _inside(n, last + 1)
    if inside is None:
        n, beyond = _within(b, n, last + 1)
        return b.binary(_RIGHT, b.binary(_RIGHT, x, b.cast(n, x.dtype)), b.cast(b.MUL(beyond, last), x.dtype))
    assert n.const is not None
    return b.binary(_RIGHT, x, b.const(n.const.where(inside, last)))


def _inside(n: Value, bits: int) -> torch.Tensor | None:
    """Whether each constant number is from 0 to ``bits - 1``; None if the tensor is computed."""
    return None if n.const is None else (n.const >= 0) & (n.const < bits)


def _within(b: OpBuilder, n: Value, bits: int) -> tuple[Value, Value]:
    """Computed numbers bounded to a type's bits, and 1 where they are beyond, 0 elsewhere; of int32.

    By arithmetic, which every target has, in place of comparisons.
    """
    n = b.MINIMUM(b.MAXIMUM(b.cast(n, torch.int32), -1), bits)
    beyond = b.MAXIMUM(b.MAXIMUM(b.SUB(n, bits - 1), b.SUB(0, n)), 0)
    return b.MINIMUM(b.MAXIMUM(n, 0), bits - 1), beyond


@op("aten.isnan.default")
def isnan(b: OpBuilder, x: Value) -> Value:
    return b.elementwise("LOGICAL_NOT", b.compare("EQUAL", x, x))


@op("aten.isinf.default")
def isinf(b: OpBuilder, x: Value) -> Value:
    return b.compare("EQUAL", b.unary("ABS", x), math.inf)


@op(
    "aten.where.self",
    "aten.where.ScalarSelf",
    "aten.where.ScalarOther",
    "aten.where.Scalar",
    quant=Q.SHARED,
    traits=Traits(promotes=True, chooses=(0, 1, 2)),
)
def where(b: OpBuilder, condition: Value, x: Operand, y: Operand) -> Value:
    if not isinstance(x, Value) and not isinstance(y, Value):
        kind = torch.float32 if isinstance(x, float) or isinstance(y, float) else torch.int64
        x = b.const(torch.tensor(x, dtype=kind))
    return b.SELECT(condition, x, y)


@op("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", quant=Q.SHARED, traits=Traits(chooses=(1, 2, 0)))
def masked_fill(b: OpBuilder, x: Value, mask: Value, number: Operand) -> Value:
    if isinstance(number, Value) and number.is_const and number.size == 1:
        number = number.real().item()
    return b.SELECT(mask, number, x)


def _cast_back(b: CompositeBuilder[V], x: V, value: V, *_: object, **__: object) -> V:
    """The assignment to a cast that returned the tensor itself."""
    return value


@op(
    "aten._to_copy.default",
    "aten.to.dtype",
    "aten.to.dtype_layout",
    "aten.to.device",
    quant=Q.SHARED,
    traits=Traits(casts=True, assign=_cast_back),
)
def to(b: OpBuilder, x: Value, *args: object, dtype: torch.dtype | None = None, **_: object) -> Value | Complex:
    result_type = dtype or next((a for a in args if isinstance(a, torch.dtype)), x.dtype)
    if result_type == x.dtype or (x.quant and result_type == torch.float32):
        return x
    if result_type == torch.bool:
        return truth(b, x)
    if b.can_round_in_integers(x) and not (result_type.is_floating_point or result_type.is_complex):
        return b.cast(b.round_to_integer(x, "trunc", torch.trunc).replace(dtype=torch.int32, quant=None), result_type)
    x = b.real(x)
    if result_type.is_complex:
        return Complex(x, b.const(torch.zeros(x.shape, dtype=x.dtype)))
    if x.dtype.is_floating_point and not result_type.is_floating_point:  # PyTorch truncates, CAST rounds
        x = truncated(b, x)
    return b.cast(x, result_type)


@op("aten._assert_tensor_metadata.default", traits=Traits(asserts=True))
def assert_tensor_metadata(b: OpBuilder, x: Value, *_: object, **__: object) -> tuple[()]:
    return ()  # true since the export


@op("aten.type_as.default", quant=Q.SHARED, traits=Traits(casts=True))
def type_as(b: OpBuilder, x: Value, other: Value) -> Value | Complex:
    return to(b, x, dtype=other.dtype)
