"""INT32 arithmetic in two halves of 16 bits, for targets on which a number that leaves 32 bits does not wrap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...support.errors import require
from ..values import Value
from .emitter import Emitter

#: So many lower halves can be added up in INT32.
_MOST_TERMS = 1 << 15


@dataclass(frozen=True, eq=False)
class Halves:
    """Sums and products whose lower 32 bits are PyTorch's. No number on the way to them leaves 32 bits.

    Operands are plain int32; a constant is divided at compile time.
    """

    emitter: Emitter

    def add(self, x: Value, y: Value) -> Value:
        return self._linear("ADD", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        return self._linear("SUB", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        if y.is_const and not x.is_const:
            x, y = y, x  # the one that may be of 16 bits
        upper_x, lower_x = self._rounded(x)
        upper_y, lower_y = (upper_x, lower_x) if x is y else self._rounded(y)
        low = self._("MUL", lower_x, lower_y)
        high = self._("MUL", lower_x, upper_y)
        if not (upper_x.const is not None and not upper_x.const.any()):
            high = self._("ADD", self._lower(high), self._("MUL", upper_x, lower_y))
        return self._joined(high, low)

    def negate(self, x: Value) -> Value:
        """The least number stays as it is, the others change their sign."""
        least, most = -(2**31), 2**31 - 1
        bounded = self._("MAXIMUM", x, self._number(least + 1, x))
        excess = self._("SUB", x, bounded)  # -1 for the least number, else 0
        result = self._("ADD", self._("SUB", self._number(0, x), bounded), self._shift("LEFT", excess, 31))
        return self._("ADD", result, self._("MUL", excess, self._number(most, x)))

    def total(self, x: Value, axis: int, reduce: Callable[[Value, int], Value]) -> Value:
        """The sum along an axis, which stays with size 1; ``reduce`` makes one that fits 32 bits."""
        count = x.shape[axis]
        require(count <= _MOST_TERMS, f"sums {count} int32 numbers, of which {_MOST_TERMS} at most wrap as PyTorch's")
        upper, lower = self._floored(x)
        return self._joined(reduce(upper, axis), reduce(lower, axis))

    def _linear(self, name: str, x: Value, y: Value) -> Value:
        (upper_x, lower_x), (upper_y, lower_y) = self._floored(x), self._floored(y)
        return self._joined(self._(name, upper_x, upper_y), self._(name, lower_x, lower_y))

    def _joined(self, high: Value, low: Value) -> Value:
        """``(high << 16) + low``, of which both are far from the ends of int32."""
        carried, low = self._floored(low)
        return self._("ADD", self._shift("LEFT", self._("ADD", high, carried), 16), low)

    def _floored(self, x: Value) -> tuple[Value, Value]:
        """The upper half, and the lower one without a sign."""
        if x.const is not None:
            upper = x.const >> 16
            return self.emitter.const(upper), self.emitter.const(x.const - (upper << 16))
        upper_half = self._shift("RIGHT", x, 16, round=False)
        return upper_half, self._("SUB", x, self._shift("LEFT", upper_half, 16))

    def _rounded(self, x: Value) -> tuple[Value, Value]:
        """The upper half, and the lower one with a sign."""
        if x.const is not None:
            upper = (x.const.long() + (1 << 15)) >> 16
            lower = x.const.long() - (upper << 16)
            return self.emitter.const(upper.int()), self.emitter.const(lower.int())
        return self._shift("RIGHT", x, 16, round=True), self._lower(x)

    def _lower(self, x: Value) -> Value:
        """The lower half, with a sign."""
        return self._shift("RIGHT", self._shift("LEFT", x, 16), 16, round=True)  # of 0: nothing is rounded

    def _shift(self, way: str, x: Value, bits: int, **attrs: Any) -> Value:
        name = {"LEFT": "LOGICAL_LEFT_SHIFT", "RIGHT": "ARITHMETIC_RIGHT_SHIFT"}[way]
        return self._(name, x, self._number(bits, x), **attrs)

    def _number(self, number: int, x: Value) -> Value:
        return self.emitter.const(torch.tensor(number, dtype=x.dtype))

    def _(self, name: str, *operands: Value, **attrs: Any) -> Value:
        return self.emitter.elementwise(name, *operands, **attrs)
