"""Functions of one quantized value, as tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...support.errors import Rejected, require
from ...tosa.dtypes import torch_to_tosa
from ...tosa.ir import DType, Tensor
from ..values import QParams, Value
from .interpolation import FINE_BITS, FORM_BITS, MORE_BITS, TABLE_BITS, Interpolation, interpolate
from .quantization import Quantization
from .wide_tables import ranges

#: The unit of an entry of a table of 16 bits, as a part of a quantum of 8 bits.
_FINER = 1 / 8
#: How far off, in quanta, such a table may be before its result is rounded.
_HALF = 1 / 2


class NotFollowed(Rejected):
    """Tables of 16 bits are off by more than roundings are, in too many places: the function bends too much."""


class Tables(Quantization):
    """TABLE of 8 bits, and of 16 bits with corrections of its lines (``interpolation``)."""

    def TABLE(
        self,
        x: Value,
        function: Callable[[torch.Tensor], torch.Tensor],
        quant: QParams,
        dtype: torch.dtype,
        precise: bool = False,
    ) -> Value:
        """Any function of one quantized value, as a table (TOSA 1.0, section 2.6.1 "TABLE").

        8 bits: an entry per integer. 16 bits: 513 points, 128 apart, and linear between. From 8 bits to more, the input
        is widened first; from 16 bits to 8, entries have three more bits, and a RESCALE rounds.

        Args:
            precise: from 16 bits to 16 or 32, parabolas between the points and entries with a fraction, so that nearly
                every result is the nearest integer; otherwise it is one of the two nearest.

        Raises:
            NotFollowed: the lines between the points are off by more than roundings are.
        """
        assert x.quant is not None
        if x.quant.axis is None and x.quant.bits > 16 and x.quant.run_time is None:
            return self._of_accumulator(x, function, quant, dtype)
        require(
            x.quant.axis is None and x.quant.bits in (8, 16), "takes an input that is not quantized to 8 or 16 bits"
        )
        require(dtype in (torch.int8, torch.int16, torch.int32), f"has a result of {dtype}")
        require(dtype != torch.int32 or quant.zero_point == 0, "has a result of 32 bits with a zero point")
        wide = x.quant.bits == 16 or dtype != torch.int8
        bounds = x.clamp  # of 8 bits they are free; the lines between entries of 16 bits would cut their corners
        x = self.apply_clamp(x) if wide else x.replace(clamp=None)
        assert x.quant is not None
        tensor, input_quant = self.tensor(x, x.axes), x.quant
        between = input_quant.bits == 16
        if wide and not between:
            tensor = self.rescale(tensor, [128.0], DType.INT16, input_quant.zero_point)
            input_quant = QParams((input_quant.scalar / 128,), 0, -32768, 32767)
        points = torch.arange(-32768, 32769) if wide else torch.arange(-128, 128)
        real = input_quant.dequantize(points).to(torch.float32)
        real = real if bounds is None else real.clamp(*bounds)
        result = torch.nan_to_num(function(real).double(), nan=0.0)
        if not wide:
            out = self._table(tensor, quant.quantize(result).numpy().astype(np.int8))
        elif dtype == torch.int16:
            values = (result / quant.scalar + quant.zero_point).numpy()
            tables = interpolate(values, quant.qmin, quant.qmax, between, precise)
            out = self._interpolated(tensor, tables, 1.0, DType.INT16)
        else:  # entries of another scale, and no zero point
            reach = float((result / quant.scalar).abs().max())  # a result of 32 bits is more than entries hold
            unit = max(reach / 32767, 1.0) if dtype == torch.int32 else _FINER
            values = (result / (quant.scalar * unit)).numpy()
            ends, limit = (-32768, 32767), 1.0
            if dtype == torch.int8:
                limit = _HALF / _FINER
                ends = (int((quant.qmin - quant.zero_point) / _FINER), int((quant.qmax - quant.zero_point) / _FINER))
            tables = interpolate(values, *ends, between, precise and dtype == torch.int32, limit)
            out = self._interpolated(tensor, tables, unit, torch_to_tosa(dtype), quant.zero_point)
        return self.value(out, torch.float32, x.axes, quant)

    def _of_accumulator(
        self, x: Value, function: Callable[[torch.Tensor], torch.Tensor], quant: QParams, dtype: torch.dtype
    ) -> Value:
        """A function of INT32, or INT48, in several ranges. A number beside its domain counts as 0, as by rounding."""
        require(dtype != torch.int32, f"has a result of {dtype} of an operand that is not quantized")
        low, high = x.clamp or (-math.inf, math.inf)
        above = None if high == math.inf else (-math.inf, high)  # one bound may be a corner of the tables, not both
        x = self.apply_clamp(self.movable(x.replace(clamp=above)))
        assert x.quant is not None
        source = x.quant
        unit = _FINER if dtype == torch.int8 else 1.0

        def values(integers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            real = source.dequantize(torch.from_numpy(integers)).clamp(min=low).to(torch.float32)
            at_zero = torch.nan_to_num(function(torch.zeros(1).clamp(min=low)).double(), nan=0.0)
            result = function(real).double()
            result = torch.where(result.isnan(), at_zero, result) / (quant.scalar * unit)
            return torch.nan_to_num(result).numpy()

        ends = (int((quant.qmin - quant.zero_point) / unit), int((quant.qmax - quant.zero_point) / unit))
        found = ranges(values, max(source.qmax, -source.qmin), ends)
        if found is None:
            raise NotFollowed("bends too much for tables of 32 bits", "give it an input of a smaller range")
        tensor = self.tensor(x, x.axes)
        total: Tensor | None = None
        for part in found:
            factor = [1 / part.step]
            near, factor = self.within_reach(tensor, source, factor)
            one = self._table(self.rescale(near, factor, DType.INT16), part.entries)
            total = one if total is None else self.emit("ADD", [total, one])
        assert total is not None
        out = self.rescale(total, [unit / 2**TABLE_BITS], torch_to_tosa(dtype), new_zero_point=quant.zero_point)
        return self.value(out, torch.float32, x.axes, quant)

    def _table(self, x: Tensor, entries: np.ndarray[Any, Any]) -> Tensor:
        return self.emit("TABLE", [x, self.graph.constant(entries, x.dtype)])

    def _interpolated(self, x: Tensor, tables: Interpolation, unit: float, dtype: DType, zero_point: int = 0) -> Tensor:
        """A function of INT16 by its tables, whose entries count in units of the result's quanta.

        A sum of several may have ``MORE_BITS`` more bits of fraction than a TABLE's result.
        """
        if tables.wrong:
            why = f"bends too much for tables of 16 bits: they are wrong at {tables.wrong} of the 65536 inputs"
            raise NotFollowed(why, "give it an input of a smaller range")
        out, step = self._table(x, tables.entries), tables.step
        more = MORE_BITS if tables.precise else 0
        out = self._shifted(out, more)
        corrections = [] if tables.fine is None else [self._table(x, tables.fine)]
        corrections += [] if tables.bend is None else [self._bent(x, tables.bend)]
        if corrections:  # of the same scale
            fraction = corrections[0] if len(corrections) == 1 else self.emit("ADD", corrections)
            factor = 2.0 ** (more - FINE_BITS)
            out = self.emit("ADD", [out, self.rescale(fraction, [factor], DType.INT32)])
        if tables.zooms and step > 1:  # they count in quanta
            out, step = self._shifted(out, step.bit_length() - 1), 1
        for centre, shift, bits, entries in tables.zooms:
            moved = x
            if centre:
                wide = self.rescale(x, [1.0], DType.INT32)
                moved = self.emit("SUB", [wide, self.int32(centre, x.rank)])
            near = self._table(self.rescale(moved, [2.0**shift], DType.INT16), entries)
            out = self.emit("ADD", [out, self._shifted(near, more - bits)])
        return self.rescale(out, [step * unit / 2 ** (TABLE_BITS + more)], dtype, new_zero_point=zero_point)

    def _bent(self, x: Tensor, bend: np.ndarray[Any, Any]) -> Tensor:
        """Parabolas between the points of tables, in ``2**-(TABLE_BITS + FINE_BITS)`` steps: a bend times a form.

        The form is a function of where x lies beside its nearest point; a TABLE has it at each of these 128 places.
        """
        wide = self.rescale(x, [1.0], DType.INT32)
        bits = self.int32(7, x.rank)
        nearest = self.emit("ARITHMETIC_RIGHT_SHIFT", [wide, bits], round=True)
        beside = self.emit("SUB", [wide, self.emit("LOGICAL_LEFT_SHIFT", [nearest, bits])])  # -64 to 63
        along = np.abs(np.arange(-256, 257)) / 512
        parabola = np.rint(4 * along * (1 - along) * 2**FORM_BITS).astype(np.int16)
        forms = (self._table(self.rescale(beside, [512.0], DType.INT16), parabola), self._table(x, bend))
        return self._times(*(self.rescale(t, [2.0**-TABLE_BITS], DType.INT16) for t in forms))

    def _times(self, x: Tensor, y: Tensor) -> Tensor:
        return self.emit("MUL", [x, y, self.graph.constant(np.zeros(1, np.int8), DType.INT8)])

    def _shifted(self, x: Tensor, bits: int) -> Tensor:
        """INT32 times a power of two: a MUL, for a RESCALE on its own can take several times as long."""
        return self._times(x, self.int32(2**bits, x.rank)) if bits else x
