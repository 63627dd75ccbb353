"""Inputs and outputs of a VGF, by its model sequence and the resources that this refers to.

Both sections are flatbuffers: of the sequence are read the fields ``inputs`` and ``outputs``, vectors of slots with a
binding and the number of a resource, and of a resource its format and the shape in its description. Source:
``schema/vgf.fbs`` of the VGF library 0.11.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from arm_tosa_core.plugin.target import Port
from arm_tosa_core.support.errors import UsageError

from .flatbuffer_table import Table
from .image_formats import IMAGE_FORMATS
from .vgf_format import RESOURCES, SEQUENCE, check_vgf, place, section

_INPUTS, _OUTPUTS = 1, 2  # of the sequence
_BINDING, _RESOURCE = 0, 1  # of a slot
_FORMAT, _DESCRIPTION = 1, 3  # of a resource
#: Kind and bytes of an element, by Vulkan's formats: those of images, by the arrays that hold their texels, R8_UINT and
#: so on, and those of VK_ARM_tensors.
_ELEMENTS = {
    **{row.number: ("f" if row.dtype.startswith("float") else "i", row.bytes) for row in IMAGE_FORMATS.values()},
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
        resources = Table.root(section(vgf, RESOURCES)).tables(0)
        sequence = Table.root(section(vgf, SEQUENCE))
        inputs, outputs = (
            [_port(resources[slot.number(_RESOURCE)], slot.number(_BINDING)) for slot in sequence.tables(field)]
            for field in (_INPUTS, _OUTPUTS)
        )
    except (struct.error, IndexError, KeyError) as error:
        raise UsageError(f"not a whole VGF: its model sequence cannot be read ({error!r})") from error
    return inputs, outputs


def outputs_in_order(vgf: bytes, order: Sequence[int]) -> bytes:
    """The file with the output of number ``order[i]`` at ``i``.

    Raises:
        UsageError: this is no whole VGF, or has another number of outputs.
    """
    check_vgf(vgf)
    begin, _ = place(vgf, SEQUENCE)
    data = bytearray(vgf)
    try:
        places = Table.root(section(vgf, SEQUENCE)).places(_OUTPUTS)
        if sorted(order) != list(range(len(places))):
            raise UsageError(f"the VGF has {len(places)} outputs, which {list(order)} does not order")
        for (entry, _), old in zip(places, order, strict=True):
            struct.pack_into("<I", data, begin + entry, places[old][1] - entry)
    except (struct.error, IndexError, KeyError) as error:
        raise UsageError(f"not a whole VGF: its outputs cannot be read ({error!r})") from error
    return bytes(data)


def _port(resource: Table, number: int) -> Port:
    kind, size = _ELEMENTS[resource.number(_FORMAT)]
    return Port(resource.table(_DESCRIPTION).shape(), size, kind, number)
