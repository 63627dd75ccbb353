"""Scales as the integers that RESCALE takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..support.errors import Rejected
from .ir import Op


def multiplier_and_shift(scale: Sequence[float], bits: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """``scale`` as ``multiplier * 2**-shift`` (TOSA 1.0, section 2.11.2 "RESCALE" and 1.8 on scaling).

    Args:
        bits: 32 for multipliers in [2**30, 2**31), 16 for [2**14, 2**15).

    Raises:
        Rejected: a scale is not positive and finite, or too large for the smallest shift, 2.
    """
    scales = np.asarray(scale, np.float64)
    if not (valid := (scales > 0) & np.isfinite(scales)).all():
        wrong = float(scales[~valid][0])
        raise Rejected(f"a quantization scale is {wrong}", "calibrate with finite data that varies")
    mantissa, exponent = np.frexp(scales)
    multiplier = np.rint(mantissa * 2.0 ** (bits - 1)).astype(np.int64)
    shift = bits - 1 - exponent.astype(np.int64)
    full = multiplier == 2 ** (bits - 1)  # rounded up to the next power of two
    multiplier, shift = np.where(full, multiplier >> 1, multiplier), shift - full
    excess = np.maximum(shift - 62, 0)  # too small to matter bit by bit: keep the bits that the largest shift has
    multiplier, shift = multiplier >> np.minimum(excess, 31), shift - excess
    if (shift < 2).any():
        raise Rejected(f"a rescale by {scales[shift < 2][0]:g} is too large for TOSA's RESCALE")
    return multiplier.astype(np.int32 if bits == 32 else np.int16), shift.astype(np.int8)


def is_by_one(rescale: Op) -> bool:
    """Whether a RESCALE leaves the numbers as they are, but for zero points and saturation."""
    multiplier, shift = (x.data for x in rescale.inputs[1:3])
    if rescale.attrs["per_channel"] or multiplier is None or shift is None:
        return False
    return int(multiplier[0]) == 1 << int(shift[0])


def reciprocal(count: int) -> tuple[int, int]:
    """The multiplier and shift by which AVG_POOL2D divides (TOSA 1.0, 1.9.1: ``reciprocal_scale``)."""
    bits = (count - 1).bit_length()
    return ((1 << 30) + 1 << bits) // count, 30 + bits
