"""Comparisons, and the choice between two values."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...support.errors import Rejected, require
from ...tosa.dtypes import torch_to_tosa
from ...tosa.ir import DType
from ..values import Operand, QParams, Value
from .arithmetic import Arithmetic
from .casts import NARROW, SMALL_INTEGERS

#: How quantized values are stored.
_INTEGERS = {DType.INT8: torch.int8, DType.INT16: torch.int16, DType.INT32: torch.int32}


class Selection(Arithmetic):
    """``b.compare("GREATER", x, y)`` and ``b.SELECT(condition, x, y)``."""

    def compare(self, name: str, x: Operand, y: Operand) -> Value:
        (a, b), integer = self.arithmetic_operands(x, y)
        if integer:
            a, b = (v.replace(dtype=torch.int32, quant=None) for v in self.equal_scale(a, b))
        elif a.dtype == torch.int64:
            require(a.is_narrow and b.is_narrow, "compares int64 numbers of unknown range", NARROW)
        elif a.dtype in SMALL_INTEGERS:
            a, b = self.cast(a, torch.int32), self.cast(b, torch.int32)
        return self.elementwise(name, a, b, dtype=torch.bool)

    def SELECT(self, condition: Value, x: Operand, y: Operand) -> Value:
        """Without an operator where a constant condition does not vary."""
        if condition.const is not None and condition.size:
            always = condition.const.reshape(-1)[0]
            chosen = x if always else y
            if bool((condition.const == always).all()) and _covers(chosen, condition, x, y):
                return chosen  # type: ignore[return-value]
        (a, b), integer = self.arithmetic_operands(x, y)
        if condition.const is not None and a.const is not None and b.const is not None:
            return self.const(torch.where(condition.const, a.real(), b.real()))
        rank = max(condition.rank, a.rank, b.rank)
        quant = None
        if integer:
            one = a.quant or b.quant
            assert one is not None
            ranks = {v.rank for v in (a, b) if v.quant and v.quant.axis is not None}
            require(ranks <= {rank}, "is used before it is quantized", "quantize the result of the layer before it")
            if a.quant and b.quant and _stored(a) != _stored(b):
                a, b = self.equal_scale(a, b)
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
        assert value.const is not None
        if like.tensor is not None:
            dtype = _INTEGERS[like.tensor.dtype]
        else:
            assert like.const is not None
            dtype = like.const.dtype
        data = value.const.reshape((1,) * max(like.rank - value.rank, 0) + value.shape)  # scales may be along an axis
        self.require_steps(data, quant)
        return self.const(quant.quantize(data).to(dtype), quant)


def _stored(value: Value) -> tuple[Any, ...]:
    """The integers of a quantized value: equal integers stand for equal numbers."""
    assert value.quant
    width = torch_to_tosa(value.const.dtype) if value.const is not None else value.tensor and value.tensor.dtype
    return value.quant.scale, value.quant.zero_point, value.quant.axis, width


def _covers(chosen: Operand, *beside: Operand) -> bool:
    """Whether an operand has the shape and type that the operands have together."""
    values = [v for v in beside if isinstance(v, Value)]
    if not isinstance(chosen, Value) or any(v.dtype.is_floating_point and v.dtype != chosen.dtype for v in values):
        return False
    return chosen.dtype.is_floating_point and chosen.shape == np.broadcast_shapes(*(v.shape for v in values))
