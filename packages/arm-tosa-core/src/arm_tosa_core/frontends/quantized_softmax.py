"""The softmax of a quantized file, in integers."""

from __future__ import annotations

import torch
from torch import Tensor

from ..compat.torch import register_quantized_decomposed

register_quantized_decomposed()

#: exp() of so much less than 0 is a step of an integer with 16 bits at most.
_FAR = 10.0


def softmax_in_parts(x: Tensor, axis: int, step: float | None) -> Tensor:
    """The softmax of what integers stand for: distances from the largest in their own steps, all else in 16 bits.

    Args:
        step: of the integers, if they have 8 bits.
    """
    distance = x - x.amax(axis, keepdim=True)
    distance = wide(distance, _FAR) if step is None else narrow(distance, step, 127)
    parts = wide(torch.exp(distance), 1.0)
    return parts * _reciprocal(parts.sum(axis, keepdim=True), x.shape[axis] + 0.5)


def _reciprocal(total: Tensor, most: float) -> Tensor:
    """Of numbers from 1 to ``most``: a table of 8 bits, and steps of Newton's, which cost less than one of 16 bits."""
    step = most / 255
    total, guess = wide(total, most), narrow(total, step, -128)
    if step / 2 > 0.8:  # the inverse of less is saturated
        guess = torch.clamp(guess, min=step / 2)
    found = wide(torch.reciprocal(guess), 1.25)
    error = step / 2 if step < 1 else max(0.5, 1 - 2 / step)  # of the guess, and its square of the next
    while error > 1e-3:
        found, error = wide(found * wide(2 - total * found, 2.0), 1.25), error * error
    return found


def wide(x: Tensor, most: float) -> Tensor:
    """An intermediate result, up to ``most`` from 0, in integers with 16 bits."""
    return rounded(x, most / 32767, 0, torch.int16)


def narrow(x: Tensor, scale: float, zero: int) -> Tensor:
    """An intermediate result in integers with 8 bits."""
    return rounded(x, scale, zero, torch.int8)


def rounded(x: Tensor, scale: float, zero: int, dtype: torch.dtype) -> Tensor:
    """An intermediate result in integers of a type."""
    ends = torch.iinfo(dtype)
    integers = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero, ends.min, ends.max, dtype)
    made: Tensor = torch.ops.quantized_decomposed.dequantize_per_tensor(
        integers, scale, zero, ends.min, ends.max, dtype
    )
    return made
