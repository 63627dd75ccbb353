"""A ``.ptd``: named data beside a program (ExecuTorch's extension/flat_tensor/serialize/flat_tensor.fbs)."""

from __future__ import annotations

import hashlib
import re
import struct

from flatbuffers.number_types import Uint32Flags, Uint64Flags
from flatbuffers.table import Table

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
    except (struct.error, TypeError, UnicodeDecodeError, UsageError) as error:
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
    root = Table(file, 0)
    root.Pos = root.Indirect(0)
    segments = [_segment(file, base, table) for table in _tables(root, _SEGMENTS)]
    if (size := sum(map(len, segments))) > len(file):  # names share segments, which lie side by side
        raise UsageError(f"its data has {size} bytes")
    found = {}
    for entry in _tables(root, _NAMED_DATA):
        if not (key := entry.Offset(_KEY)):
            raise UsageError("data has no name")
        name = str(entry.String(entry.Pos + key), "utf-8")
        number = entry.GetSlot(_SEGMENT_INDEX, 0, Uint32Flags)
        foreign.index(number, len(segments), "segment")
        found[name] = bytes(segments[number])
    return found


def _segment(file: bytes, base: int, table: Table) -> memoryview:
    begin = base + table.GetSlot(_OFFSET, 0, Uint64Flags)
    end = begin + table.GetSlot(_SIZE, 0, Uint64Flags)
    if end > len(file):
        raise UsageError(f"data ends at byte {end}")
    return memoryview(file)[begin:end]


def _tables(table: Table, field: int) -> list[Table]:
    """Those of a vector."""
    if not (at := table.Offset(field)):
        return []
    if (count := table.VectorLen(at)) > len(table.Bytes):
        raise UsageError(f"a vector of {count} tables")
    first = table.Vector(at)
    return [Table(table.Bytes, table.Indirect(first + 4 * i)) for i in range(count)]
