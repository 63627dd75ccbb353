"""CAST_TO_BLOCK_SCALED in PyTorch: the numbers of an activation once blocks of 32 share a scale."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import torch

from ...tosa.dtypes import numpy_dtype
from ...tosa.ir import DType

#: Exponents that the type of the scales, FP8UE8M0, has.
_LEAST, _GREATEST = -127, 127


def rounded_to_blocks(x: torch.Tensor, dtype: DType, size: int) -> torch.Tensor:
    """The numbers of ``x`` as blocks along the last axis hold them, in float32.

    The scale of a block is the least power of two with which its largest magnitude, rounded to ``dtype``, is a number
    of ``dtype``: the reference model of tosa-tools 2026.8 does so (``tests/rules/test_block_scaled.py`` compares).

    Args:
        x: finite reals; the last axis is a multiple of ``size``.
        dtype: FP4, FP6 or FP8.
        size: of a block.
    """
    kind = numpy_dtype(dtype)
    about = ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]
    top, greatest = np.frexp(float(about.max))  # 0.5 <= top < 1
    reals = x.detach().double().numpy().reshape(*x.shape[:-1], -1, size)
    fraction, exponent = np.frexp(np.abs(reals).max(-1, keepdims=True))
    steps = 2.0 ** (about.nmant + 1)
    overflows = np.rint(fraction * steps) / steps > top
    scale = np.clip(exponent - greatest + overflows, _LEAST, _GREATEST)
    most = float(about.max)
    codes = np.clip(np.ldexp(reals, -scale), -most, most).astype(np.float32).astype(kind)
    made = np.ldexp(codes.astype(np.float64), scale).astype(np.float32)
    return torch.from_numpy(made.reshape(x.shape))
