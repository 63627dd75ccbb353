"""A small FlatBuffers writer (flatbuffers.dev, "Internals"): nodes written parents first, in one pass.

The ``flatbuffers`` package builds a buffer from its end through one Python call per field. Here a table is one
``struct.pack``, and equal vtables and strings are shared.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias


class Table:
    """A table; ``fields`` are the schema's in order: None where absent, an int with its struct code, or a child."""

    __slots__ = ("fields",)

    def __init__(self, *fields: Field) -> None:
        self.fields = fields


class Vector:
    """A vector of scalars, already packed: ``count`` elements in ``data``, aligned to ``alignment`` bytes."""

    __slots__ = ("alignment", "count", "data")

    def __init__(self, data: bytes | memoryview, count: int, alignment: int) -> None:
        self.data = data
        self.count = count
        self.alignment = alignment


class Offsets:
    """A vector of tables or strings."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Table | str]) -> None:
        self.items = items


#: ``(code, value)`` is a scalar of a struct code: ``i`` int32, ``I`` uint32, ``B`` uint8 and bool.
Field: TypeAlias = "tuple[str, int] | Table | Vector | Offsets | str | None"


def int32_vector(values: Sequence[int]) -> Vector:
    return Vector(struct.pack(f"<{len(values)}i", *values), len(values), 4)


@cache
def _layout(codes: tuple[str, ...]) -> tuple[bytes, struct.Struct, tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Layout of a table whose fields have these codes; ``""`` is an absent field, ``"o"`` an offset.

    Returns:
        The vtable, the table's struct, the order in which the struct takes the fields, and (field, position) of each
        offset.
    """
    # 4-byte fields first, so that only the end of the table needs padding.
    order = sorted((i for i, code in enumerate(codes) if code), key=lambda i: codes[i] == "B")
    position = 4  # after the offset to the vtable
    slots = [0] * len(codes)
    offsets = []
    text = "<i"
    for i in order:
        slots[i] = position
        if codes[i] == "o":
            offsets.append((i, position))
        text += "I" if codes[i] == "o" else codes[i]
        position += 1 if codes[i] == "B" else 4
    while slots and not slots[-1]:
        slots.pop()
    size = (position + 3) // 4 * 4
    vtable = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), size, *slots)
    return vtable, struct.Struct(text + "x" * (size - position)), tuple(order), tuple(offsets)


def write(root: Table, identifier: bytes) -> bytes:
    """The buffer whose root is ``root``, with a file identifier of four bytes."""
    out = bytearray(8)
    out[4:8] = identifier
    vtables: dict[bytes, int] = {}
    strings: dict[str, list[int]] = {}  # each string and the places that refer to it
    queue: deque[tuple[int, Table | Vector | Offsets]] = deque([(0, root)])
    put = struct.Struct("<I").pack_into

    def refer(place: int, child: Table | Vector | Offsets | str) -> None:
        if isinstance(child, str):
            strings.setdefault(child, []).append(place)
        else:
            queue.append((place, child))

    def align(to: int, extra: int = 0) -> None:
        """Pads so that the data ``extra`` bytes later is aligned."""
        out.extend(bytes(-(len(out) + extra) % to))

    while queue:
        place, node = queue.popleft()
        if isinstance(node, Table):
            codes = tuple("" if f is None else f[0] if isinstance(f, tuple) else "o" for f in node.fields)
            vtable, layout, order, offsets = _layout(codes)
            at_vtable = vtables.get(vtable)
            if at_vtable is None:
                align(2)
                at_vtable = vtables[vtable] = len(out)
                out += vtable
            align(4)
            at = len(out)
            values = [f[1] if isinstance(f := node.fields[i], tuple) else 0 for i in order]
            out += layout.pack(at - at_vtable, *values)
            for i, position in offsets:
                refer(at + position, node.fields[i])  # type: ignore[arg-type]  # codes say it is a child
        elif isinstance(node, Vector):
            align(max(node.alignment, 4), 4)
            at = len(out)
            out += struct.pack("<I", node.count)
            out += node.data
        else:
            align(4)
            at = len(out)
            count = len(node.items)
            out += struct.pack("<I", count)
            out += bytes(4 * count)
            for i, item in enumerate(node.items):
                refer(at + 4 + 4 * i, item)
        put(out, place, at - place)
    # References go forward only, so strings, which are shared, come after everything that refers to them.
    for text, places in strings.items():
        align(4)
        at = len(out)
        encoded = text.encode()
        out += struct.pack("<I", len(encoded)) + encoded + b"\0"
        for place in places:
            put(out, place, at - place)
    align(8)
    return bytes(out)
