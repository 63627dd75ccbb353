"""Functions that PyTorch computes in float32 where its numbers are of 16 bits, and rounds once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch

from .op_builder import CompositeBuilder

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

        def widened(given: Any) -> Any:
            return b.aten.to(given, torch.float32) if getattr(given, "dtype", None) in _HALVES else given

        made = rule(b, *(widened(v) for v in (x, *rest)), **{name: widened(v) for name, v in named.items()})
        if isinstance(made, tuple):
            return tuple(v if v is None else b.aten.to(v, dtype) for v in made)
        return b.aten.to(made, dtype)

    return cast(_Rule, wide)
