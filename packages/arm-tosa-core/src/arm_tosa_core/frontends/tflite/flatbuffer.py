"""Reading a FlatBuffers file from elsewhere: every offset and length is checked before it is followed."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...support.errors import UsageError

_SIZES = {"b": 1, "B": 1, "?": 1, "H": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8}
_TYPES = {"b": "i1", "B": "u1", "H": "<u2", "i": "<i4", "f": "<f4", "q": "<i8"}


class Table:
    """A table; fields go by their number in the schema, and an absent one has the schema's default."""

    #: One with no field.
    EMPTY: ClassVar[Table]

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    @classmethod
    def root(cls, data: bytes) -> Table:
        return cls(data, _number(data, 0, "I"))

    def number(self, field: int, code: str = "i", default: Any = 0) -> Any:
        """A number of a struct code."""
        place = self._place(field)
        return default if place is None else _number(self._data, place, code)

    def text(self, field: int) -> str:
        return self.array(field, "B").tobytes().decode("utf-8", "replace")

    def child(self, field: int) -> Table | None:
        """A table within this one."""
        place = self._place(field)
        return None if place is None else Table(self._data, self._target(place))

    def children(self, field: int) -> list[Table]:
        """A vector of tables."""
        start, count = self._vector(field, 4)
        return [Table(self._data, self._target(start + 4 * i)) for i in range(count)]

    def array(self, field: int, code: str) -> np.ndarray[Any, Any]:
        """A vector of numbers: the file's memory."""
        start, count = self._vector(field, _SIZES[code])
        return np.frombuffer(self._data, _TYPES[code], count, start)

    def integers(self, field: int, code: str = "i") -> list[int]:
        numbers: list[int] = self.array(field, code).tolist()
        return numbers

    def has(self, field: int) -> bool:
        return self._place(field) is not None

    def _place(self, field: int) -> int | None:
        offset = _number(self._data, self._vtable + 4 + 2 * field, "H") if field < self._fields else 0
        return self._at + offset if offset else None

    @cached_property
    def _vtable(self) -> int:
        return self._at - int(_number(self._data, self._at, "i"))

    @cached_property
    def _fields(self) -> int:
        return (int(_number(self._data, self._vtable, "H")) - 4) // 2

    def _target(self, place: int) -> int:
        return place + int(_number(self._data, place, "I"))

    def _vector(self, field: int, size: int) -> tuple[int, int]:
        place = self._place(field)
        if place is None:
            return 0, 0
        start = self._target(place)
        count = int(_number(self._data, start, "I"))
        if count * size > len(self._data) - start - 4:
            raise UsageError("a vector goes beyond the file's end")
        return start + 4, count


Table.EMPTY = Table(struct.pack("<HHi", 4, 4, 4), 4)


def _number(data: bytes, at: int, code: str) -> Any:
    if not 0 <= at <= len(data) - _SIZES[code]:
        raise UsageError("an offset leads out of the file")
    return struct.unpack_from(f"<{code}", data, at)[0]
