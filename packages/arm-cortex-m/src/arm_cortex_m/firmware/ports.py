"""Arrays at the edge of a model: the program's own types, and the integers of firmware in their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arm_tosa_core.support.errors import UsageError

from .model import Port

Array = np.ndarray[Any, Any]


def as_integers(who: str, ports: Sequence[Port], arrays: Sequence[Array]) -> list[Array]:
    """A model's inputs as its C functions take them; none are none.

    Args:
        who: takes them, for errors.
        arrays: of the ports' shapes, each of the type that the program takes, or of the one that firmware takes.

    Raises:
        UsageError: their number, a shape or a type is not right, or a number does not fit, as NaN fits no integer.
    """
    if arrays and len(arrays) != len(ports):
        raise UsageError(f"{who} takes inputs {', '.join(port.name for port in ports)}; {len(arrays)} given")
    out = []
    for port, array in zip(ports if arrays else (), arrays, strict=True):
        if array.shape != port.shape:
            raise UsageError(
                f"{who} takes {port.name} of shape {list(port.shape)}; the array given has {list(array.shape)}"
            )
        if array.dtype not in (port.dtype, port.program_dtype):
            accepted = " or ".join(dict.fromkeys((port.program_dtype, port.dtype)))
            raise UsageError(f"{who} takes {port.name} of {accepted}; the array given is of {array.dtype}")
        if array.dtype != port.dtype:
            array = _narrowed(who, port, array) if port.scale is None else _quantized(who, port, array)
        out.append(np.ascontiguousarray(array))
    return out


def _narrowed(who: str, port: Port, array: Array) -> Array:
    narrow = array.astype(port.dtype)
    if not np.array_equal(narrow, array):
        raise UsageError(f"{who} takes {port.name} of {port.dtype}, and a number of the array given does not fit")
    return narrow


def _quantized(who: str, port: Port, array: Array) -> Array:
    """As ExecuTorch's ``quantize_per_tensor`` does: times the reciprocal in float32, to the nearest even."""
    assert port.scale is not None
    if np.isnan(array).any():
        raise UsageError(f"{who} takes {port.name} as integers, and a number of the array given is NaN")
    inverse = np.float32(1.0 / port.scale)
    integers: Array = np.clip(np.rint(array * inverse) + port.zero_point, *port.bounds).astype(port.dtype)
    return integers


def real(port: Port, array: Array) -> Array:
    """An output as the program gives it."""
    if port.scale is None:
        return array.astype(port.program_dtype)
    return (array.astype(np.int32) - port.zero_point).astype(np.float32) * np.float32(port.scale)
