"""Constants made from the shape of a tensor; those without a tensor operand are evaluated by the lowering itself."""

from __future__ import annotations

from typing import Any

import torch

from ..build import Builder
from ..registry import op
from ..values import Value


def _declare(name: str, number: float) -> None:
    @op(f"aten.{name}.default")
    def rule(b: Builder, x: Value, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
        return b.const(torch.full(x.shape, number, dtype=dtype or x.dtype))


for _name, _number in (("zeros_like", 0), ("ones_like", 1)):
    _declare(_name, _number)


@op("aten.full_like.default")
def full_like(b: Builder, x: Value, number: float, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return b.const(torch.full(x.shape, number, dtype=dtype or x.dtype))


@op("aten.new_zeros.default")
def new_zeros(b: Builder, x: Value, shape: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return b.const(torch.zeros(shape, dtype=dtype or x.dtype))


@op("aten.new_ones.default")
def new_ones(b: Builder, x: Value, shape: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return b.const(torch.ones(shape, dtype=dtype or x.dtype))


@op("aten.new_full.default")
def new_full(b: Builder, x: Value, shape: Any, number: float, *, dtype: torch.dtype | None = None, **_: Any) -> Value:
    return b.const(torch.full(shape, number, dtype=dtype or x.dtype))
