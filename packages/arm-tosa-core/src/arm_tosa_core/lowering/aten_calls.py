"""``b.aten`` of the builders: which overload a rule means that names an ATen operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import torch

from ..compat.torch import OpOverload, resolve_overload

T = TypeVar("T")

#: Runs an overload: with its arguments and keyword arguments, tensors as the builder has them.
Run = Callable[[OpOverload, Any, Any], Any]


class AtenCalls(Generic[T]):
    """Each attribute is the ATen operator of that name, run under a builder.

    ``b.aten.sum(x, [1])`` runs the overload that PyTorch calls for these arguments, ``aten.sum.dim_IntList``;
    ``b.aten.max.dim(x, 1)`` says which. What is run is the same under every builder.

    Args:
        run: the builder's own way to run an overload.
        fake: of a tensor as the builder has it, one with the same shape and dtype for PyTorch, which may be a meta
            tensor; of anything else, itself.
    """

    def __init__(self, run: Run, fake: Callable[[Any], Any]) -> None:
        self._run, self._fake = run, fake

    def __getattr__(self, name: str) -> OverloadCalls[T]:
        return OverloadCalls(getattr(torch.ops.aten, name), self._run, self._fake)


class OverloadCalls(Generic[T]):
    """An ATen operator under a builder; each attribute is one of its overloads."""

    def __init__(self, packet: Any, run: Run, fake: Callable[[Any], Any]) -> None:
        self._packet, self._run, self._fake = packet, run, fake

    def __getattr__(self, overload: str) -> Callable[..., T]:
        found: OpOverload = getattr(self._packet, overload)
        return lambda *args, **kwargs: self._run(found, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        fakes = map_arguments((args, kwargs), self._fake)
        result: T = self._run(resolve_overload(self._packet, *fakes), args, kwargs)
        return result


def map_arguments(value: Any, change: Callable[[Any], Any]) -> Any:
    """Arguments of an operator with each one changed, also those within lists, tuples and dictionaries."""
    if isinstance(value, (list, tuple)):
        return type(value)(map_arguments(v, change) for v in value)
    if isinstance(value, dict):
        return {k: map_arguments(v, change) for k, v in value.items()}
    return change(value)
