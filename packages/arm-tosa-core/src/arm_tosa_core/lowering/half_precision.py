"""Functions that PyTorch computes in float32 where its numbers are of 16 bits, and rounds once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch

from .op_builder import CompositeBuilder
from .values import Value

_Rule = TypeVar("_Rule", bound=Callable[..., Any])
_HALVES = (torch.float16, torch.bfloat16)


def in_float32(rule: _Rule) -> _Rule:
    """The rule, with numbers of 16 bits widened before it and its results rounded after it.

    A square of float16 overflows from 256 on, and exp(x) + 1 is 1 from x = -8 down.
    """

    @functools.wraps(rule)
    def wide(b: CompositeBuilder[Any], x: Any, *rest: Any, **named: Any) -> Any:
        dtype = getattr(x, "dtype", None)
        if dtype not in _HALVES or named.get("dtype"):
            return rule(b, x, *rest, **named)
        return _widened(rule, dtype, b, (x, *rest), named)

    return cast(_Rule, wide)


def sum_in_float32(rule: _Rule) -> _Rule:
    """As ``in_float32``, for a rule whose operands PyTorch promotes: only where all tensors are of one 16-bit type.

    What is left of a difference of two products is their rounding, if they are rounded first.
    """

    @functools.wraps(rule)
    def wide(b: CompositeBuilder[Any], *given: Any, **named: Any) -> Any:
        dtypes = {v.dtype for v in (*given, *named.values()) if isinstance(getattr(v, "dtype", None), torch.dtype)}
        if len(dtypes) != 1 or not dtypes <= set(_HALVES):
            return rule(b, *given, **named)
        return _widened(rule, dtypes.pop(), b, given, named)

    return cast(_Rule, wide)


def number_in_float32(rule: _Rule) -> _Rule:
    """As ``in_float32``, where the second operand is a number that 16 bits hold badly: float16 has 1e5 as inf."""

    @functools.wraps(rule)
    def wide(b: CompositeBuilder[Any], x: Any, y: Any) -> Any:
        dtype, number = getattr(x, "dtype", None), _number(y)
        if dtype not in _HALVES or number is None or not _is_lost(number, dtype):
            return rule(b, x, y)
        return _widened(rule, dtype, b, (x, y), {})

    return cast(_Rule, wide)


def _number(operand: Any) -> float | None:
    """What the operand is where it is a number, not a tensor of 16 bits whose numbers are rounded already."""
    if isinstance(operand, Value) and operand.rank == 0 and operand.const is not None and operand.dtype not in _HALVES:
        return float(operand.const)
    return operand if isinstance(operand, (int, float)) else None


def _is_lost(number: float, dtype: torch.dtype) -> bool:
    error = abs(torch.tensor(number, dtype=dtype).item() - number)
    return math.isfinite(number) and error > torch.finfo(dtype).eps * abs(number)


def _widened(
    rule: Callable[..., Any],
    dtype: torch.dtype,
    b: CompositeBuilder[Any],
    given: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    def widened(v: Any) -> Any:
        return b.aten.to(v, torch.float32) if getattr(v, "dtype", None) in _HALVES else v

    made = rule(b, *map(widened, given), **{name: widened(v) for name, v in named.items()})
    if isinstance(made, tuple):
        return tuple(v if v is None else b.aten.to(v, dtype) for v in made)
    return b.aten.to(made, dtype)
