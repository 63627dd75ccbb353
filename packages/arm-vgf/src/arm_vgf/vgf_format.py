"""The header of a VGF file, as far as it takes to tell a whole one from garbage.

Source: the VGF library 0.11, ``vgf/decoder.h``: little-endian, 128 bytes; magic "VGF1" at 0, version at 8 (major,
minor and patch, a byte each), then offset and size in bytes of the four sections, 16 bytes each from 16.
"""

from __future__ import annotations

import struct

from arm_tosa_core.support.errors import UsageError

#: The ExecuTorch delegate whose payload it is.
BACKEND_ID = "VgfBackend"
MAGIC = b"VGF1"
HEADER_SIZE = 128
#: Numbers of sections; the fourth holds the constants.
MODULES, SEQUENCE, RESOURCES = 0, 1, 2
_SECTIONS = ("modules", "model sequence", "model resources", "constants")


def check_vgf(data: bytes) -> None:
    """Checks that ``data`` begins with a VGF header and holds the sections that it lists.

    Raises:
        UsageError: it does not; names the fault.
    """
    if data[:4] != MAGIC:
        raise UsageError(f"not a VGF: it begins with {data[:4]!r} instead of {MAGIC!r}")
    if len(data) < HEADER_SIZE:
        raise UsageError(f"not a whole VGF: {len(data)} bytes, and the header alone takes {HEADER_SIZE}")
    for number, section in enumerate(_SECTIONS):
        offset, size = place(data, number)
        if offset + size > len(data):
            raise UsageError(f"not a whole VGF: its {section} end at byte {offset + size} of {len(data)}")


def place(data: bytes | bytearray, number: int) -> tuple[int, int]:
    """Where a section begins, and its bytes."""
    begin, size = struct.unpack_from("<QQ", data, 16 + 16 * number)
    return begin, size


def section(data: bytes, number: int) -> bytes:
    """The bytes of a section."""
    begin, size = place(data, number)
    return data[begin : begin + size]


def with_version(data: bytes, version: tuple[int, int, int]) -> bytes:
    """A whole VGF with another version of the format in its header; what the sections hold is the same in 0.4 and 0.5.

    Args:
        version: major, minor and patch, a byte each.
    """
    return data[:8] + bytes(version) + data[11:]
