"""Constants as bytes of a TOSA flatbuffer and back: little endian, 4 bits two to a byte, 6 bits four to three bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..support.errors import UsageError
from .dtypes import numpy_dtype
from .ir import DType


def pack(data: np.ndarray[Any, Any], dtype: DType) -> memoryview:
    """The elements of ``data``, in C order, as bytes: the same memory where they lie like that."""
    values = np.ascontiguousarray(data, dtype=numpy_dtype(dtype)).reshape(-1)
    if dtype.bits == 6:
        return np.packbits(_bits(values.view(np.uint8), 6), bitorder="little").data
    if dtype.bits == 4:
        nibbles = values.view(np.uint8) & 15
        if nibbles.size % 2:
            nibbles = np.append(nibbles, np.uint8(0))
        return (nibbles[0::2] | nibbles[1::2] << 4).data
    if dtype is DType.INT48:
        return values.view(np.uint8).reshape(-1, 8)[:, :6].reshape(-1).data
    return values.view(np.uint8).data


def _bits(values: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """The lowest bits of each byte, lowest first, one behind the other."""
    return np.unpackbits(values.reshape(-1, 1), axis=1, bitorder="little")[:, :count].reshape(-1)


def byte_size(elements: int, dtype: DType) -> int:
    """Bytes of ``elements`` elements of ``dtype``."""
    return (elements * dtype.bits + 7) // 8


def unpack(data: np.ndarray[Any, Any], shape: Sequence[int], dtype: DType) -> np.ndarray[Any, Any]:
    """Inverse of ``pack``: bytes (uint8) to an array of ``numpy_dtype(dtype)`` and ``shape``.

    Raises:
        UsageError: there are fewer bytes than the shape needs. More are padding.
    """
    elements = int(np.prod(shape, dtype=np.int64))
    size = byte_size(elements, dtype)
    if data.size < size:
        raise UsageError(f"a constant {dtype}{list(shape)} takes {size} bytes, the file has {data.size}")
    data = data[:size]
    if dtype.bits == 6:
        bits = np.unpackbits(data, bitorder="little")[: elements * 6].reshape(elements, 6)
        return np.packbits(bits, axis=1, bitorder="little").view(numpy_dtype(dtype)).reshape(shape)
    if dtype is DType.FP4E2M1:
        nibbles: np.ndarray[Any, Any] = np.stack([data & 15, data >> 4], axis=1).reshape(-1)[:elements]
        return nibbles.view(numpy_dtype(dtype)).reshape(shape)
    if dtype is DType.INT4:
        signed: np.ndarray[Any, Any] = (
            np.stack([data << 4, data & 0xF0], axis=1).reshape(-1)[:elements].view(np.int8) >> 4
        )
        return signed.reshape(shape)
    if dtype is DType.INT48:
        wide = np.zeros((elements, 8), np.uint8)
        wide[:, 2:] = data.reshape(elements, 6)
        return (wide.view(np.int64).reshape(-1) >> 16).reshape(shape)
    return np.frombuffer(data.tobytes(), dtype=numpy_dtype(dtype)).reshape(shape)
