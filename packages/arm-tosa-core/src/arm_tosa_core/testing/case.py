"""An operator case: one row of data that feeds every test of the operator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

#: Ways to compute: float32, int8 activations and weights, int16 activations with int8 weights.
SCHEMES = ("fp32", "int8", "int16")
#: Those that compute on integers.
QUANTIZED = SCHEMES[1:]

#: The reason for which an operator that gives what it is given stays on the CPU.
HANDS_ON = "hands on what it is given as it is"


class Apply(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


@dataclass(frozen=True, eq=False)  # a case is equal to itself alone: functions have no other equality
class OpCase:
    """One variant of an operator.

    Args:
        name: ``operator/variant``.
        make: returns a function of tensors or a module; called with a fixed seed.
        inputs: per input a shape (normally distributed float32), or a function of a generator to a tensor.
        refuses: scheme to a part of the reason with which it must be refused. Other schemes must delegate all of it.
        needs_float: schemes in which a part computes in float: refused by targets that have integers only.
        coarse: how many quanta results of int16 may be off on a target with a rewrite that ``rounds``; else one.
        coarse_int8: how many those of int8 may be off: where a quotient makes more of the quantum by which a root of
            16 bits, a table with lines between its points, may be off.
        coarse_int16: how many those of int16 may be off on any target: where tables in several ranges add up, each of
            whole quanta.
        tolerance: relative and absolute, for float results.
    """

    name: str
    make: Callable[[], Any]
    inputs: Sequence[Any]
    refuses: Mapping[str, str] = field(default_factory=dict)
    needs_float: Collection[str] = ()
    coarse: int = 1
    coarse_int8: int = 1
    coarse_int16: int = 1
    tolerance: tuple[float, float] = (1e-4, 1e-5)

    def allowed(self, scheme: str, rounds: bool = False) -> int:
        """Quanta that integer results may be off in this scheme, on a target with a rewrite that rounds, or without."""
        if scheme == "int8":
            return self.coarse_int8
        return max(self.coarse if rounds else 1, self.coarse_int16) if scheme == "int16" else 1

    def module(self) -> torch.nn.Module:
        """The module, in eval mode, its parameters the same at every call."""
        torch.manual_seed(0)
        module = self.make()
        return (module if isinstance(module, torch.nn.Module) else Apply(module)).eval()

    def example(self, seed: int) -> tuple[torch.Tensor, ...]:
        """Inputs; equal seeds give equal tensors."""
        g = torch.Generator().manual_seed(seed)
        return tuple(i(g) if callable(i) else torch.randn(tuple(i), generator=g) for i in self.inputs)


def row(name: str, function: Callable[..., Any], inputs: Sequence[Any], *refuses: Any, **options: Any) -> OpCase:
    """The case of a function that is there already; other arguments as of ``OpCase``."""
    return OpCase(name, lambda: function, inputs, *refuses, **options)


def refused(reason: str) -> dict[str, str]:
    """``OpCase.refuses`` of what is refused in every scheme."""
    return dict.fromkeys(SCHEMES, reason)


def uniform(shape: Sequence[int], low: float, high: float) -> Callable[[torch.Generator], torch.Tensor]:
    """An input spread evenly between two numbers."""
    return lambda g: torch.rand(tuple(shape), generator=g) * (high - low) + low


def integers(
    shape: Sequence[int], low: int, high: int, dtype: torch.dtype = torch.int64
) -> Callable[[torch.Generator], torch.Tensor]:
    """An input of integers, ``low`` included, ``high`` not; ``torch.bool`` as a type gives truth values."""
    return lambda g: torch.randint(low, high, tuple(shape), generator=g).to(dtype)


def int32(shape: Sequence[int], low: int, high: int) -> Callable[[torch.Generator], torch.Tensor]:
    """``integers`` of this type."""
    return integers(shape, low, high, torch.int32)


def bools(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    """An input of truth values."""
    return integers(shape, 0, 2, torch.bool)


def half(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    """An input of float16, normally distributed."""
    return lambda g: torch.randn(shape, generator=g).half()


def channels_last(shape: Sequence[int]) -> Callable[[torch.Generator], torch.Tensor]:
    """An image that lies in memory with its channels last."""
    return lambda g: torch.randn(tuple(shape), generator=g).to(memory_format=torch.channels_last)
