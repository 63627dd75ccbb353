"""Reading flatbuffers without their schema's classes: a table's fields by their numbers."""

from __future__ import annotations

import struct


class Table:
    """A table of a flatbuffer: where it begins."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    @staticmethod
    def root(data: bytes) -> Table:
        return Table(data, struct.unpack_from("<I", data)[0])

    def _field(self, number: int) -> int:
        """The offset of a field; 0: it is absent."""
        fields = self._at - struct.unpack_from("<i", self._data, self._at)[0]
        (size,) = struct.unpack_from("<H", self._data, fields)
        if 4 + 2 * number >= size:
            return 0
        (offset,) = struct.unpack_from("<H", self._data, fields + 4 + 2 * number)
        return self._at + offset if offset else 0

    def number(self, field: int, default: int = 0) -> int:
        """A field of 32 bits."""
        at = self._field(field)
        return struct.unpack_from("<I", self._data, at)[0] if at else default

    def byte(self, field: int) -> int:
        """A field of 8 bits."""
        at = self._field(field)
        return self._data[at] if at else 0

    def text(self, field: int) -> str:
        at, count = self.vector(field)
        return self._data[at : at + count].decode(errors="replace")

    def table(self, field: int) -> Table:
        at = self._field(field)
        if not at:
            raise KeyError(field)
        return Table(self._data, self._followed(at))

    def tables(self, field: int) -> list[Table]:
        """A vector of tables."""
        return [Table(self._data, table) for _, table in self.places(field)]

    def shape(self) -> tuple[int, ...]:
        """The shape in a description: its first field, a vector of int64."""
        at, count = self.vector(0)
        return struct.unpack_from(f"<{count}q", self._data, at)

    def places(self, field: int) -> list[tuple[int, int]]:
        """Of a vector of tables: where each entry is, and the table that it refers to."""
        at, count = self.vector(field)
        return [(at + 4 * i, self._followed(at + 4 * i)) for i in range(count)]

    def vector(self, field: int) -> tuple[int, int]:
        """Where a vector's elements begin, and how many there are."""
        at = self._field(field)
        if not at:
            return 0, 0
        start = self._followed(at)
        return start + 4, struct.unpack_from("<I", self._data, start)[0]

    def _followed(self, at: int) -> int:
        place: int = at + struct.unpack_from("<I", self._data, at)[0]
        return place
