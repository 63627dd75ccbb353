"""Versions of the VGF format that a user may ask for.

A decoder reads its own minor version and older ones. The model converter 0.11 writes 0.5; libraries up to 0.9, and
tools with one of them inside, read 0.4. A file of one graph says the same in both. What 0.5 adds is more about shaders
(source code, samplers, aliased resources, numbers of descriptor sets), and a list of which constant has which number
in the graph, where 0.4 has them in order. Source: ``decoder.h`` of the VGF library 0.9 and 0.11.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from arm_tosa_core.support.errors import UsageError

from .flatbuffer_table import Table
from .vgf_format import SEQUENCE, check_vgf, section, with_version

#: What an option may say, and the whole number that is written.
VERSIONS = {"0.4": (0, 4, 3), "0.5": (0, 5, 0)}
_TYPE, _CONSTANTS, _BINDINGS = 0, 6, 9  # of a segment
_GRAPH = 1  # a type of segment
_INDEX, _NUMBER = 0, 1  # of a constant's binding


def require_version(version: object) -> None:
    """Refuses versions that are none.

    Raises:
        UsageError: it is another value than a key of ``VERSIONS``.
    """
    if version not in VERSIONS:
        raise UsageError(f"vgf_version is {' or '.join(VERSIONS)}, not {version!r}")


def as_version(vgf: bytes, version: str) -> bytes:
    """A VGF of the model converter in this version of the format.

    Args:
        version: a key of ``VERSIONS``.

    Raises:
        UsageError: it is no whole VGF, the converter wrote another version, or the VGF has what this one cannot say.
    """
    check_vgf(vgf)
    major, minor = vgf[8], vgf[9]
    if (wanted := VERSIONS[version])[:2] == (major, minor):
        return vgf
    if (major, minor) != VERSIONS["0.5"][:2]:
        raise UsageError(f"vgf_version {version}: the model converter that is installed writes VGF {major}.{minor}")
    try:
        segments = _segments(vgf)
        if not _is_graph(segments):
            raise UsageError(
                f"vgf_version {version}: the program has compute shaders, which VGF {version} says less of: use 0.5"
            )
        if not _is_in_order(vgf, segments[0]):
            raise UsageError(f"vgf_version {version}: the graph has constants in another order than theirs: use 0.5")
    except (struct.error, IndexError, KeyError) as error:
        raise UsageError(f"not a whole VGF: its model sequence cannot be read ({error!r})") from error
    return with_version(vgf, wanted)


def has_shaders(vgf: bytes) -> bool:
    """Whether a whole VGF has something else than one graph; False too where its sequence cannot be read."""
    try:
        return not _is_graph(_segments(vgf))
    except (struct.error, IndexError, KeyError):
        return False


def _segments(vgf: bytes) -> list[Table]:
    return Table.root(section(vgf, SEQUENCE)).tables(0)


def _is_graph(segments: Sequence[Table]) -> bool:
    return len(segments) == 1 and segments[0].byte(_TYPE) == _GRAPH


def _is_in_order(vgf: bytes, segment: Table) -> bool:
    """Whether each constant of a segment has the number of its place."""
    at, count = segment.vector(_CONSTANTS)
    listed = struct.unpack_from(f"<{count}I", section(vgf, SEQUENCE), at)
    bound = [(binding.number(_INDEX), binding.number(_NUMBER)) for binding in segment.tables(_BINDINGS)]
    return bound == [(index, place) for place, index in enumerate(listed)] and listed == tuple(range(count))
