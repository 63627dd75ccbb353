"""What rules compute with: a tensor, how its integers stand for reals, and in which order its axes lie in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from ..support.errors import require
from ..tosa.ir import Tensor

Axes = tuple[int, ...]

#: Quantized integer types and their ranges.
INTEGER_RANGES = {
    torch.int8: (-128, 127),
    torch.uint8: (0, 255),
    torch.int16: (-32768, 32767),
    torch.int32: (-(2**31), 2**31 - 1),
}

#: Numbers of this magnitude or more (it is the largest float16) may mean "infinite", as in attention masks.
UNBOUNDED = 65504.0
#: They do if they are this many times larger than the others, or this large.
_GAP, _CERTAIN = 64.0, 1e30


def of_type(number: float, dtype: torch.dtype) -> torch.Tensor:
    """A number as PyTorch takes it beside a tensor of a type: a whole number that integers do not hold wraps."""
    if isinstance(number, float) or dtype.is_floating_point or dtype.is_complex:
        return torch.tensor(number, dtype=dtype)
    return torch.tensor(number).to(dtype)


def unbounded(x: torch.Tensor, far: float = 0.0) -> torch.Tensor:
    """Which numbers of a tensor mean "infinite": they saturate, and do not stretch a scale.

    Args:
        far: a number that is known to mean so, if it lies far from the others, as do those near it; 0: there is none.
    """
    size = x.detach().abs()
    beyond = size >= least_unbounded(far)
    if not beyond.any():
        return beyond
    rest = size[~beyond]
    apart = rest.max() * _GAP <= size[beyond].min() if rest.numel() else far != 0
    return beyond if apart else size >= _CERTAIN


def least_unbounded(far: float) -> float:
    """From which magnitude on numbers may mean "infinite": see ``unbounded``."""
    return min(UNBOUNDED, abs(far) / 2) if far else UNBOUNDED


@dataclass(frozen=True)
class QParams:
    """``real = scale * (integer - zero_point)``.

    Args:
        scale: one positive number, or one per channel.
        zero_point: always 0 when there is a scale per channel.
        axis: the logical axis of the channels, or None.
        qmin, qmax: range of the integers.
        run_time: scale (float32) and zero point (int64) that the graph computes, one element each; ``scale`` and
            ``zero_point`` are 1 and 0 then.
    """

    scale: tuple[float, ...]
    zero_point: int
    qmin: int
    qmax: int
    axis: int | None = None
    run_time: tuple[Value, Value] | None = None

    @property
    def scalar(self) -> float:
        """The scale, where there is one for the whole tensor.

        Raises:
            Rejected: there are several.
        """
        require(len(self.scale) == 1, "needs one scale, and has one per channel", "quantize with one for the tensor")
        return self.scale[0]

    @property
    def bits(self) -> int:
        """Bits that hold the range as signed integers: 8 or 16 for activations, more for an accumulator."""
        return max(self.qmax, -self.qmin - 1).bit_length() + 1

    def scaled(self, factor: float | np.ndarray[Any, Any]) -> QParams:
        """The same integers, standing for ``factor`` times the reals; the factor is positive."""
        return replace(self, scale=tuple(float(s) for s in np.asarray(self.scale) * factor))

    def part(self, start: int, size: int) -> QParams:
        """Parameters of a slice along the channels."""
        return replace(self, scale=self.scale[start : start + size])

    def quantize(self, real: torch.Tensor) -> torch.Tensor:
        """Integers nearest to ``real`` (float64), saturated; per-channel scales along ``axis``."""
        return torch.clamp(torch.round(real.double() / self._scale(real.dim())) + self.zero_point, self.qmin, self.qmax)

    def dequantize(self, integers: torch.Tensor) -> torch.Tensor:
        """Reals (float64) of the integers."""
        return (integers.double() - self.zero_point) * self._scale(integers.dim())

    def _scale(self, rank: int) -> torch.Tensor:
        if self.axis is None:
            return torch.tensor(self.scalar, dtype=torch.float64)
        return torch.tensor(self.scale, dtype=torch.float64).reshape([-1 if i == self.axis else 1 for i in range(rank)])


def same_steps(a: QParams, b: QParams) -> bool:
    """Whether equal integers stand for equal reals."""
    return a.scale == b.scale and a.zero_point == b.zero_point and a.axis == b.axis


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the user's model, as the lowering has it.

    Args:
        shape: the shape that PyTorch sees (logical).
        dtype: the type that PyTorch sees; a quantized value stands for float32.
        tensor: the TOSA tensor, None for a constant that no operator has used yet.
        const: data of a constant, logical order; the integers, if quantized.
        perm: order of axes: logical axis ``i`` is axis ``perm[i]`` of ``tensor``. Transposes only change this;
            an operator that needs another order has one emitted.
        quant: how the integers stand for reals; None for a plain value.
        clamp: bounds (reals) not applied yet; the next requantization takes them for free.
        bounds: for int64 and int32 values, inclusive bounds that are known of the numbers; None if unknown.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    tensor: Tensor | None = None
    const: torch.Tensor | None = None
    perm: Axes | None = None
    quant: QParams | None = None
    clamp: tuple[float, float] | None = None
    bounds: tuple[int, int] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    def axis(self, dim: int) -> int:
        """The axis that an argument ``dim`` of PyTorch's means, from 0 on.

        Raises:
            Rejected: a scalar has none.
        """
        require(self.rank > 0, "takes an axis of a scalar")
        return dim % self.rank

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_const(self) -> bool:
        return self.const is not None

    @property
    def axes(self) -> Axes:
        """``perm``, spelled out."""
        return self.perm or tuple(range(self.rank))

    @property
    def is_narrow(self) -> bool:
        """Whether int64 numbers are known to fit int32."""
        low, high = INTEGER_RANGES[torch.int32]
        return self.bounds is not None and low <= self.bounds[0] and self.bounds[1] <= high

    def replace(self, **changes: Any) -> Value:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def real(self) -> torch.Tensor:
        """The numbers of a constant, dequantized if need be."""
        assert self.const is not None
        return self.const if self.quant is None else self.quant.dequantize(self.const).to(self.dtype)


#: An operand of arithmetic: a value, or a Python number.
Operand = Value | int | float | bool


@dataclass(frozen=True, eq=False)
class Complex:
    """A tensor of complex numbers, which TOSA has only as two tensors: it cannot enter or leave a graph."""

    real: Value
    imag: Value
    dtype: torch.dtype = field(default=torch.complex64, init=False)
    quant: None = field(default=None, init=False)
    is_const: bool = field(default=False, init=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape


def inverse(perm: Axes) -> Axes:
    """The permutation that undoes ``perm``."""
    result = [0] * len(perm)
    for i, p in enumerate(perm):
        result[p] = i
    return tuple(result)


def is_identity(perm: Axes) -> bool:
    return perm == tuple(range(len(perm)))


def moves_only_ones(shape: tuple[int, ...], perm: Axes) -> bool:
    """Whether a transpose leaves the order of elements as it is, so that a reshape does it."""
    kept = [p for p in perm if shape[p] != 1]
    return kept == sorted(kept)
