"""A ``.ptd``: named data beside a program (ExecuTorch's extension/flat_tensor/serialize/flat_tensor.fbs)."""

from __future__ import annotations

import hashlib
import re
import struct

from ..support import foreign
from ..support.errors import UsageError

#: Behind the flatbuffer's root and identifier: magic, bytes of the header, offset and bytes of the flatbuffer, and of
#: the segments.
_HEADER = struct.Struct("<4sI4Q")
_MAGIC, _HEADER_AT = b"FH01", 8
#: Fields of the tables FlatTensor, DataSegment and NamedData, by their offsets in a vtable.
_SEGMENTS, _NAMED_DATA, _OFFSET, _SIZE, _KEY, _SEGMENT_INDEX = 6, 8, 4, 6, 4, 6


def read_data_file(file: bytes) -> dict[str, bytes]:
    """The data of each name.

    Raises:
        UsageError: this is no ``.ptd``, or a damaged one.
    """
    if file[4:6] != b"FT":
        raise UsageError(f"not a .ptd: bytes 4 to 8 are {file[4:8]!r} instead of b'FT01' or the like")
    try:
        found = _data(file)
    except (struct.error, UnicodeDecodeError, UsageError) as error:
        raise UsageError(f"damaged .ptd of {len(file)} bytes, compile the program again: {error}") from error
    for name, data in found.items():
        # What the compiler puts there is called after its digest; constants of the CPU have other names.
        if re.fullmatch("[0-9a-f]{64}", name) and hashlib.sha256(data).hexdigest() != name:
            raise UsageError(f"damaged .ptd of {len(file)} bytes, copy it again: the data {name} has another digest")
    return found


def _data(file: bytes) -> dict[str, bytes]:
    magic, _, _, _, base, _ = _HEADER.unpack_from(file, _HEADER_AT)
    if magic != _MAGIC:
        raise UsageError(f"bytes 8 to 12 are {magic!r} instead of {_MAGIC!r}")
    root = _number(file, 0, "<I")
    segments = [_segment(file, base, table) for table in _tables(file, root, _SEGMENTS)]
    if (size := sum(map(len, segments))) > len(file):  # names share segments, which lie side by side
        raise UsageError(f"its data has {size} bytes")
    found = {}
    for entry in _tables(file, root, _NAMED_DATA):
        name = _text(file, _pointed(file, entry, _KEY))
        number = _scalar(file, entry, _SEGMENT_INDEX, "<I")
        foreign.index(number, len(segments), "segment")
        found[name] = bytes(segments[number])
    return found


def _segment(file: bytes, base: int, table: int) -> memoryview:
    begin = base + _scalar(file, table, _OFFSET, "<Q")
    end = begin + _scalar(file, table, _SIZE, "<Q")
    if end > len(file):
        raise UsageError(f"data ends at byte {end}")
    return memoryview(file)[begin:end]


def _number(file: bytes, at: int, kind: str) -> int:
    if at < 0:
        raise UsageError(f"an offset leads to byte {at}")
    (number,) = struct.unpack_from(kind, file, at)
    return int(number)


def _field(file: bytes, table: int, field: int) -> int | None:
    """The position of a field of a table; None: it has its default."""
    vtable = table - _number(file, table, "<i")
    if field >= _number(file, vtable, "<H"):
        return None
    offset = _number(file, vtable + field, "<H")
    return table + offset if offset else None


def _scalar(file: bytes, table: int, field: int, kind: str) -> int:
    at = _field(file, table, field)
    return 0 if at is None else _number(file, at, kind)


def _pointed(file: bytes, table: int, field: int) -> int:
    at = _field(file, table, field)
    if at is None:
        raise UsageError("a table lacks a field")
    return at + _number(file, at, "<I")


def _tables(file: bytes, table: int, field: int) -> list[int]:
    """The positions of a vector's tables."""
    if _field(file, table, field) is None:
        return []
    at = _pointed(file, table, field)
    count = _number(file, at, "<I")
    if count > len(file):
        raise UsageError(f"a vector of {count} tables")
    places = range(at + 4, at + 4 + 4 * count, 4)
    return [place + _number(file, place, "<I") for place in places]


def _text(file: bytes, at: int) -> str:
    size = _number(file, at, "<I")
    (text,) = struct.unpack_from(f"{min(size, len(file))}s", file, at + 4)
    return str(text, "utf-8")
