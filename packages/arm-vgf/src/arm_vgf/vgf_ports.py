"""Inputs and outputs of a VGF, by its model sequence and the resources that this refers to.

Both sections are flatbuffers: of the sequence are read the fields ``inputs`` and ``outputs``, vectors of slots with a
binding and the number of a resource, and of a resource its format and the shape in its description. Source:
``schema/vgf.fbs`` of the VGF library 0.11.
"""

from __future__ import annotations

import struct

from arm_tosa_core.plugin.target import Port
from arm_tosa_core.support.errors import UsageError

from .vgf_format import check_vgf

_SEQUENCE, _RESOURCES = 1, 2  # sections
_INPUTS, _OUTPUTS = 1, 2  # of the sequence
_BINDING, _RESOURCE = 0, 1  # of a slot
_FORMAT, _DESCRIPTION = 1, 3  # of a resource
#: Kind and bytes of an element, by Vulkan's formats: R8_UINT and so on, and those of VK_ARM_tensors.
_ELEMENTS = {
    **dict.fromkeys((13, 14), ("i", 1)),
    **dict.fromkeys((74, 75), ("i", 2)),
    **dict.fromkeys((98, 99), ("i", 4)),
    **dict.fromkeys((110, 111), ("i", 8)),
    76: ("f", 2),
    100: ("f", 4),
    1000460000: ("b", 1),
    1000460001: ("f", 2),
    1000460002: ("f", 1),
    1000460003: ("f", 1),
}


def ports(vgf: bytes) -> tuple[list[Port], list[Port]]:
    """Inputs and outputs, as ``Compiler.ports``.

    Raises:
        UsageError: this is no whole VGF.
    """
    check_vgf(vgf)
    try:
        resources = _Table.root(_section(vgf, _RESOURCES)).tables(0)
        sequence = _Table.root(_section(vgf, _SEQUENCE))
        inputs, outputs = (
            [_port(resources[slot.number(_RESOURCE)], slot.number(_BINDING)) for slot in sequence.tables(field)]
            for field in (_INPUTS, _OUTPUTS)
        )
    except (struct.error, IndexError, KeyError) as error:
        raise UsageError(f"not a whole VGF: its model sequence cannot be read ({error!r})") from error
    return inputs, outputs


def _section(vgf: bytes, number: int) -> bytes:
    offset, size = struct.unpack_from("<QQ", vgf, 16 + 16 * number)
    return vgf[offset : offset + size]


def _port(resource: _Table, place: int) -> Port:
    kind, size = _ELEMENTS[resource.number(_FORMAT)]
    return Port(resource.table(_DESCRIPTION).shape(), size, kind, place)


class _Table:
    """A table of a flatbuffer: where it begins."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    @staticmethod
    def root(data: bytes) -> _Table:
        return _Table(data, struct.unpack_from("<I", data)[0])

    def _field(self, number: int) -> int:
        """The offset of a field; 0: it is absent."""
        fields = self._at - struct.unpack_from("<i", self._data, self._at)[0]
        (size,) = struct.unpack_from("<H", self._data, fields)
        if 4 + 2 * number >= size:
            return 0
        (offset,) = struct.unpack_from("<H", self._data, fields + 4 + 2 * number)
        return self._at + offset if offset else 0

    def number(self, field: int) -> int:
        at = self._field(field)
        return struct.unpack_from("<I", self._data, at)[0] if at else 0

    def table(self, field: int) -> _Table:
        at = self._field(field)
        if not at:
            raise KeyError(field)
        return _Table(self._data, self._followed(at))

    def tables(self, field: int) -> list[_Table]:
        at, count = self._vector(field)
        return [_Table(self._data, self._followed(at + 4 * i)) for i in range(count)]

    def shape(self) -> tuple[int, ...]:
        """The shape in a description: its first field, a vector of int64."""
        at, count = self._vector(0)
        return struct.unpack_from(f"<{count}q", self._data, at)

    def _vector(self, field: int) -> tuple[int, int]:
        at = self._field(field)
        if not at:
            return 0, 0
        start = self._followed(at)
        return start + 4, struct.unpack_from("<I", self._data, start)[0]

    def _followed(self, at: int) -> int:
        place: int = at + struct.unpack_from("<I", self._data, at)[0]
        return place
