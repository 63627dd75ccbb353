"""Whole numbers, of quantized reals and of fixed-point numbers: no interpolated table can follow their jumps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ...support.errors import Rejected, require
from ...tosa.ir import DType, Tensor
from ...tosa.scaling import multiplier_and_shift
from ..values import QParams, Value
from .interpolation import Array
from .quantization import Quantization
from .rescaling import REACH

_MODES = ("floor", "ceil", "trunc", "round")


class Rounding(Quantization):
    """Rounding to whole numbers."""

    def real_for_step_function(self, x: Value) -> Value:
        if x.quant is not None and not x.is_const and not self.spec.support_float():
            raise Rejected("jumps, which a table of 16 bits cannot follow", "quantize this layer to 8 bits")
        return self.real(x)

    def can_round_in_integers(self, x: object) -> bool:
        if not isinstance(x, Value) or x.is_const or x.quant is None or self.spec.support_float():
            return False
        return x.quant.axis is None and x.quant.run_time is None and x.quant.bits <= 16

    def signs(self, x: Value) -> Value:
        x = self.apply_clamp(x)
        assert x.quant is not None and x.tensor is not None
        out = self.rescale(x.tensor, [1.0], DType.INT32, x.quant.zero_point)
        for name, limit in (("MAXIMUM", -1), ("MINIMUM", 1)):
            out = self.emit(name, [out, self.int32(limit, x.rank)])
        return x.replace(tensor=out, quant=QParams((1.0,), 0, -1, 1))

    def round_to_integer(
        self, x: Value, mode: str, exact: Callable[[torch.Tensor], torch.Tensor], divisor: float = 1.0
    ) -> Value:
        """The quotient is kept with as many bits of fraction as come closest to the function.

        With too few, numbers count as whole that are only near, and with too many, numbers do not that float32 takes
        for whole. All integers agree for scales up to about 1/20; beyond, where reals go to thousands, a few beside a
        jump may not.
        """
        assert mode in _MODES and x.quant is not None
        x = self.apply_clamp(x)
        assert x.quant is not None and x.tensor is not None
        quant = x.quant
        integers = np.arange(quant.qmin, quant.qmax + 1, dtype=np.int64) - quant.zero_point
        with torch.no_grad():
            expected = exact(torch.from_numpy(integers).float() * quant.scalar).double().numpy()
        factor, turned = quant.scalar / abs(divisor), divisor < 0
        top = max(int(abs(integers).max()), 1) * factor
        tried = []
        for bits in range(1, 30):
            if max(top, 1.0) * 2.0 ** (bits + 1) >= REACH:
                break
            scaled = _rescaled(integers, factor * 2.0**bits) * (-1 if turned else 1)
            tried.append((int(np.count_nonzero(_rounded(scaled, bits, mode) != expected)), -bits))
        require(bool(tried), f"divides to {top:.3g}, which leaves no bits of fraction", "choose a larger divisor")
        bits = -min(tried)[1]
        scaled_tensor = self.rescale(x.tensor, [factor * 2.0**bits], DType.INT32, quant.zero_point)
        if turned:
            scaled_tensor = self.emit("SUB", [self.int32(0, x.rank), scaled_tensor])
        out = self._round(scaled_tensor, bits, mode)
        low, high = int(np.nanmin(expected)), int(np.nanmax(expected))
        return x.replace(tensor=out, quant=QParams((1.0,), 0, low, high))

    def to_fixed_point(self, x: Value, bits: int) -> Value:
        assert x.quant is not None
        low, high = ((q - x.quant.zero_point) * x.quant.scalar for q in (x.quant.qmin, x.quant.qmax))
        reach = max(-low, high) * 2.0**bits
        least = f"reaches {max(-low, high):.6g}, which leaves no {bits} bits of fraction"
        require(reach < REACH, least, "make its range smaller: clamp it before")
        quant = QParams((2.0**-bits,), 0, -REACH, REACH)
        return self.quantize(x, quant, torch.int32).replace(dtype=torch.int32, quant=None)

    def round_fixed_point(self, x: Value, bits: int, mode: str) -> Value:
        return self._of_int32(x, lambda tensor: self._round(tensor, bits, mode))

    def divide_rounding(self, x: Value, divisor: int) -> Value:
        return self._of_int32(x, lambda tensor: self.rescale(tensor, [1 / divisor], DType.INT32))

    def _of_int32(self, x: Value, function: Callable[[Tensor], Tensor]) -> Value:
        return x.replace(tensor=function(self.tensor(x, x.axes)), perm=x.axes, const=None)

    def _round(self, x: Tensor, bits: int, mode: str) -> Tensor:
        """Numbers with so many bits of fraction to whole ones; RESCALE rounds halves up."""

        def plus(tensor: Tensor, number: int) -> Tensor:
            return self.emit("ADD", [tensor, self.int32(number, x.rank)])

        def shifted(tensor: Tensor, by: int) -> Tensor:
            return self.rescale(tensor, [2.0**-by], DType.INT32)

        def floor(by: int) -> Tensor:
            return shifted(plus(x, -(1 << (by - 1))), by)

        def ceil() -> Tensor:
            return shifted(plus(x, (1 << (bits - 1)) - 1), bits)

        if mode == "floor":
            return floor(bits)
        if mode == "ceil":
            return ceil()
        if mode == "trunc":
            zero = self.int32(0, x.rank)
            return self.emit("ADD", [self.emit("MAXIMUM", [floor(bits), zero]), self.emit("MINIMUM", [ceil(), zero])])
        half = floor(bits + 1)
        odd = self.emit("SUB", [self.emit("SUB", [floor(bits), half]), half])
        return shifted(self.emit("ADD", [plus(x, -1), odd]), bits)


def _rescaled(x: Array, factor: float) -> Array:
    """RESCALE's results for integers."""
    multiplier, shift = (int(v[0]) for v in multiplier_and_shift([factor], 32))
    return (x * multiplier + (1 << (shift - 1))) >> shift


def _rounded(x: Array, bits: int, mode: str) -> Array:
    """The results of ``_round`` for integers."""
    down, up = x >> bits, -(-x >> bits)
    if mode == "trunc":
        return np.where(x < 0, up, down)
    if mode == "round":
        return (x - 1 + (down & 1) + (1 << (bits - 1))) >> bits
    return down if mode == "floor" else up
