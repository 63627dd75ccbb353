"""Sums, means, extremes and their places along axes."""

from __future__ import annotations

from functools import partial
from math import prod

import torch

from ...support.errors import Rejected, require
from ..values import QParams, Value
from .arithmetic import Arithmetic
from .data_movement import DataMovement
from .halves import Halves
from .quantization import width


class Reductions(Arithmetic, DataMovement):
    """REDUCE_SUM and its kin, ARGMAX."""

    def reduce(self, name: str, x: Value, axis: int) -> Value:
        quant = x.quant
        if quant is None or name in ("REDUCE_MAX", "REDUCE_MIN"):
            self.require_one_scale(x, axis)
            x = self.apply_clamp(x)
        else:
            require(name == "REDUCE_SUM", f"{name} needs FP: it has no integer form")
            n = x.shape[axis]
            if (most := self._most_terms(x)) < n:
                return self._sum_of_parts(x, axis, most)
            x = self.centered(x, 31 - (n - 1).bit_length())
            assert x.quant
            quant = QParams(x.quant.scale, 0, x.quant.qmin * n, x.quant.qmax * n)
        if x.shape[axis] == 1:
            return x  # Vela loses a REDUCE_MIN of one element where others read its operand
        if name == "REDUCE_SUM":
            self.require_sums(x, x.shape[axis])
            if self._sums_may_leave(x, x.shape[axis]):
                return Halves(self).total(x, axis, partial(self._reduced, name))
        result = self._reduced(name, x, axis)
        return result if quant is None else result.replace(quant=quant)

    def _reduced(self, name: str, x: Value, axis: int) -> Value:
        tensor = self.tensor(x, x.axes)
        return self.value(self.emit(name, [tensor], axis=x.axes[axis]), x.dtype, x.axes, x.quant)

    def _most_terms(self, x: Value) -> int:
        """How many numbers of 8 or 16 bits int32 adds up. Of others, which lose bits first, as many as there are."""
        assert x.quant is not None
        if x.quant.bits > 16 or x.quant.axis is not None:
            return x.size
        return 1 << 31 - width(x.quant.qmin - x.quant.zero_point, x.quant.qmax - x.quant.zero_point)

    def _sum_of_parts(self, x: Value, axis: int, most: int) -> Value:
        """Sums of parts lose bits, not the numbers: those would be rounded up more often than down."""
        n, most = x.shape[axis], most // 2  # the least shift of a RESCALE takes numbers of 31 bits
        sums = [
            self.reduce("REDUCE_SUM", self.slice_axis(x, axis, start, min(most, n - start)), axis)
            for start in range(0, n, most)
        ]
        return self.reduce("REDUCE_SUM", self.CONCAT([part.replace(quant=sums[0].quant) for part in sums], axis), axis)

    def mean(self, x: Value, axes: list[int]) -> Value:
        """Sums, and the division as a change of scale."""
        n = 1
        for axis in axes:
            n *= x.shape[axis]
            x = self.reduce("REDUCE_SUM", x, axis)
        return self.MUL(x, 1.0 / n) if n != 1 else x

    def require_sums(self, x: Value, count: int) -> None:
        """PyTorch makes int64 sums of any integers."""
        fits = x.dtype != torch.int64 or (x.bounds is not None and max(map(abs, x.bounds)) * count < 2**31)
        reason = "sums int64 numbers whose range is not known to fit int32"
        require(fits, reason, "give the sum dtype=torch.int32: of int32, too, PyTorch makes int64 sums otherwise")

    def _sums_may_leave(self, x: Value, count: int) -> bool:
        """Whether sums of so many plain int32 numbers may leave int32, on a target on which they do not wrap."""
        if self.preferences.wraps or x.dtype != torch.int32 or x.quant is not None:
            return False
        return x.bounds is None or max(map(abs, x.bounds)) * count >= 2**31

    def ARGMAX(self, x: Value, axis: int) -> Value:
        """ARGMAX; over the last of three axes if the target refuses the tensor's own shape."""
        self.require_one_scale(x, axis)
        x, last = self.apply_clamp(x), x.rank - 1
        try:
            out = self.emit("ARGMAX", [self.tensor(x)], axis=axis)
        except Rejected:
            if axis == last < 3:
                raise
            moved = self.TRANSPOSE(x, [*(i for i in range(x.rank) if i != axis), axis])
            rows = [prod(moved.shape[:-2]), *moved.shape[-2:]] if last else moved.shape
            out = self.emit("ARGMAX", [self.reshape(self.tensor(moved), rows)], axis=len(rows) - 1)
            out = self.reshape(out, moved.shape[:-1])
        return self.value(out, torch.int64, bounds=(0, x.shape[axis] - 1))
