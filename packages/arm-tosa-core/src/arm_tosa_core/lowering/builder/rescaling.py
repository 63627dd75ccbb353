"""RESCALE, and the zero points and unsigned types that only it knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ...support.errors import require
from ...tosa.dtypes import numpy_dtype
from ...tosa.ir import DType, Tensor
from ...tosa.scaling import multiplier_and_shift
from ..values import QParams, Value
from .emitter import Emitter

#: Largest product of a RESCALE, for any factor: TOSA 1.0 leaves operands from 2**(shift - 1) on undefined.
REACH = 2**29


class Rescaling(Emitter):
    """RESCALE on TOSA tensors."""

    def rescale(
        self, tensor: Tensor, factor: Sequence[float], dtype: DType, zero_point: int = 0, new_zero_point: int = 0
    ) -> Tensor:
        """``saturate((tensor - zero_point) * factor + new_zero_point)``; several factors: one per last axis."""
        wide = tensor.dtype != DType.INT48
        multiplier, shift = multiplier_and_shift(factor, 32 if wide else 16)
        inputs = [
            tensor,
            self.graph.constant(multiplier, DType.INT32 if wide else DType.INT16),
            self.graph.constant(shift, DType.INT8),
            self.zero_point(zero_point, tensor.dtype),
            self.zero_point(new_zero_point, dtype),
        ]
        return self.emit(
            "RESCALE",
            inputs,
            scale32=wide,
            rounding_mode="SINGLE_ROUND",
            per_channel=len(factor) > 1,
            input_unsigned=tensor.dtype == DType.UINT8,
            output_unsigned=dtype == DType.UINT8,
            output_dtype=dtype,
        )

    def signed(self, value: Value) -> Value:
        """uint8 as int8, 128 less: TOSA moves unsigned integers no more than it computes with them."""
        if value.const is not None:
            return self.const((value.const.to(torch.int16) - 128).to(torch.int8))
        assert value.tensor is not None
        tensor = value.tensor
        if tensor not in self._signed:
            self._signed[tensor] = self.rescale(tensor, [1.0], DType.INT8, 128)
        return value.replace(dtype=torch.int8, tensor=self._signed[tensor])

    def unsigned(self, tensor: Tensor) -> Tensor:
        """The inverse of ``signed``."""
        return tensor if tensor.dtype == DType.UINT8 else self.rescale(tensor, [1.0], DType.UINT8, 0, 128)

    def zero_point(self, number: int, dtype: DType) -> Tensor:
        """A zero-point operand: one element of type ``dtype``."""
        return self.graph.constant(np.array([number], numpy_dtype(dtype)), dtype)

    def within_reach(self, tensor: Tensor, quant: QParams, factor: list[float]) -> tuple[Tensor, list[float]]:
        """RESCALE's operand and factor such that their product stays below 2**29, for TOSA leaves the rest undefined.

        Larger numbers saturate in the result anyway.
        """
        top = max(quant.zero_point - quant.qmin - 1, quant.qmax - quant.zero_point)  # 2**(shift - 1) is even
        if tensor.dtype == DType.INT48 or top * max(factor) < REACH:
            return tensor, factor
        if top < 2**14:  # then a single step saturates 16 bits
            return tensor, [min(f, REACH / top) for f in factor]
        factor = [min(f, REACH / 2) for f in factor]
        require(tensor.dtype == DType.INT32, f"a rescale by {max(factor):g} is too large for TOSA's RESCALE")
        bound = np.clip([REACH / f - 1 for f in factor], 1, 2**31 - 1).astype(np.int32)
        bound = bound.reshape((1,) * (len(tensor.shape) - 1) + (-1,)) if tensor.shape else bound.reshape(())
        for name, limit in (("MAXIMUM", -bound), ("MINIMUM", bound)):
            tensor = self.emit(name, [tensor, self.graph.constant(limit, DType.INT32)])
        return tensor, factor
