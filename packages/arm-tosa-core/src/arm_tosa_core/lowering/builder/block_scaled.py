"""Products of numbers of 4 to 8 bits that share a scale by blocks of 32: MXFP, of TOSA 1.1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from ...tosa.dtypes import numpy_dtype
from ...tosa.ir import DType, Tensor
from ..values import Value
from .emitter import Emitter


class BlockScaled(Emitter):
    """Blocks lie along the last axis; activations are cast at run time, weights are constants."""

    def MATMUL_T_BLOCK_SCALED(self, x: Value, weight: Value, scale: Value, dtype: DType) -> Value:
        operands = [*self._cast(x, dtype), *self._constants(weight, scale, dtype)]
        return self.value(self.emit("MATMUL_T_BLOCK_SCALED", operands), torch.float32)

    def CONV2D_BLOCK_SCALED(
        self,
        x: Value,
        weight: Value,
        scale: Value,
        bias: Value,
        dtype: DType,
        *,
        pad: Sequence[int],
        stride: Sequence[int],
        dilation: Sequence[int],
    ) -> Value:
        operands = [*self._cast(x, dtype), *self._constants(weight, scale, dtype), self.tensor(bias)]
        operands += [self.graph.shape(numbers) for numbers in (pad, stride, dilation)]
        return self.value(self.emit("CONV2D_BLOCK_SCALED", operands), torch.float32)

    def block_scaled(self, x: Value, dtype: DType) -> Value:
        """The numbers of a value as a cast to blocks rounds them, in float32."""
        cast = self.emit("CAST_FROM_BLOCK_SCALED", self._cast(x, dtype), output_dtype=DType.FP32)
        return self.value(cast, torch.float32)

    def block_scaled_weight(self, weight: Value, scale: Value, dtype: DType) -> Value:
        """The numbers of codes and scales, as a constant of float32."""
        codes, scales = (_array(v, t).astype(np.float32) for v, t in ((weight, dtype), (scale, DType.FP8UE8M0)))
        return self.const(torch.from_numpy(codes * scales.repeat(codes.shape[-1] // scales.shape[-1], -1)))

    def _cast(self, x: Value, dtype: DType) -> list[Tensor]:
        return self.emit_all("CAST_TO_BLOCK_SCALED", [self.tensor(x)], output_dtype=dtype)

    def _constants(self, weight: Value, scale: Value, dtype: DType) -> list[Tensor]:
        operands = ((weight, dtype), (scale, DType.FP8UE8M0))
        return [self.constant(v.shape, t, partial(_array, v, t)) for v, t in operands]


def _array(codes: Value, dtype: DType) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Codes, a byte each, as numbers of the type."""
    assert codes.const is not None
    return codes.const.contiguous().numpy().view(numpy_dtype(dtype))
