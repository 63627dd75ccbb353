"""Changes of type, as PyTorch has them."""

from __future__ import annotations

import torch

from ...support.errors import require
from ...tosa.ir import DType
from ..values import INTEGER_RANGES, QParams, Value
from .rescaling import Rescaling

#: The remedy for an int64 in a user's model.
NARROW = "cast the input to int32 in the model"
RANGES = INTEGER_RANGES | {torch.bool: (0, 1)}
#: Types whose numbers stand for reals as they are, beside quantized values and where there is no float.
EXACT = {dtype: RANGES[dtype] for dtype in (torch.bool, torch.int8, torch.uint8, torch.int16)}
#: Bounds of reals as int64: reals beyond int32 become its ends, not their lowest 32 bits.
SATURATED = (-(2**63), 2**63 - 1)
#: Types that have no arithmetic in TOSA.
SMALL_INTEGERS = (torch.bool, torch.int8, torch.uint8, torch.int16)


class Casts(Rescaling):
    """CAST, and its replacements for types that TOSA does not cast."""

    def cast(self, value: Value, dtype: torch.dtype) -> Value:
        source = value.dtype
        if source == dtype or value.is_const:
            return self.plain_cast(value, dtype)
        if source in RANGES and dtype == torch.float32 and not self.spec.support_float():
            return self.exact(value)
        if source == torch.uint8:
            return self.cast(self._to_int16(value), dtype)
        if dtype == torch.uint8:
            return self._to_uint8(value)
        if source == torch.bool and dtype.is_floating_point:  # the FP profile has no CAST from bool
            one, zero = (self.const(torch.tensor(n, dtype=dtype)) for n in (1, 0))
            return self.elementwise("SELECT", value, one, zero, dtype=dtype)
        if {source, dtype} == {torch.float16, torch.bfloat16}:
            return self.plain_cast(self.plain_cast(value, torch.float32), dtype)
        if source == torch.int64 and (dtype == torch.bool or dtype.is_floating_point):
            require(value.is_narrow, f"turns int64 numbers of unknown range into {dtype}", NARROW)
        result = self.plain_cast(value, dtype)
        if dtype == torch.int64:
            return result.replace(bounds=SATURATED if source.is_floating_point else value.bounds or RANGES[source])
        if dtype == torch.int32:
            known = value.bounds if source == torch.int64 else RANGES[source] if source in SMALL_INTEGERS else None
            return result.replace(bounds=known)
        return result.replace(bounds=None)

    def floating(self, value: Value) -> Value:
        return value if value.dtype.is_floating_point else self.cast(value, torch.float32)

    def exact(self, value: Value) -> Value:
        """Bools and small integers as reals: integers of scale 1."""
        if value.is_const:
            return self.plain_cast(value, torch.float32)
        low, high = RANGES[value.dtype]
        if value.dtype == torch.uint8:
            return self.signed(value).replace(dtype=torch.float32, quant=QParams((1.0,), -128, -128, 127))
        stored = self.plain_cast(value, torch.int8) if value.dtype == torch.bool else value
        return stored.replace(dtype=torch.float32, quant=QParams((1.0,), 0, low, high))

    def _to_int16(self, value: Value) -> Value:
        assert value.tensor is not None
        wide = self.rescale(value.tensor, [1.0], DType.INT16)
        return value.replace(dtype=torch.int16, tensor=wide, bounds=RANGES[torch.uint8])

    def _to_uint8(self, value: Value) -> Value:
        """The lowest eight bits, as PyTorch has them."""
        wide = self.cast(value, torch.int16)
        if value.dtype != torch.bool:
            wide = self.elementwise("BITWISE_AND", wide, self.scalar(255, wide))
        assert wide.tensor is not None
        return wide.replace(dtype=torch.uint8, tensor=self.rescale(wide.tensor, [1.0], DType.UINT8))
