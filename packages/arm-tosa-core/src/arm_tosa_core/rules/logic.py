"""Comparisons, logic, bits, choice and casts."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..build import Builder
from ..build.core import Operand
from ..registry import Q, op
from ..values import Value


def _declare_comparison(name: str, tosa: str, swapped: bool, negated: bool) -> None:
    @op(f"aten.{name}.Tensor", f"aten.{name}.Scalar", quant=Q.ARITHMETIC)
    def rule(b: Builder, x: Operand, y: Operand) -> Value:
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
    @op(*(f"aten.{name}.{o}" for o in (("default",) if as_bool else ("Tensor", "Scalar"))))
    def rule(b: Builder, x: Operand, y: Operand) -> Value:
        if as_bool:
            return b.plain(tosa, _truth(b, x), _truth(b, y))
        kinds = {v.dtype for v in (x, y) if isinstance(v, Value)}
        if kinds == {torch.bool}:
            return b.plain(tosa.replace("BITWISE", "LOGICAL"), x, y)
        b.require(torch.int64 not in kinds, "works on the bits of int64", "cast the input to int32 in the model")
        return b.plain(tosa, x, y)


def _truth(b: Builder, x: Any) -> Any:
    if not isinstance(x, Value) or x.dtype == torch.bool:
        return x
    return b.elementwise("LOGICAL_NOT", b.compare("EQUAL", x, 0))


for _name in ("and", "or", "xor"):
    _declare_binary(f"logical_{_name}", f"LOGICAL_{_name.upper()}", True)
    _declare_binary(f"bitwise_{_name}", f"BITWISE_{_name.upper()}", False)


@op("aten.logical_not.default")
def logical_not(b: Builder, x: Value) -> Value:
    return b.elementwise("LOGICAL_NOT", _truth(b, x))


@op("aten.bitwise_not.default")
def bitwise_not(b: Builder, x: Value) -> Value:
    b.require(x.dtype != torch.int64, "works on the bits of int64", "cast the input to int32 in the model")
    return b.elementwise("LOGICAL_NOT" if x.dtype == torch.bool else "BITWISE_NOT", x)


@op("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar", quant=Q.SHARED)
def where(b: Builder, condition: Value, x: Operand, y: Operand) -> Value:
    if not isinstance(x, Value) and not isinstance(y, Value):
        kind = torch.float32 if isinstance(x, float) or isinstance(y, float) else torch.int64
        x = b.const(torch.tensor(x, dtype=kind))
    return b.SELECT(condition, x, y)


@op("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", quant=Q.SHARED)
def masked_fill(b: Builder, x: Value, mask: Value, number: Operand) -> Value:
    if isinstance(number, Value) and number.is_const and number.size == 1:
        number = number.real().item()
    if isinstance(number, float) and math.isinf(number) and x.quant is not None:
        number = math.copysign(3.0e38, number)
    return b.SELECT(mask, number, x)


@op("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", quant=Q.SHARED)
def to(b: Builder, x: Value, *args: Any, dtype: torch.dtype | None = None, **_: Any) -> Value:
    wanted = dtype or next((a for a in args if isinstance(a, torch.dtype)), x.dtype)
    if wanted == x.dtype or (x.quant and wanted == torch.float32):
        return x
    x = b.real(x)
    if wanted == torch.bool:
        return _truth(b, x)  # type: ignore[no-any-return]
    if x.dtype.is_floating_point and not wanted.is_floating_point:  # PyTorch truncates, CAST rounds
        x = b.SELECT(b.compare("GREATER", 0.0, x), b.unary("CEIL", x), b.unary("FLOOR", x))
    return b.cast(x, wanted)


@op("aten.type_as.default", quant=Q.SHARED)
def type_as(b: Builder, x: Value, other: Value) -> Value:
    return to(b, x, dtype=other.dtype)
