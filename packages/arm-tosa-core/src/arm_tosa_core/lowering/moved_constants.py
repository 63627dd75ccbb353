"""Moves of quantized constants, as of weights before their layer: integers and scales are moved at compile time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from .operator_names import map_arguments
from .values import QParams, Value


def moved_constant(run: Callable[..., torch.Tensor], args: Any, kwargs: Any) -> tuple[torch.Tensor, QParams] | None:
    """The integers that an operator makes of quantized constants, and their scales.

    Args:
        run: the operator; it moves numbers.
        args, kwargs: its arguments, with values of constants.

    Returns:
        None: no integers with one scale, or with scales along one axis, stand for the results.
    """
    values: list[Value] = []
    map_arguments((args, kwargs), lambda v: values.append(v) if isinstance(v, Value) and _is_float(v) else None)
    known = [(v.const, v.quant) for v in values if v.quant and v.const is not None]
    kinds = {(numbers.dtype, quant.zero_point) for numbers, quant in known}
    if len(known) < len(values) or len(kinds) != 1:
        return None

    def result(numbers: Callable[[torch.Tensor, QParams], torch.Tensor]) -> torch.Tensor:
        def given(v: Any) -> Any:
            if not isinstance(v, Value):
                return v
            return numbers(v.const, v.quant) if v.quant and v.const is not None else v.real()

        with torch.no_grad():
            return run(*map_arguments(args, given), **map_arguments(kwargs, given))

    ((kind, zero_point),) = kinds
    integers = result(lambda each, _: each.double() - zero_point)
    scales = result(lambda each, quant: quant.dequantize(torch.full(each.shape, quant.zero_point + 1)))
    if not torch.equal(integers * scales, result(lambda each, quant: quant.dequantize(each))):
        return None  # such as a maximum along the axis of scales
    low, high = min(quant.qmin for _, quant in known), max(quant.qmax for _, quant in known)
    quant = _along_one_axis(scales)
    if quant is None or not min(quant.scale) > 0 or (quant.axis is not None and zero_point):
        return None
    return (integers + zero_point).to(kind), replace(quant, zero_point=zero_point, qmin=low, qmax=high)


def _is_float(value: Value) -> bool:
    return value.dtype.is_floating_point


def _along_one_axis(scales: torch.Tensor) -> QParams | None:
    """The scales of each element as those of a tensor or of an axis."""
    for axis in (None, *range(scales.dim())):
        others = [i for i in range(scales.dim()) if i != axis]
        low, high = (scales.amin(others), scales.amax(others)) if others else (scales, scales)
        if torch.equal(low, high):
            return QParams(tuple(low.reshape(-1).tolist()), 0, 0, 0, axis)
    return None
