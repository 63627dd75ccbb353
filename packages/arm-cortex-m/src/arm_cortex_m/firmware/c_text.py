"""Text of C sources: types, numbers, and the files in ``files/`` beside this module.

Files that end in ``.in`` have gaps, written as :class:`string.Template` has them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from textwrap import fill
from typing import Any

import numpy as np

from arm_tosa_core.support import foreign
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.ir import DType

FOLDER = Path(__file__).parent / "files"


def text(name: str | Path) -> str:
    """A file as it is; a whole path is that of a file elsewhere."""
    return (FOLDER / name).read_text("utf-8")


def filled(file: str | Path, /, code: Mapping[str, str] = {}, **words: str) -> str:
    """A file with its gaps filled.

    Args:
        code: text in the language of the file, put together here.
        words: names and numbers. They may come from files of others, and must not mean anything to that language.

    Raises:
        UsageError: a word has a character that might.
    """
    return Template(text(file)).substitute(code, **{gap: foreign.words(word, gap) for gap, word in words.items()})


def names(folder: str) -> list[str]:
    """The files of a folder, sorted."""
    return sorted(entry.name for entry in (FOLDER / folder).iterdir() if entry.is_file())


_C_TYPES = {
    DType.BOOL: "uint8_t",
    DType.INT4: "int8_t",
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.INT32: "int32_t",
    DType.INT48: "int64_t",
}
_BYTES_PER_LINE = 16
_LINE = 120


def has_c_type(dtype: str) -> bool:
    """Whether ``c_type`` knows a type."""
    return dtype.upper() in _C_TYPES


def c_type(dtype: str) -> str:
    """C's type of an element of a tensor.

    Args:
        dtype: TOSA's type, or the name of numpy's.

    Raises:
        UsageError: firmware has none for it.
    """
    if not has_c_type(dtype):
        raise UsageError(f"firmware has no type of C for {dtype.lower()}")
    return _C_TYPES[DType(dtype.upper())]


def bytes_of_array(data: bytes) -> str:
    """The initializer's lines of an array of uint8_t."""
    return _lines([f"0x{byte:02x}" for byte in data])


def numbers_of_array(data: np.ndarray[Any, Any]) -> str:
    """The initializer's lines of an array of integers."""
    return _lines([number(value) for value in data.reshape(-1).astype(np.int64).tolist()])


def _lines(items: list[str]) -> str:
    lines = (items[at : at + _BYTES_PER_LINE] for at in range(0, len(items), _BYTES_PER_LINE))
    return "\n".join(f"    {', '.join(line)}," for line in lines)


def in_lines(items: Sequence[str]) -> str:
    """Items of an initializer, as many in a line as fit."""
    return fill(", ".join(items) + ",", _LINE, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def number(value: int) -> str:
    """An integer; C has no constant for the least one of 32 bits, only a sum."""
    return "INT32_MIN" if value == -(2**31) else str(value)


def operand(value: int) -> str:
    """An integer that can follow an operator."""
    return f"({value})" if -(2**31) < value < 0 else number(value)


def float_text(value: float) -> str:
    """The shortest decimal text of the nearest float32, as a C constant."""
    (single,) = struct.unpack("<f", struct.pack("<f", value))
    for digits in range(1, 10):
        text = f"{single:.{digits}g}"
        if struct.pack("<f", float(text)) == struct.pack("<f", single):
            break
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
