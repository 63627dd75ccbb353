"""From reals to integers that stand for them, from one scale to another, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from ...support.errors import Rejected, require
from ...tosa.dtypes import torch_to_tosa, tosa_to_torch
from ...tosa.ir import DType, Tensor
from ..values import INTEGER_RANGES, QParams, Value, same_steps, unbounded
from .rescaling import REACH, Rescaling

#: Bits that operands of one int32 addition may use, so that the sum cannot overflow. RESCALE wants its operand below
#: 2**(shift - 1), which costs one more.
_ADD_BITS = 29
#: Up to which multiple of a scale float32 tells one from the next with bits to spare.
_MULTIPLES = 2**16
#: Of a multiplier of RESCALE, of 32 bits.
_LAST_BIT = 2.0**-31


class Inexact(Rejected):
    """Reals would be rounded to the steps of a quantized operand, and nothing asks for it.

    Args:
        averages: they are averages of the operand; else numbers beside it.
    """

    def __init__(self, averages: bool = False) -> None:
        self.averages = averages
        super().__init__(
            "has a result that is not quantized, and the target has integers only",
            "quantize the model, or remove the exclusion of this layer",
        )


class Quantization(Rescaling):
    """Changes of a value's ``QParams``: quantize, requantize, dequantize, and one scale for several values."""

    def quantize(self, value: Value, quant: QParams, dtype: torch.dtype) -> Value:
        """The value as integers of ``dtype`` with parameters ``quant``; applies pending bounds."""
        if value.const is not None:
            real = value.real()
            if value.clamp:
                real = real.clamp(*value.clamp)
            self.require_steps(real, quant)
            return self.const(quant.quantize(real).to(dtype), quant)
        if value.quant is not None and value.quant.run_time is not None:
            value = self.real(value)
        if quant.axis is not None:
            known = value.quant is not None and same_steps(value.quant, quant) and _holds(value.tensor, dtype)
            require(
                known and value.clamp is None,
                "quantizes computed numbers with a scale per channel",
                "quantize them with one scale: only weights may have several",
            )
            return value
        low, high = _integer_bounds(value.clamp, quant)
        if value.quant is None:
            tensor, perm = self._float_to_integer(value, quant, dtype), value.perm
        elif same_steps(value.quant, quant) and _holds(value.tensor, dtype):
            assert value.tensor is not None
            tensor, perm = value.tensor, value.perm
        elif self.exact_only:
            raise Inexact
        else:
            tensor, perm = self._requantize(value, quant, dtype)
        least, most = _reached(value.quant, quant, dtype)
        if low > least or high < most:
            tensor = self.emit("CLAMP", [tensor], min_val=low, max_val=high)
        return Value(value.shape, torch.float32, tensor, perm=perm, quant=quant)

    def require_one_scale(self, x: Value, *axes: int) -> None:
        """Refuses integers that stand for other numbers at each place of axes along which they are chosen or joined."""
        crossed = x.quant is not None and x.quant.axis in axes
        require(
            not crossed,
            "chooses or joins numbers along the axis of per-channel scales",
            "quantize its operand with one scale",
        )

    def require_steps(self, reals: torch.Tensor, quant: QParams) -> None:
        """Requires, where results have to be exact, that integers stand for these very numbers.

        Raises:
            Inexact: they do not.
        """
        if self.exact_only:
            wanted = reals.double()
            off = (quant.dequantize(quant.quantize(wanted)) - wanted).abs()
            near = off <= wanted.abs() * torch.finfo(torch.float32).eps
            if not bool((near & wanted.isfinite()).all()):
                raise Inexact

    def _requantize(self, value: Value, quant: QParams, dtype: torch.dtype) -> tuple[Tensor, tuple[int, ...] | None]:
        assert value.quant is not None
        if value.quant.qmax * max(value.quant.scale) / quant.scalar < REACH:
            value = self.movable(value)  # RESCALE has 15 bits of a factor from INT48, 31 from INT32
        assert value.quant is not None and value.tensor is not None
        perm, tensor = value.axes, value.tensor
        if value.quant.axis is not None and perm[value.quant.axis] != value.rank - 1:  # RESCALE wants channels last
            other_axes = [p for i, p in sorted(enumerate(perm), key=lambda ip: ip[1]) if i != value.quant.axis]
            order = [*other_axes, perm[value.quant.axis]]
            perm = tuple(order.index(p) for p in perm)
            tensor = self.tensor(value, perm)
        unit = quant.scalar
        factor = [s / unit for s in value.quant.scale]
        tensor, factor = self.within_reach(tensor, value.quant, factor)
        out = self.rescale(tensor, factor, torch_to_tosa(dtype), value.quant.zero_point, quant.zero_point)
        return out, perm

    def _float_to_integer(self, value: Value, quant: QParams, dtype: torch.dtype) -> Tensor:
        require(
            self.spec.support_float(),
            "quantizes a float input",
            "normal at the edge of a delegate: an integer-only target takes integers",
        )
        steps = self.elementwise("MUL", value, self._real_number(1.0 / quant.scalar))
        assert steps.tensor is not None
        low, high = float(quant.qmin - quant.zero_point), float(quant.qmax - quant.zero_point)
        steps = steps.replace(tensor=self.emit("CLAMP", [steps.tensor], min_val=low, max_val=high))
        if quant.zero_point:  # added to whole numbers, which float holds exactly: no tensor of INT32 is an operand
            whole = self.plain_cast(self.plain_cast(steps, torch.int32), torch.float32)
            steps = self.elementwise("ADD", whole, self._real_number(quant.zero_point))
        integers = self.plain_cast(steps, dtype).tensor
        assert integers is not None
        return integers

    def real(self, value: Value) -> Value:
        if value.quant is None:
            return self.apply_clamp(value)
        if value.quant.run_time is not None:
            return self._real_at_run_time(value, *value.quant.run_time)
        if value.const is not None:
            return self.const(value.real())
        require(
            self.spec.support_float(),
            "has a result that is not quantized, and the target has integers only",
            "quantize the model, or remove the exclusion of this layer",
        )
        value = self.movable(value)
        assert value.tensor is not None and value.quant is not None
        # Subtracted from whole numbers, which float holds exactly: integers are written once, and in few bytes.
        plain = Value(value.shape, tosa_to_torch(value.tensor.dtype), value.tensor, perm=value.perm)
        real = self.plain_cast(plain, torch.float32)
        if value.tensor.dtype != DType.INT32 and value.quant.zero_point:
            real = self.elementwise("SUB", real, self._real_number(value.quant.zero_point))
        scale = torch.tensor(value.quant.scale, dtype=torch.float32)
        axis = value.quant.axis
        scale = scale.reshape([-1 if i == axis else 1 for i in range(value.rank)]) if axis is not None else scale[0]
        real = self.elementwise("MUL", real, self.const(scale))
        return self.apply_clamp(real.replace(clamp=value.clamp))

    def _real_number(self, number: float) -> Value:
        return self.const(torch.tensor(number, dtype=torch.float32))

    def _real_at_run_time(self, value: Value, scale: Value, zero_point: Value) -> Value:
        value = self.apply_clamp(value)
        steps = self.plain_cast(value.replace(dtype=torch.int8, quant=None), torch.int32)
        steps = self.elementwise("SUB", steps, zero_point.replace(dtype=torch.int32))
        return self.elementwise("MUL", self.plain_cast(steps, torch.float32), scale)

    def movable(self, x: Value) -> Value:
        """A 48-bit accumulator, which TOSA cannot move, as one of 32 bits: the lowest bits go if its range needs it."""
        if x.tensor is None or x.tensor.dtype != DType.INT48:
            return x
        assert x.quant is not None
        drop = max(0, x.quant.bits - 32)
        low, high = x.quant.qmin >> drop, x.quant.qmax >> drop
        quant = replace(x.quant.scaled(2.0**drop), qmin=low, qmax=high)
        return x.replace(tensor=self.rescale(x.tensor, [2.0**-drop], DType.INT32), quant=quant)

    def apply_clamp(self, value: Value) -> Value:
        if value.clamp is None:
            return value
        low, high = value.clamp
        if value.const is not None:
            return self.const(value.real().clamp(low, high))
        assert value.tensor is not None
        if value.quant is None:
            tensor = self.emit("CLAMP", [value.tensor], min_val=low, max_val=high)
            return value.replace(tensor=tensor, clamp=None)
        require(value.quant.axis is None, "is used before it is quantized", "quantize the result of this layer")
        self.require_steps(torch.tensor(_binding(value.clamp, value.quant), dtype=torch.float64), value.quant)
        bounds = _integer_bounds(value.clamp, value.quant)
        if value.tensor.dtype in (DType.INT8, DType.INT16):
            tensor = self.emit("CLAMP", [value.tensor], min_val=bounds[0], max_val=bounds[1])
        else:
            tensor = value.tensor
            for name, bound in (("MAXIMUM", bounds[0]), ("MINIMUM", bounds[1])):
                tensor = self.emit(name, [tensor, self.int32(bound, value.rank)])
        return value.replace(tensor=tensor, clamp=None)

    def to_int16(self, value: Value, largest: float) -> Value:
        if value.quant is None or value.is_const:
            return value
        return self.quantize(value, QParams((largest / 32767,), 0, -32767, 32767), torch.int16)

    def centered(self, value: Value, bits: int = 31) -> Value:
        """Refuses to scale down integers that stand for themselves: the lost bits may be all there is."""
        value = self.apply_clamp(value)
        quant = value.quant
        assert quant is not None
        require(quant.axis is None, "is used before it is quantized", "quantize the result of this layer")
        low, high = quant.qmin - quant.zero_point, quant.qmax - quant.zero_point
        drop = max(0, width(low, high) - bits)
        require(
            not (drop and _is_plain(quant)),
            f"computes with integers up to {quant.qmax}, of which 32 bits hold no product and no sum",
            _NARROWER,
        )
        return self._to_scale(value, quant.scalar * 2.0**drop)

    def integers(self, value: Value) -> Value:
        return value.replace(dtype=torch.int32, quant=None)

    def reals(self, integers: Value, like: Value, *, steps: int = 1, terms: int = 1) -> Value:
        assert like.quant is not None
        low, high = (q * steps * terms for q in (like.quant.qmin, like.quant.qmax))
        if terms > 1:
            low, high = min(low, 0), max(high, 0)
        return integers.replace(dtype=torch.float32, quant=QParams((like.quant.scalar / steps,), 0, low, high))

    def shared(self, *values: Value) -> list[Value]:
        """Quantized values as int32 of one scale, with head-room for one addition.

        Constants that are not quantized are rounded to that scale, or to a multiple of another operand's that float32
        does not tell them from. Integers of any size beside reals are refused: 32 bits do not hold both.
        """
        values = tuple(self.aligned(*(self.apply_clamp(v) for v in values)))
        scale, bits, top = 0.0, 0, 0.0
        for v in values:
            if v.quant is not None:
                require(v.quant.axis is None, "is used before it is quantized")
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
            scale *= 2.0 ** -min(room, self.preferences.addition_shifts.get(bits, room))
        if any(_is_plain(q) for q in quants):
            steps = [1.0, max((q.scalar for q in quants if q.bits <= 16), default=1.0)]
            require(
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
        # A quantized constant is rescaled in the graph as well: it is smaller there, and both operands have
        # one type, which compilers add and multiply without a pass of their own for the RESCALE.
        factor = quant.scalar / scale
        tensor = self.tensor(value, value.axes)
        if tensor.dtype != DType.INT48 and factor != 1.0 and (quant.qmax - quant.zero_point) * factor >= REACH:
            factor *= 1 - _LAST_BIT  # a power of two reaches half as far as any other number below 1
        low, high = (math.floor((q - quant.zero_point) * factor) for q in (quant.qmin, quant.qmax))
        new = QParams((scale,), 0, low, high + 1 if factor != int(factor) else high)
        if tensor.dtype == DType.INT32 and quant.zero_point == 0 and factor == 1.0:
            return value
        return value.replace(
            tensor=self.rescale(tensor, [factor], DType.INT32, quant.zero_point), quant=new, const=None
        )


_NARROWER = "clamp the integers, or convert them to float outside"


def _on_grid(value: Value, quants: Sequence[QParams]) -> Value:
    """A constant as its multiple of a scale in float32: 1 is 255 / 255, though the scale differs from 1 / 255."""
    if value.const is None or value.quant is not None:
        return value
    numbers = value.const.double()
    for quant in quants:
        times = (numbers / quant.scalar).round()
        same = (times * quant.scalar - numbers).abs() <= numbers.abs() * torch.finfo(torch.float32).eps
        numbers = torch.where(same & (times.abs() <= _MULTIPLES), times * quant.scalar, numbers)
    return value.replace(const=numbers)


def _is_plain(quant: QParams) -> bool:
    """Whether integers stand for themselves as reals."""
    return quant.scale == (1.0,) and quant.run_time is None and quant.bits > 16


def width(low: int, high: int) -> int:
    """Bits of the range, the sign not counted."""
    return max(-low - 1, high).bit_length()


def _holds(tensor: Tensor | None, dtype: torch.dtype) -> bool:
    return tensor is not None and tensor.dtype == torch_to_tosa(dtype)


def _binding(clamp: tuple[float, float], quant: QParams) -> list[float]:
    """The bounds that some of the integers are beyond."""
    low, high = (float(quant.dequantize(torch.tensor(n))) for n in (quant.qmin, quant.qmax))
    return [*(clamp[:1] if clamp[0] > low else ()), *(clamp[1:] if clamp[1] < high else ())]


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
