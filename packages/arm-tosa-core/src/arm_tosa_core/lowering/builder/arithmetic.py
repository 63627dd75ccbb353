"""Elementwise arithmetic, on plain values and on quantized ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ...support.errors import Rejected, require
from ..values import Operand, QParams, Value, of_type
from .casts import EXACT, NARROW, RANGES, SATURATED, SMALL_INTEGERS, Casts
from .halves import Halves
from .quantization import Quantization


class Arithmetic(Quantization, Casts):
    """``b.ADD(x, y)`` and its like.

    Operands are values or Python numbers. On quantized values the arithmetic is done on INT32 and the result carries
    the scale that it has; nothing is rounded to 8 bits until a quantize node asks for it.
    """

    def operands(self, *operands: Operand) -> list[Value]:
        metas = [torch.empty(v.shape, dtype=v.dtype, device="meta") if isinstance(v, Value) else v for v in operands]
        dtype = torch.result_type(*metas)  # type: ignore[arg-type]
        quantized = any(isinstance(v, Value) and v.quant for v in operands)
        result = []
        for v in operands:
            if not isinstance(v, Value):
                result.append(self.const(of_type(v, dtype)))
            elif quantized and v.dtype in EXACT:
                result.append(self.exact(v))
            else:
                result.append(v if v.dtype == dtype or v.quant else self.cast(v, dtype))
        return [_shrunk(v, [u.shape for u in result if not u.is_const]) for v in result]

    def arithmetic_operands(self, *operands: Operand) -> tuple[list[Value], bool]:
        """Operands, and whether to compute on integers that stand for reals."""
        values = self.operands(*operands)
        if not any(v.quant for v in values):
            return [self.apply_clamp(v) for v in values], False
        if all(v.quant or v.is_const for v in values):
            return values, True
        return [self.real(v) for v in values], False

    def ADD(self, x: Operand, y: Operand) -> Value:
        return self._linear("ADD", x, y)

    def SUB(self, x: Operand, y: Operand) -> Value:
        return self._linear("SUB", x, y)

    def MUL(self, x: Operand, y: Operand) -> Value:
        (a, b), integer = self.arithmetic_operands(x, y)
        if not integer:
            return self._plain("MUL", a, b)
        for value, factor in ((a, b), (b, a)):
            if value.quant and not value.is_const and factor.const is not None and factor.size == 1:
                number = float(factor.real())
                if number > 0 and factor.rank <= value.rank:
                    bounds = value.clamp and (value.clamp[0] * number, value.clamp[1] * number)
                    return value.replace(quant=value.quant.scaled(number), clamp=bounds)
                if (
                    number < 0 and value.quant.bits > 16 and factor.rank <= value.rank
                ):  # a product would take 16 of them
                    return self.NEGATE(self.MUL(value, -number))
        a, b = self._factor(a), self._factor(b)
        assert a.quant and b.quant
        wide = a.quant.bits + b.quant.bits > 31
        squared = a is b
        a = self.centered(a, 15 if wide else 31)
        b = a if squared else self.centered(b, 15 if wide else 31)
        assert a.quant and b.quant
        ends = [i * j for i in (a.quant.qmin, a.quant.qmax) for j in (b.quant.qmin, b.quant.qmax)]
        return self._accumulator("MUL", a, b, QParams((a.quant.scalar * b.quant.scalar,), 0, min(ends), max(ends)))

    def MAXIMUM(self, x: Operand, y: Operand) -> Value:
        return self._extreme("MAXIMUM", x, y)

    def MINIMUM(self, x: Operand, y: Operand) -> Value:
        return self._extreme("MINIMUM", x, y)

    def INTDIV(self, x: Operand, y: Operand) -> Value:
        a, b = self.operands(x, y)
        if a.dtype == torch.int64:
            low, high = b.bounds or (0, 0)
            require(low > 0 or high < 0, "divides int64 by numbers that may be 0", NARROW)
        return self._plain("INTDIV", a, b)

    def NEGATE(self, x: Value) -> Value:
        if x.quant is not None:
            return self.SUB(self.scalar(0.0, x), x)
        if x.dtype in SMALL_INTEGERS:  # of which NEGATE saturates the least one
            return self.SUB(0, x)
        if x.dtype == torch.int32 and not x.is_const and _int32_bounds("SUB", self.scalar(0, x), x) is None:
            # A product wraps in TOSA, which leaves open what NEGATE does with the least number.
            return self.MUL(x, -1) if self.preferences.wraps else Halves(self).negate(x)
        result = self.elementwise("NEGATE", self.apply_clamp(x))
        return result if x.dtype != torch.int64 else result.replace(bounds=_int64_bounds("SUB", (0, 0), x.bounds))

    def wrapped(self, name: str, x: Operand, y: Operand) -> Value:
        a, b = self.operands(x, y)
        if any(v.dtype != torch.int32 or v.quant for v in (a, b)):
            return {"ADD": self.ADD, "SUB": self.SUB, "MUL": self.MUL}[name](x, y)
        if not (a.is_const and b.is_const) and self._may_leave(name, a, b):
            halves = Halves(self)
            return {"ADD": halves.add, "SUB": halves.sub, "MUL": halves.mul}[name](a, b)
        return self.elementwise(name, a, b).replace(bounds=_int32_bounds(name, a, b))

    def _may_leave(self, name: str, x: Value, y: Value) -> bool:
        """Whether results may leave int32 on a target on which they do not wrap."""
        return not self.preferences.wraps and _int32_bounds(name, x, y) is None

    def clamp(self, x: Value, low: float, high: float) -> Value:
        low = min(low, high)  # PyTorch gives the upper bound if they cross
        if x.quant is not None:
            old = x.clamp or (-float("inf"), float("inf"))
            return x.replace(clamp=(min(max(old[0], low), high), max(min(old[1], high), low)))
        if not x.dtype.is_floating_point:
            bottom, top = RANGES.get(x.dtype, RANGES[torch.int32])
            x = self.MAXIMUM(x, int(low)) if low > bottom else x
            x = self.MINIMUM(x, int(high)) if high < top else x
            known = int(max(low, bottom)), int(min(high, top))
            return x.replace(bounds=known) if x.dtype == torch.int32 and not x.is_const else x
        tensor = self.tensor(x, x.axes)
        return x.replace(tensor=self.emit("CLAMP", [tensor], min_val=low, max_val=high), const=None)

    def unary(self, name: str, x: Value) -> Value:
        return self.elementwise(name, self.floating(self.real(x)))

    def binary(self, name: str, x: Operand, y: Operand, **attrs: Any) -> Value:
        a, b = (self.real(v) for v in self.operands(x, y))
        return self.elementwise(name, a, b, **attrs)

    def _plain(self, name: str, x: Value, y: Value) -> Value:
        """Arithmetic on plain values. Small integers and bools go through int32, with PyTorch's results;
        of int64 the results must be known to fit int32, which interval arithmetic tells.
        """
        if x.dtype in SMALL_INTEGERS:
            return self.cast(self.elementwise(name, *(self.cast(v, torch.int32) for v in (x, y))), x.dtype)
        result = self.elementwise(name, x, y)
        if x.dtype != torch.int64:
            return result
        return result.replace(bounds=_int64_bounds(name, x.bounds, y.bounds))

    def _linear(self, name: str, x: Operand, y: Operand) -> Value:
        (a, b), integer = self.arithmetic_operands(x, y)
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
        result = self.elementwise(name, x.replace(dtype=torch.int32), y.replace(dtype=torch.int32))
        return result.replace(dtype=torch.float32, quant=quant)

    def _factor(self, value: Value) -> Value:
        """A constant that is not quantized, as symmetric int16."""
        if value.quant is not None:
            return value
        assert value.const is not None
        top = float(value.const.double().abs().max()) if value.size else 0.0
        require(top < float("inf"), "multiplies by a constant that is not finite")
        quant = QParams(((top or 1.0) / 32767,), 0, -32767, 32767)
        return self.const(quant.quantize(value.const).to(torch.int16), quant)

    def _extreme(self, name: str, x: Operand, y: Operand) -> Value:
        (a, b), integer = self.arithmetic_operands(x, y)
        if not integer:
            return self._plain(name, a, b)
        a, b = self.equal_scale(a, b)
        assert a.quant and b.quant
        low, high = min(a.quant.qmin, b.quant.qmin), max(a.quant.qmax, b.quant.qmax)
        return self._accumulator(name, a, b, QParams(a.quant.scale, 0, low, high))

    def equal_scale(self, a: Value, b: Value) -> list[Value]:
        """Both as int32 of one scale: exactly as they are where they share one already."""
        if a.quant and b.quant and a.quant.scale == b.quant.scale:
            return [self.centered(a), self.centered(b)]
        return self.shared(a, b)


def _int64_bounds(name: str, x: tuple[int, int] | None, y: tuple[int, int] | None) -> tuple[int, int]:
    """Bounds of the results of int64 arithmetic, from those of its operands.

    Raises:
        Rejected: results are not known to fit int32.
    """
    if x is None or y is None or SATURATED in (x, y):
        raise Rejected("int64 arithmetic on numbers whose range is not known to fit int32", NARROW)
    ends = [_INTERVAL[name](a, b) for a in x for b in y]
    low, high = min(ends), max(ends)
    fits = low >= -(2**31) and high < 2**31
    require(fits, f"int64 results up to {high} may not fit int32", "make them int32: a cast, or dtype=torch.int32")
    return low, high


def _int32_bounds(name: str, x: Value, y: Value) -> tuple[int, int] | None:
    """Bounds of the results of int32 arithmetic; None: they may leave int32."""
    ends = [_INTERVAL[name](a, b) for a in x.bounds or RANGES[x.dtype] for b in y.bounds or RANGES[y.dtype]]
    low, high = RANGES[torch.int32]
    return (min(ends), max(ends)) if low <= min(ends) and max(ends) <= high else None


def _shrunk(value: Value, other_shapes: Sequence[tuple[int, ...]]) -> Value:
    """A constant without the axes along which it repeats itself and the other operands have as many elements."""
    data = value.const
    if data is None or value.tensor is not None or data.numel() == 1 or (value.quant and value.quant.axis is not None):
        return value
    beside = np.broadcast_shapes(*other_shapes)  # () if all are constants
    for axis in range(max(data.dim() - len(beside), 0), data.dim()):
        if data.shape[axis] > 1 and beside[axis - data.dim()] == data.shape[axis]:
            first = data.narrow(axis, 0, 1)
            if bool((data == first).all()):
                data = first
    return value if data is value.const else value.replace(const=data.contiguous(), shape=tuple(data.shape))


_INTERVAL: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "INTDIV": lambda a, b: int(a / b),
    "MAXIMUM": max,
    "MINIMUM": min,
}
