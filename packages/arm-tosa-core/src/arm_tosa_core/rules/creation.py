"""Constants made from the shape of a tensor: PIECEWISE, so that nothing depends on its data.

Those without a tensor operand are evaluated by the lowering itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..lowering.op_builder import CompositeBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Traits
from ..lowering.values import of_type
from ..support.errors import require


def _declare(name: str, number: float) -> None:
    @op(f"aten.{name}_like.default", quant=Q.PIECEWISE, traits=Traits(fills=number))
    def like(b: CompositeBuilder[V], x: V, *, dtype: torch.dtype | None = None, **_: object) -> V:
        return full_like(b, x, number, dtype=dtype)

    @op(f"aten.new_{name}.default", quant=Q.PIECEWISE, traits=Traits(fills=number))
    def new(b: CompositeBuilder[V], x: V, shape: Sequence[int], *, dtype: torch.dtype | None = None, **_: object) -> V:
        return new_full(b, x, shape, number, dtype=dtype)


for _name, _number in (("zeros", 0), ("ones", 1)):
    _declare(_name, _number)


def _filled(b: CompositeBuilder[V], shape: Sequence[int], number: float, dtype: torch.dtype) -> V:
    require(all(isinstance(size, int) for size in shape), "fills a shape whose sizes vary")
    return b.const(torch.full(shape, of_type(number, dtype).item(), dtype=dtype))


@op("aten.full_like.default", quant=Q.PIECEWISE)
def full_like(b: CompositeBuilder[V], x: V, number: float, *, dtype: torch.dtype | None = None, **_: object) -> V:
    return _filled(b, x.shape, number, dtype or x.dtype)


@op("aten.new_full.default", quant=Q.PIECEWISE)
def new_full(
    b: CompositeBuilder[V], x: V, shape: Sequence[int], number: float, *, dtype: torch.dtype | None = None, **_: object
) -> V:
    return _filled(b, shape, number, dtype or x.dtype)


@op("aten.copy.default", quant=Q.PIECEWISE)
def copy(b: CompositeBuilder[V], x: V, source: V, non_blocking: bool = False) -> V:
    if source.dtype != x.dtype:
        source = b.aten.to(source, x.dtype)
    return b.aten.expand(source, x.shape)


@op("aten.fill.Scalar", "aten.fill.Tensor", quant=Q.PIECEWISE)
def fill(b: CompositeBuilder[V], x: V, number: V | float) -> V:
    if isinstance(number, (bool, int, float)):
        return _filled(b, x.shape, number, x.dtype)
    return copy(b, x, number)


@op("aten.zero.default", quant=Q.PIECEWISE)
def zero(b: CompositeBuilder[V], x: V) -> V:
    return fill(b, x, 0)
