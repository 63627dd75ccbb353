"""Numbers as C source text."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_BYTES_PER_LINE = 16


def bytes_of_array(data: bytes) -> str:
    """The initializer's lines of an array of uint8_t."""
    lines = (data[at : at + _BYTES_PER_LINE] for at in range(0, len(data), _BYTES_PER_LINE))
    return "\n".join(f"    {', '.join(f'0x{byte:02x}' for byte in line)}," for line in lines)


def numbers_of_array(data: np.ndarray[Any, Any]) -> str:
    """The initializer's lines of an array of integers."""
    numbers = ["INT32_MIN" if number == -(2**31) else str(number) for number in data.astype(np.int64).tolist()]
    lines = (numbers[at : at + _BYTES_PER_LINE] for at in range(0, len(numbers), _BYTES_PER_LINE))
    return "\n".join(f"    {', '.join(line)}," for line in lines)


def float_text(value: float) -> str:
    """The shortest decimal text of the nearest float32, as a C constant."""
    (single,) = struct.unpack("<f", struct.pack("<f", value))
    for digits in range(1, 10):
        text = f"{single:.{digits}g}"
        if struct.pack("<f", float(text)) == struct.pack("<f", single):
            break
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
