"""Constants made from the shape of a tensor: PIECEWISE, so that nothing depends on its data.

Those without a tensor operand are evaluated by the lowering itself.
"""

from __future__ import annotations

from typing import Any

import torch

from ..lower.op_builder import OpBuilder
from ..lower.registry import Q, op
from ..lower.values import Value


def _declare(name: str, number: float) -> None:
    @op(f"aten.{name}.default", quant=Q.PIECEWISE)
    def rule(b: OpBuilder, x: Value, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
        return b.const(torch.full(x.shape, number, dtype=dtype or x.dtype))


for _name, _number in (("zeros_like", 0), ("ones_like", 1)):
    _declare(_name, _number)


@op("aten.full_like.default", quant=Q.PIECEWISE)
def full_like(b: OpBuilder, x: Value, number: float, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return b.const(torch.full(x.shape, number, dtype=dtype or x.dtype))


@op("aten.new_zeros.default", quant=Q.PIECEWISE)
def new_zeros(b: OpBuilder, x: Value, shape: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return b.const(torch.zeros(shape, dtype=dtype or x.dtype))


@op("aten.new_ones.default", quant=Q.PIECEWISE)
def new_ones(b: OpBuilder, x: Value, shape: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return b.const(torch.ones(shape, dtype=dtype or x.dtype))


@op("aten.new_full.default", quant=Q.PIECEWISE)
def new_full(b: OpBuilder, x: Value, shape: Any, number: float, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return b.const(torch.full(shape, number, dtype=dtype or x.dtype))


@op("aten.copy.default", quant=Q.PIECEWISE)
def copy(b: Any, x: Value, source: Value, non_blocking: bool = False) -> Value:
    if source.dtype != x.dtype:
        source = b.aten.to(source, x.dtype)
    return b.aten.expand(source, x.shape)  # type: ignore[no-any-return]


@op("aten.fill.Scalar", "aten.fill.Tensor", quant=Q.PIECEWISE)
def fill(b: Any, x: Value, number: Value | float) -> Value:
    if isinstance(number, (bool, int, float)):
        return b.const(torch.full(x.shape, number, dtype=x.dtype))  # type: ignore[no-any-return]
    return copy(b, x, number)


@op("aten.zero.default", quant=Q.PIECEWISE)
def zero(b: Any, x: Value) -> Value:
    return fill(b, x, 0)
