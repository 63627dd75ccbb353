"""RESCALE behind sums of 32 bits, as the kernels compute it: with the high halves of products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op, Tensor

from .chain import Chains, numbers

_Array = np.ndarray[Any, Any]
#: ``tosa_rescaled`` shifts right by 32 and from 1 to 31 more.
_LEAST_SHIFT, _MOST_SHIFT = 33, 63
#: A RESCALE by 1 has this multiplier, and its logarithm for a shift; one of a smaller shift multiplies by a power.
_ONE, _ONE_SHIFT = 1 << 30, 30


@dataclass(frozen=True)
class Scale:
    """``value -> (value << left) * multipliers >> 32 - shifts``, rounded as ``double_round`` says."""

    multipliers: _Array
    shifts: _Array
    left: int
    double_round: bool

    def fields(self, name: str) -> dict[str, int]:
        """Those of a ``struct tosa_scale``, of factors that are one for all channels."""
        return {
            f"{name}.left": self.left,
            f"{name}.multiplier": int(self.multipliers[0]),
            f"{name}.shift": int(self.shifts[0]),
        }


def scale_of(op: Op, bound: int) -> Scale | None:
    """The factors of a RESCALE in the form of the kernels, of int8 for shifts; None: it has none.

    Args:
        bound: the greatest magnitude of its operand, less its zero point.
    """
    if not op.attrs["scale32"] or op.attrs["rounding_mode"] == "INEXACT_ROUND":
        return None
    if not all(tensor.is_constant for tensor in op.inputs[1:]):
        return None
    double_round = op.attrs["rounding_mode"] == "DOUBLE_ROUND"
    multipliers = numbers(op.inputs[1])
    shifts = np.where(multipliers == 0, _LEAST_SHIFT, numbers(op.inputs[2]))
    left = max(0, _LEAST_SHIFT - int(shifts.min()))
    if (left and double_round) or int(shifts.max()) + left > _MOST_SHIFT or bound << left >= 2**31:
        return None
    if int(multipliers.min()) < 0:
        return None
    return Scale(multipliers.astype(np.int32), (32 - left - shifts).astype(np.int8), left, double_round)


def one_scale(op: Op, bound: int) -> Scale | None:
    """The same; None also where factors differ by channel, or are rounded twice."""
    scale = scale_of(op, bound)
    return scale if scale is not None and scale.multipliers.size == 1 and not scale.double_round else None


def power_of(rescale: Op) -> int | None:
    """The logarithm of a factor that is a power of two, at least 1; None: it is another."""
    multiplier, shift = (numbers(rescale.inputs[position]).tolist() for position in (1, 2))
    exact = multiplier == [_ONE] and len(shift) == 1 and shift[0] <= _ONE_SHIFT and rescale.attrs["scale32"]
    return _ONE_SHIFT - shift[0] if exact else None


def is_signed(op: Op) -> bool:
    """Whether a RESCALE makes signed numbers of signed ones."""
    return not op.attrs["input_unsigned"] and not op.attrs["output_unsigned"]


def zero_points(op: Op) -> tuple[int, int]:
    """Of the operand and of the result."""
    before, after = (int(numbers(op.inputs[position])[0]) for position in (3, 4))
    return before, after


def rescale_before(tensor: Tensor, chains: Chains) -> Op | None:
    """The RESCALE of int8 to int32 of which only this result is read."""
    op = tensor.producer
    if op is None or op.name != "RESCALE" or not chains.alone(tensor) or tensor.dtype is not DType.INT32:
        return None
    known = all(each.is_constant for each in op.inputs[1:]) and not op.inputs[0].is_constant
    signed = not op.attrs["input_unsigned"] and op.inputs[0].dtype is DType.INT8
    return op if known and signed and zero_points(op)[1] == 0 else None


def folded(biases: Tensor, weights: _Array, zero_point: int) -> _Array:
    """Biases of sums in which the operand's zero point is not taken off.

    Args:
        weights: a row for each output channel.
    """
    sums: _Array = weights.astype(np.int64).sum(1)
    return np.subtract(numbers(biases), zero_point * sums)


def fields_of(
    rescale: Op, bounds: tuple[int, int], biases: _Array, weights: _Array, greatest: int = 128
) -> dict[str, int | _Array] | None:
    """The fields of a ``struct tosa_rescale``; None: the kernels do not compute this one.

    Args:
        biases, weights: of the sums; ``weights`` has a row for each output channel.
        greatest: magnitude of a number that is multiplied with a weight.
    """
    count = len(weights)
    bound = int((np.abs(biases) + greatest * np.abs(weights.astype(np.int64)).sum(1)).max())
    scale = scale_of(rescale, bound)
    if scale is None or bound >= 2**31:
        return None
    fields: dict[str, int | _Array] = {
        "biases": biases.astype(np.int32),
        "multipliers": np.array(np.broadcast_to(scale.multipliers, count)),
        "shifts": np.array(np.broadcast_to(scale.shifts, count)),
        "left": scale.left,
        "double_round": int(scale.double_round),
        "zero_point": zero_points(rescale)[1],
        "least": bounds[0],
        "most": bounds[1],
    }
    return {f"rescale.{name}": value for name, value in fields.items()}
