"""Elementwise operators and reductions, on plain values and on quantized ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ...support.errors import Rejected
from ...tosa.dtypes import torch_to_tosa
from ...tosa.ir import DType
from ..values import INTEGER_RANGES, Operand, QParams, Value
from .rescale import Rescale

#: How quantized values are stored.
_INTEGERS = {DType.INT8: torch.int8, DType.INT16: torch.int16, DType.INT32: torch.int32}


class Elementwise(Rescale):
    """``b.ADD(x, y)`` and its like.

    Operands are values or Python numbers. On quantized values the arithmetic is done on int32 and the result
    carries the scale that it has; nothing is rounded to 8 bits until a quantize node asks for it.
    """

    def operands(self, *given: Operand) -> list[Value]:
        """Values of one type, promoted as PyTorch does; numbers become constants."""
        metas = [torch.empty(v.shape, dtype=v.dtype, device="meta") if isinstance(v, Value) else v for v in given]
        dtype = torch.result_type(*metas)  # type: ignore[arg-type]
        quantized = any(isinstance(v, Value) and v.quant for v in given)
        result = []
        for v in given:
            if not isinstance(v, Value):
                result.append(self.const(torch.tensor(v, dtype=dtype)))
            elif quantized and v.dtype in _EXACT:
                result.append(self._exact(v))
            else:
                result.append(v if v.dtype == dtype or v.quant else self.cast(v, dtype))
        return [_shrunk(v, [u.shape for u in result if not u.is_const]) for v in result]

    def cast(self, value: Value, dtype: torch.dtype) -> Value:
        """CAST between plain types, rounding reals to the nearest integer; int64 is int32 with known ``bounds``."""
        source = value.dtype
        if source == dtype or value.is_const:
            return super().cast(value, dtype)
        if source in _RANGES and dtype == torch.float32 and not self.spec.support_float():
            return self._exact(value)
        if source == torch.uint8:
            return self.cast(self._to_int16(value), dtype)
        if dtype == torch.uint8:
            return self._to_uint8(value)
        if source == torch.bool and dtype.is_floating_point:  # the FP profile has no CAST from bool
            one, zero = (self.const(torch.tensor(n, dtype=dtype)) for n in (1, 0))
            return self.SELECT(value, one, zero)
        if {source, dtype} == {torch.float16, torch.bfloat16}:
            return super().cast(super().cast(value, torch.float32), dtype)
        if source == torch.int64 and (dtype == torch.bool or dtype.is_floating_point):
            self.require(value.bounds is not None, f"turns int64 numbers of unknown range into {dtype}", _NARROW)
        result = super().cast(value, dtype)
        if dtype == torch.int64 and not source.is_floating_point:
            return result.but(bounds=value.bounds or _RANGES[source])
        return result.but(bounds=None)

    def _exact(self, value: Value) -> Value:
        """Bools and small integers as reals: integers of scale 1."""
        if value.is_const:
            return super().cast(value, torch.float32)
        low, high = _RANGES[value.dtype]
        if value.dtype == torch.uint8:
            return self.signed(value).but(dtype=torch.float32, quant=QParams((1.0,), -128, -128, 127))
        stored = super().cast(value, torch.int8) if value.dtype == torch.bool else value
        return stored.but(dtype=torch.float32, quant=QParams((1.0,), 0, low, high))

    def _to_int16(self, value: Value) -> Value:
        assert value.tensor is not None
        wide = self.rescale(value.tensor, [1.0], DType.INT16)
        return value.but(dtype=torch.int16, tensor=wide, bounds=_RANGES[torch.uint8])

    def _to_uint8(self, value: Value) -> Value:
        """The lowest eight bits, as PyTorch has them."""
        wide = self.cast(value, torch.int16)
        if value.dtype != torch.bool:
            wide = self.elementwise("BITWISE_AND", wide, self.scalar(255, wide))
        assert wide.tensor is not None
        return wide.but(dtype=torch.uint8, tensor=self.rescale(wide.tensor, [1.0], DType.UINT8))

    def floating(self, value: Value) -> Value:
        """The value, integers and bools turned into float32 as PyTorch does for functions of reals."""
        return value if value.dtype.is_floating_point else self.cast(value, torch.float32)

    def _modes(self, *given: Operand) -> tuple[list[Value], bool]:
        """Operands, and whether to compute on integers that stand for reals."""
        values = self.operands(*given)
        if not any(v.quant for v in values):
            return [self.apply_clamp(v) for v in values], False
        if all(v.quant or v.is_const for v in values):
            return values, True
        return [self.real(v) for v in values], False

    def _plain(self, name: str, x: Value, y: Value) -> Value:
        """Arithmetic on plain values. Small integers and bools go through int32, which gives what PyTorch gives;
        of int64 the results must be known to fit int32, which interval arithmetic tells.
        """
        if x.dtype in _SMALL_INTEGERS:
            return self.cast(self.elementwise(name, *(self.cast(v, torch.int32) for v in (x, y))), x.dtype)
        result = self.elementwise(name, x, y)
        if x.dtype != torch.int64:
            return result
        if x.bounds is None or y.bounds is None:
            raise Rejected("int64 arithmetic on numbers whose range is not known to fit int32", _NARROW)
        ends = [_INTERVAL[name](a, b) for a in x.bounds for b in y.bounds]
        low, high = min(ends), max(ends)
        fits = low >= -(2**31) and high < 2**31
        self.require(
            fits, f"int64 results up to {high} may not fit int32", "make them int32: a cast, or dtype=torch.int32"
        )
        return result.but(bounds=(low, high))

    # -- arithmetic -------------------------------------------------------------------------------

    def ADD(self, x: Operand, y: Operand) -> Value:
        """``x + y``."""
        return self._linear("ADD", x, y)

    def SUB(self, x: Operand, y: Operand) -> Value:
        """``x - y``."""
        return self._linear("SUB", x, y)

    def _linear(self, name: str, x: Operand, y: Operand) -> Value:
        (a, b), integer = self._modes(x, y)
        if not integer:
            return self._plain(name, a, b)
        a, b = self.shared(a, b)
        assert a.quant and b.quant
        low, high = (
            (a.quant.qmin + b.quant.qmin, a.quant.qmax + b.quant.qmax)
            if name == "ADD"
            else (a.quant.qmin - b.quant.qmax, a.quant.qmax - b.quant.qmin)
        )
        return self._accumulator(name, a, b, QParams(a.quant.scale, 0, low, high))

    def _accumulator(self, name: str, x: Value, y: Value, quant: QParams) -> Value:
        result = self.elementwise(name, x.but(dtype=torch.int32), y.but(dtype=torch.int32))
        return result.but(dtype=torch.float32, quant=quant)

    def MUL(self, x: Operand, y: Operand) -> Value:
        """``x * y``; a positive constant factor of a quantized value only changes its scale."""
        (a, b), integer = self._modes(x, y)
        if not integer:
            return self._plain("MUL", a, b)
        for value, factor in ((a, b), (b, a)):
            if value.quant and not value.is_const and factor.const is not None and factor.size == 1:
                number = float(factor.real())
                if number > 0 and factor.rank <= value.rank:
                    bounds = value.clamp and (value.clamp[0] * number, value.clamp[1] * number)
                    return value.but(quant=value.quant.scaled(number), clamp=bounds)
        a, b = self._factor(a), self._factor(b)
        assert a.quant and b.quant
        wide = a.quant.bits + b.quant.bits > 31
        squared = a is b
        a = self.centered(a, 15 if wide else 31)
        b = a if squared else self.centered(b, 15 if wide else 31)
        assert a.quant and b.quant
        ends = [i * j for i in (a.quant.qmin, a.quant.qmax) for j in (b.quant.qmin, b.quant.qmax)]
        return self._accumulator("MUL", a, b, QParams((a.quant.scalar * b.quant.scalar,), 0, min(ends), max(ends)))

    def _factor(self, value: Value) -> Value:
        """A constant that is not quantized, as symmetric int16."""
        if value.quant is not None:
            return value
        assert value.const is not None
        top = float(value.const.double().abs().max()) if value.size else 0.0
        self.require(top < float("inf"), "multiplies by a constant that is not finite")
        quant = QParams(((top or 1.0) / 32767,), 0, -32767, 32767)
        return self.const(quant.quantize(value.const).to(torch.int16), quant)

    def MAXIMUM(self, x: Operand, y: Operand) -> Value:
        """``max(x, y)``."""
        return self._extreme("MAXIMUM", x, y)

    def MINIMUM(self, x: Operand, y: Operand) -> Value:
        """``min(x, y)``."""
        return self._extreme("MINIMUM", x, y)

    def _extreme(self, name: str, x: Operand, y: Operand) -> Value:
        (a, b), integer = self._modes(x, y)
        if not integer:
            return self._plain(name, a, b)
        a, b = self._equal_scale(a, b)
        assert a.quant and b.quant
        low, high = min(a.quant.qmin, b.quant.qmin), max(a.quant.qmax, b.quant.qmax)
        return self._accumulator(name, a, b, QParams(a.quant.scale, 0, low, high))

    def _equal_scale(self, a: Value, b: Value) -> list[Value]:
        """Both as int32 of one scale: exactly as they are where they share one already."""
        if a.quant and b.quant and a.quant.scale == b.quant.scale:
            return [self.centered(a), self.centered(b)]
        return self.shared(a, b)

    def clamp(self, x: Value, low: float, high: float) -> Value:
        """``min(max(x, low), high)``: on a quantized value only a note for its next requantization."""
        low = min(low, high)  # PyTorch gives the upper bound if they cross
        if x.quant is not None:
            old = x.clamp or (-float("inf"), float("inf"))
            return x.but(clamp=(min(max(old[0], low), high), max(min(old[1], high), low)))
        if not x.dtype.is_floating_point:
            bottom, top = _RANGES.get(x.dtype, _RANGES[torch.int32])
            x = self.MAXIMUM(x, int(low)) if low > bottom else x
            return self.MINIMUM(x, int(high)) if high < top else x
        tensor = self.tensor(x, x.axes)
        return x.but(tensor=self.emit("CLAMP", [tensor], min_val=low, max_val=high), const=None)

    # -- one operand ------------------------------------------------------------------------------

    def unary(self, name: str, x: Value) -> Value:
        """An operator of one operand, such as EXP, on reals; integers become reals first."""
        return self.elementwise(name, self.floating(self.real(x)))

    def INTDIV(self, x: Operand, y: Operand) -> Value:
        """``x / y`` of integers, rounded towards 0."""
        a, b = self.operands(x, y)
        if a.dtype == torch.int64:
            low, high = b.bounds or (0, 0)
            self.require(low > 0 or high < 0, "divides int64 by numbers that may be 0", _NARROW)
        return self._plain("INTDIV", a, b)

    def NEGATE(self, x: Value) -> Value:
        """``-x``."""
        if x.quant is not None:
            return self.SUB(self.scalar(0.0, x), x)
        return self.elementwise("NEGATE", self.apply_clamp(x))

    # -- comparisons, logic, choice ---------------------------------------------------------------

    def compare(self, name: str, x: Operand, y: Operand) -> Value:
        """EQUAL, GREATER or GREATER_EQUAL; the result is bool."""
        (a, b), integer = self._modes(x, y)
        if integer:
            a, b = (v.but(dtype=torch.int32, quant=None) for v in self._equal_scale(a, b))
        elif a.dtype == torch.int64:
            known = a.bounds is not None and b.bounds is not None
            self.require(known, "compares int64 numbers of unknown range", _NARROW)
        elif a.dtype in _SMALL_INTEGERS:
            a, b = self.cast(a, torch.int32), self.cast(b, torch.int32)
        return self.elementwise(name, a, b, dtype=torch.bool)

    def plain(self, name: str, x: Operand, y: Operand, **attrs: Any) -> Value:
        """A binary operator on bool, integers or reals that has no quantized form (LOGICAL_AND, POW, ...)."""
        a, b = (self.real(v) for v in self.operands(x, y))
        return self.elementwise(name, a, b, **attrs)

    def SELECT(self, condition: Value, x: Operand, y: Operand) -> Value:
        """``x`` where the condition holds, else ``y``; without an operator where a constant condition does not vary."""
        if condition.const is not None and condition.size:
            always = condition.const.reshape(-1)[0]
            chosen = x if always else y
            if bool((condition.const == always).all()) and _covers(chosen, condition, x, y):
                return chosen  # type: ignore[return-value]
        (a, b), integer = self._modes(x, y)
        if condition.const is not None and a.const is not None and b.const is not None:
            return self.const(torch.where(condition.const, a.real(), b.real()))
        rank = max(condition.rank, a.rank, b.rank)
        quant = None
        if integer:
            one = a.quant or b.quant
            assert one is not None
            if a.quant and b.quant and _stored(a) != _stored(b):
                a, b = self._equal_scale(a, b)
                assert a.quant and b.quant
                low, high = min(a.quant.qmin, b.quant.qmin), max(a.quant.qmax, b.quant.qmax)
                one = QParams(a.quant.scale, 0, low, high)
            else:  # a constant is rounded, and saturated, to the scale of the other
                a, b = (v if v.quant else self._saturated(v, one, a if a.quant else b) for v in (a, b))
            quant = one
        lifted = [self.lift(v, rank) for v in (condition, a, b)]
        perm, tensors = self.same_order(*lifted)
        bounds = a.bounds and b.bounds and (min(a.bounds[0], b.bounds[0]), max(a.bounds[1], b.bounds[1]))
        try:
            selected = self.emit("SELECT", tensors)
        except Rejected:
            if quant is None or condition.const is None:
                raise
            return self._bounded(condition.const, a, b, quant)
        return self.value(selected, a.dtype, perm, quant, bounds=bounds)

    def _bounded(self, condition: torch.Tensor, x: Value, y: Value, quant: QParams) -> Value:
        """SELECT by a constant, on a target that has none: the greater of two, each at its least where not chosen.

        Args:
            x, y: integers of ``quant``.
        """

        def only(where: torch.Tensor, value: Value) -> Value:
            if value.const is not None:
                chosen = torch.where(where, value.const, quant.qmin).to(value.const.dtype)
                return self.const(chosen, quant)
            assert value.tensor is not None
            limits = torch.where(where, quant.qmax, quant.qmin).to(_INTEGERS[value.tensor.dtype])
            return self.MINIMUM(value, self.const(limits, quant))

        parts = [only(condition, x), only(~condition, y)]
        parts = [v for v in parts if v.const is None or bool((v.const > quant.qmin).any())]
        return parts[0] if len(parts) == 1 else self.MAXIMUM(*parts)

    def _saturated(self, value: Value, quant: QParams, like: Value) -> Value:
        assert value.const is not None and like.tensor is not None
        return self.const(quant.quantize(value.const).to(_INTEGERS[like.tensor.dtype]), quant)

    # -- reductions -------------------------------------------------------------------------------

    def reduce(self, name: str, x: Value, axis: int) -> Value:
        """REDUCE_SUM, REDUCE_MAX, ...: along one axis, which stays with size 1."""
        quant = x.quant
        if quant is None or name in ("REDUCE_MAX", "REDUCE_MIN"):
            x = self.apply_clamp(x)
        else:
            self.require(name == "REDUCE_SUM", f"{name} needs FP: it has no integer form")
            x = self.centered(x, 31 - (x.shape[axis] - 1).bit_length())
            assert x.quant
            n = x.shape[axis]
            quant = QParams(x.quant.scale, 0, x.quant.qmin * n, x.quant.qmax * n)
        if name == "REDUCE_SUM":
            self.require_sums(x, x.shape[axis])
        tensor = self.tensor(x, x.axes)
        return self.value(self.emit(name, [tensor], axis=x.axes[axis]), x.dtype, x.axes, quant)

    def require_sums(self, x: Value, count: int) -> None:
        """Refuses sums of so many int64 numbers that may not fit int32; PyTorch makes int64 sums of any integers."""
        fits = x.dtype != torch.int64 or (x.bounds is not None and max(map(abs, x.bounds)) * count < 2**31)
        reason = "sums int64 numbers whose range is not known to fit int32"
        self.require(fits, reason, "give the sum dtype=torch.int32: of int32, too, PyTorch makes int64 sums otherwise")

    def mean(self, x: Value, axes: list[int]) -> Value:
        """The mean over axes, which stay with size 1: sums, and the division as a change of scale."""
        n = 1
        for axis in axes:
            n *= x.shape[axis]
            x = self.reduce("REDUCE_SUM", x, axis)
        return self.MUL(x, 1.0 / n) if n != 1 else x


def _stored(value: Value) -> tuple[Any, ...]:
    """As what a quantized value lies in memory: equal integers stand for equal numbers."""
    assert value.quant
    width = torch_to_tosa(value.const.dtype) if value.const is not None else value.tensor and value.tensor.dtype
    return value.quant.scale, value.quant.zero_point, width


_NARROW = "cast the input to int32 in the model"
_RANGES = INTEGER_RANGES | {torch.bool: (0, 1)}


def _covers(chosen: Operand, *beside: Operand) -> bool:
    """Whether an operand has the shape and type that the operands have together."""
    values = [v for v in beside if isinstance(v, Value)]
    if not isinstance(chosen, Value) or any(v.dtype.is_floating_point and v.dtype != chosen.dtype for v in values):
        return False
    return chosen.dtype.is_floating_point and chosen.shape == np.broadcast_shapes(*(v.shape for v in values))


def _shrunk(value: Value, others: Sequence[tuple[int, ...]]) -> Value:
    """A constant without the axes along which it repeats itself and the other operands have as many elements."""
    data = value.const
    if data is None or value.tensor is not None or data.numel() == 1 or (value.quant and value.quant.axis is not None):
        return value
    beside = np.broadcast_shapes(*others)  # () if all are constants
    for axis in range(max(data.dim() - len(beside), 0), data.dim()):
        if data.shape[axis] > 1 and beside[axis - data.dim()] == data.shape[axis]:
            first = data.narrow(axis, 0, 1)
            if bool((data == first).all()):
                data = first
    return value if data is value.const else value.but(const=data.contiguous(), shape=tuple(data.shape))


#: Types whose numbers stand for reals as they are, beside quantized values and where there is no float.
_EXACT = {dtype: _RANGES[dtype] for dtype in (torch.bool, torch.int8, torch.uint8, torch.int16)}
#: Types that have no arithmetic in TOSA.
_SMALL_INTEGERS = (torch.bool, torch.int8, torch.uint8, torch.int16)
_INTERVAL: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "INTDIV": lambda a, b: int(a / b),
    "MAXIMUM": max,
    "MINIMUM": min,
}
