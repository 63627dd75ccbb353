"""Changes of scale: RESCALE, and the ways from reals to integers and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from ...tosa.ir import DType, Tensor
from ...tosa.scaling import multiplier_and_shift
from ..values import INTEGER_RANGES, QParams, Value, unbounded
from .core import Core

#: Bits that operands of one int32 addition may use, so that the sum cannot overflow. RESCALE wants its operand below
#: 2**(shift - 1), which costs one more.
_ADD_BITS = 29
#: Up to which multiple of a scale float32 tells one from the next with bits to spare.
_MULTIPLES = 2**16
#: Largest product of a RESCALE, for any factor: TOSA 1.0 leaves operands from 2**(shift - 1) on undefined.
_REACH = 2**29
#: Left shift of the operand with the larger scale, by bits. Any that leaves room is right; these are the ones of the
#: NPU's own addition, which Vela then uses instead of three operators.
_ADD_SHIFT = {8: 19, 16: 14}


class Rescale(Core):
    """RESCALE and everything that needs it."""

    def rescale(
        self,
        tensor: Tensor,
        factor: Sequence[float],
        dtype: DType,
        zero_point: int = 0,
        new_zero_point: int = 0,
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
        return value.but(dtype=torch.int8, tensor=self._signed[tensor])

    def unsigned(self, tensor: Tensor) -> Tensor:
        """The inverse of ``signed``."""
        return tensor if tensor.dtype == DType.UINT8 else self.rescale(tensor, [1.0], DType.UINT8, 0, 128)

    def zero_point(self, number: int, dtype: DType) -> Tensor:
        """A zero-point operand: one element of type ``dtype``."""
        from ...tosa.dtypes import numpy_dtype

        return self.graph.constant(np.array([number], numpy_dtype(dtype)), dtype)

    # -- quantized values -------------------------------------------------------------------------

    def quantize(self, value: Value, quant: QParams, dtype: torch.dtype) -> Value:
        """The value as integers of ``dtype`` with parameters ``quant``; applies pending bounds."""
        if value.const is not None:
            real = value.real()
            if value.clamp:
                real = real.clamp(*value.clamp)
            return self.const(quant.quantize(real).to(dtype), quant)
        if value.quant is not None and value.quant.run_time is not None:
            value = self.real(value)
        low, high = _integer_bounds(value.clamp, quant)
        if value.quant is None:
            tensor, perm = self._float_to_integer(value, quant, dtype), value.perm
        elif _same(value.quant, quant) and _holds(value.tensor, dtype):
            assert value.tensor is not None
            tensor, perm = value.tensor, value.perm
        else:
            tensor, perm = self._requantize(value, quant, dtype)
        least, most = _reached(value.quant, quant, dtype)
        if low > least or high < most:
            tensor = self.emit("CLAMP", [tensor], min_val=low, max_val=high)
        return Value(value.shape, torch.float32, tensor, perm=perm, quant=quant)

    def _requantize(self, value: Value, quant: QParams, dtype: torch.dtype) -> tuple[Tensor, tuple[int, ...] | None]:
        from ...tosa.dtypes import torch_to_tosa

        assert value.quant is not None
        if value.quant.qmax * max(value.quant.scale) / quant.scalar < _REACH:
            value = self.movable(value)  # RESCALE has 15 bits of a factor from INT48, 31 from INT32
        assert value.quant is not None and value.tensor is not None
        perm, tensor = value.axes, value.tensor
        if value.quant.axis is not None and perm[value.quant.axis] != value.rank - 1:  # RESCALE wants channels last
            rest = [p for i, p in sorted(enumerate(perm), key=lambda ip: ip[1]) if i != value.quant.axis]
            order = [*rest, perm[value.quant.axis]]
            perm = tuple(order.index(p) for p in perm)
            tensor = self.tensor(value, perm)
        factor = [s / quant.scalar for s in value.quant.scale]
        tensor, factor = self._within_reach(tensor, value.quant, factor)
        out = self.rescale(tensor, factor, torch_to_tosa(dtype), value.quant.zero_point, quant.zero_point)
        return out, perm

    def _within_reach(self, tensor: Tensor, quant: QParams, factor: list[float]) -> tuple[Tensor, list[float]]:
        """RESCALE's operand and factor such that their product stays below 2**29, for TOSA leaves the rest undefined.

        What reaches further saturates in the result anyway.
        """
        top = max(quant.zero_point - quant.qmin - 1, quant.qmax - quant.zero_point)  # 2**(shift - 1) is even
        if tensor.dtype == DType.INT48 or top * max(factor) < _REACH:
            return tensor, factor
        if top < 2**14:  # then a single step saturates 16 bits
            return tensor, [min(f, _REACH / top) for f in factor]
        factor = [min(f, _REACH / 2) for f in factor]
        self.require(tensor.dtype == DType.INT32, f"a rescale by {max(factor):g} is too large for TOSA's RESCALE")
        bound = np.clip([_REACH / f - 1 for f in factor], 1, 2**31 - 1).astype(np.int32)
        bound = bound.reshape((1,) * (len(tensor.shape) - 1) + (-1,)) if tensor.shape else bound.reshape(())
        for name, limit in (("MAXIMUM", -bound), ("MINIMUM", bound)):
            tensor = self.emit(name, [tensor, self.graph.constant(limit, DType.INT32)])
        return tensor, factor

    def _float_to_integer(self, value: Value, quant: QParams, dtype: torch.dtype) -> Tensor:
        self.require(
            self.spec.support_float(),
            "quantizes a float input",
            "normal at the edge of a delegate: an integer-only target takes integers",
        )
        from ...tosa.dtypes import torch_to_tosa

        scale = self.const(torch.tensor(1.0 / quant.scalar, dtype=torch.float32))
        steps = self.elementwise("MUL", value, scale)
        assert steps.tensor is not None
        low, high = float(quant.qmin - quant.zero_point), float(quant.qmax - quant.zero_point)
        steps = steps.but(tensor=self.emit("CLAMP", [steps.tensor], min_val=low, max_val=high))
        integers = self.cast(steps, torch.int32 if quant.zero_point else dtype).tensor
        assert integers is not None
        if not quant.zero_point:
            return integers
        return self.rescale(integers, [1.0], torch_to_tosa(dtype), 0, quant.zero_point)

    def real(self, value: Value) -> Value:
        """The value as floating point, dequantized if it is quantized."""
        if value.quant is None:
            return self.apply_clamp(value)
        if value.const is not None:
            return self.const(value.real())
        self.require(
            self.spec.support_float(),
            "has a result that is not quantized, and the target has integers only",
            "quantize the model, or remove the exclusion of this layer",
        )
        value = self.movable(value)
        assert value.tensor is not None and value.quant is not None
        tensor = value.tensor
        if tensor.dtype != DType.INT32 and value.quant.zero_point:
            tensor = self.rescale(tensor, [1.0], DType.INT32, value.quant.zero_point)
        plain = Value(value.shape, torch.int32, tensor, perm=value.perm)
        scale = torch.tensor(value.quant.scale, dtype=torch.float32)
        axis = value.quant.axis
        scale = scale.reshape([-1 if i == axis else 1 for i in range(value.rank)]) if axis is not None else scale[0]
        real = self.elementwise("MUL", self.cast(plain, torch.float32), self.const(scale))
        return self.apply_clamp(real.but(clamp=value.clamp))

    def movable(self, x: Value) -> Value:
        """A 48-bit accumulator, which TOSA cannot move, as one of 32 bits: the lowest bits go if its range needs it."""
        if x.tensor is None or x.tensor.dtype != DType.INT48:
            return x
        assert x.quant is not None
        drop = max(0, x.quant.bits - 32)
        low, high = x.quant.qmin >> drop, x.quant.qmax >> drop
        quant = replace(x.quant.scaled(2.0**drop), qmin=low, qmax=high)
        return x.but(tensor=self.rescale(x.tensor, [2.0**-drop], DType.INT32), quant=quant)

    def apply_clamp(self, value: Value) -> Value:
        """Emits the pending bounds of a value that is used before it is requantized."""
        if value.clamp is None:
            return value
        low, high = value.clamp
        if value.const is not None:
            return self.const(value.real().clamp(low, high))
        assert value.tensor is not None
        if value.quant is None:
            tensor = self.emit("CLAMP", [value.tensor], min_val=low, max_val=high)
            return value.but(tensor=tensor, clamp=None)
        self.require(value.quant.axis is None, "is used before it is quantized", "quantize the result of this layer")
        bounds = _integer_bounds(value.clamp, value.quant)
        if value.tensor.dtype in (DType.INT8, DType.INT16):
            tensor = self.emit("CLAMP", [value.tensor], min_val=bounds[0], max_val=bounds[1])
        else:
            tensor = value.tensor
            for name, bound in (("MAXIMUM", bounds[0]), ("MINIMUM", bounds[1])):
                one = self.graph.constant(np.full((1,) * value.rank, bound, np.int32), DType.INT32)
                tensor = self.emit(name, [tensor, one])
        return value.but(tensor=tensor, clamp=None)

    def to_int16(self, value: Value, largest: float) -> Value:
        if value.quant is None or value.is_const:
            return value
        return self.quantize(value, QParams((largest / 32767,), 0, -32767, 32767), torch.int16)

    # -- int32 operands ---------------------------------------------------------------------------

    def centered(self, value: Value, bits: int = 31) -> Value:
        """The integers as int32 with zero point 0, at most ``bits`` wide; scaled down if they are wider.

        Integers that stand for themselves are refused then: what is lost may be all there is.
        """
        value = self.apply_clamp(value)
        quant = value.quant
        assert quant is not None
        self.require(quant.axis is None, "is used before it is quantized", "quantize the result of this layer")
        low, high = quant.qmin - quant.zero_point, quant.qmax - quant.zero_point
        drop = max(0, _width(low, high) - bits)
        self.require(
            not (drop and _is_plain(quant)),
            f"computes with integers up to {quant.qmax}, of which 32 bits hold no product and no sum",
            _NARROWER,
        )
        return self._to_scale(value, quant.scalar * 2.0**drop)

    def integers(self, value: Value) -> Value:
        return value.but(dtype=torch.int32, quant=None)

    def reals(self, integers: Value, like: Value, *, steps: int = 1, terms: int = 1) -> Value:
        assert like.quant is not None
        low, high = (q * steps * terms for q in (like.quant.qmin, like.quant.qmax))
        if terms > 1:
            low, high = min(low, 0), max(high, 0)
        return integers.but(dtype=torch.float32, quant=QParams((like.quant.scalar / steps,), 0, low, high))

    def shared(self, *values: Value) -> list[Value]:
        """Quantized values as int32 of one scale, with head-room for one addition.

        Constants that are not quantized are rounded to that scale, or to a multiple of another operand's that float32
        does not tell them from. Integers of any size beside reals are refused: 32 bits do not hold both.
        """
        values = tuple(self.aligned(*(self.apply_clamp(v) for v in values)))
        scale, bits, top = 0.0, 0, 0.0
        for v in values:
            if v.quant is not None:
                self.require(v.quant.axis is None, "is used before it is quantized")
                low, high = v.quant.qmin - v.quant.zero_point, v.quant.qmax - v.quant.zero_point
                scale, bits = max(scale, v.quant.scalar), max(bits, v.quant.bits)
                top = max(top, max(abs(low), abs(high)) * v.quant.scalar)
            else:
                assert v.const is not None
                finite = v.const[~unbounded(v.const)].double()
                top = max(top, float(finite.abs().max()) if finite.numel() else 0.0)
        room = math.floor(_ADD_BITS - math.log2(max(top / scale, 1)))
        quants = [v.quant for v in values if v.quant]
        if len(quants) < len(values) or any(q.scalar != scale or q.bits > 16 for q in quants):
            scale *= 2.0 ** -min(room, _ADD_SHIFT.get(bits, room))
        if any(_is_plain(q) for q in quants):
            steps = [1.0, max((q.scalar for q in quants if q.bits <= 16), default=1.0)]
            self.require(
                scale <= min(steps),
                f"joins integers up to {max(q.qmax for q in quants if _is_plain(q))} with numbers in steps of "
                f"{min(steps):.3g}, which 32 bits do not hold",
                _NARROWER,
            )
        return [self._to_scale(_on_grid(v, quants), scale) for v in values]

    def _to_scale(self, value: Value, scale: float) -> Value:
        quant = value.quant
        if quant is None:
            quant = QParams((scale,), 0, -(2**_ADD_BITS), 2**_ADD_BITS)
            data = quant.quantize(value.real()).to(torch.int32)
            low, high = (int(data.min()), int(data.max())) if data.numel() else (0, 0)
            return self.const(data, QParams((scale,), 0, low, high))
        # A quantized constant is rescaled in the graph as well: it is smaller there, and Vela adds and multiplies
        # operands of one type without a pass of their own for the RESCALE.
        factor = quant.scalar / scale
        tensor = self.tensor(value, value.axes)
        low, high = (math.floor((q - quant.zero_point) * factor) for q in (quant.qmin, quant.qmax))
        new = QParams((scale,), 0, low, high + 1 if factor != int(factor) else high)
        if tensor.dtype == DType.INT32 and quant.zero_point == 0 and factor == 1.0:
            return value
        return value.but(tensor=self.rescale(tensor, [factor], DType.INT32, quant.zero_point), quant=new, const=None)


_NARROWER = "clamp the integers, or convert them to float outside"


def _on_grid(value: Value, quants: Sequence[QParams]) -> Value:
    """A constant as the multiple of a scale that it is in float32: 1 is 255 / 255, though the scale is not 1 / 255."""
    if value.const is None or value.quant is not None:
        return value
    numbers = value.const.double()
    for quant in quants:
        times = (numbers / quant.scalar).round()
        same = (times * quant.scalar - numbers).abs() <= numbers.abs() * torch.finfo(torch.float32).eps
        numbers = torch.where(same & (times.abs() <= _MULTIPLES), times * quant.scalar, numbers)
    return value.but(const=numbers)


def _is_plain(quant: QParams) -> bool:
    """Whether integers stand for themselves as reals."""
    return quant.scale == (1.0,) and quant.run_time is None and quant.bits > 16


def _width(low: int, high: int) -> int:
    """Bits of the range, the sign not counted."""
    return max(-low - 1, high).bit_length()


def _same(a: QParams, b: QParams) -> bool:
    return a.scale == b.scale and a.zero_point == b.zero_point and a.axis == b.axis


def _holds(tensor: Tensor | None, dtype: torch.dtype) -> bool:
    from ...tosa.dtypes import torch_to_tosa

    return tensor is not None and tensor.dtype == torch_to_tosa(dtype)


def _integer_bounds(clamp: tuple[float, float] | None, quant: QParams) -> tuple[int, int]:
    """Integers that bounds in reals become, within the range of the type."""
    if clamp is None:
        return quant.qmin, quant.qmax

    def integer(real: float) -> int:
        if math.isinf(real):
            return quant.qmax if real > 0 else quant.qmin
        return int(min(max(round(real / quant.scalar) + quant.zero_point, quant.qmin), quant.qmax))

    return integer(clamp[0]), integer(clamp[1])


def _reached(source: QParams | None, quant: QParams, dtype: torch.dtype) -> tuple[int, int]:
    """The smallest and the largest integer of ``dtype`` that a value becomes, by a RESCALE that knows no other bounds.

    Args:
        source: parameters of the value; None for reals, which are clamped before they are cast.
    """
    if source is None or dtype == torch.int32:  # which CLAMP does not take, and nothing fills
        return quant.qmin, quant.qmax
    least, most = INTEGER_RANGES[dtype]
    factor = max(source.scale) / quant.scalar
    low = math.floor((source.qmin - source.zero_point) * factor) + quant.zero_point
    high = math.ceil((source.qmax - source.zero_point) * factor) + quant.zero_point
    return max(least, low), min(most, high)
