"""One name for an operator, whichever dialect it comes from, and the overload that a rule means by it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar

import torch

from ..compat.executorch import aten_overload
from ..compat.torch import OpOverload, overload_named, resolve_overload, schema_of

#: The cast that programs have once they are functional, and that is inserted where delegates begin and end.
_CAST = "aten._to_copy.default"
#: Operators of ExecuTorch that take the order of axes in memory where ATen's take a memory format.
_ALIASES = {
    "dim_order_ops._to_dim_order_copy.default": _CAST,
    "dim_order_ops._clone_dim_order.default": "aten.clone.default",
    "dim_order_ops._empty_dim_order.default": "aten.empty.memory_format",
}


@cache
def canonical(target: Any) -> str:
    """The name of the operator that a node calls, with its overload: ``aten.add.Tensor``.

    Operators that compute the same have one name: the copying form of a view has that of the view
    (``aten.view.default`` for ``view_copy``), and an operator in place has that of the one that is not
    (``aten.add.Tensor`` for ``add_``: nodes that use its result say so). What is no operator has its function's name.
    """
    schema = schema_of(aten_overload(target))
    if schema is None:
        return str(getattr(target, "__name__", target))
    namespace, base = schema.name.split("::")
    if base.endswith("_copy") and _is_view(f"{namespace}::{base.removesuffix('_copy')}", schema.overload_name):
        base = base.removesuffix("_copy")
    if base.endswith("_") and not base.endswith("__"):
        base = base[:-1]
    name = f"{namespace}.{base}.{schema.overload_name or 'default'}"
    return _ALIASES.get(name, name)


def _is_view(name: str, overload: str) -> bool:
    """Whether there is such an operator, and it gives the memory of an operand."""
    schema = schema_of(overload_named(name, overload))
    return schema is not None and any(result.alias_info for result in schema.returns)


def is_cast(target: Any) -> bool:
    """Whether an operator is the cast of functional programs, in either dialect."""
    return canonical(target) == _CAST


@cache
def is_reproducible(target: Any) -> bool:
    """Whether an operator gives the same at every call: nothing random, nor what lies in memory, as ``empty`` does.

    Of control flow, whose graphs may have any operator, nothing is known.
    """
    if schema_of(target) is None:
        return False
    overload = aten_overload(target)
    unwritten = canonical(target).split(".")[1].startswith("empty")
    return not unwritten and torch.Tag.nondeterministic_seeded not in getattr(overload, "tags", ())


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
