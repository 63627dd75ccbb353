"""The payload of the EthosU delegate: a stream of named blocks.

Layout, little-endian (ExecuTorch's ``VelaBinStream``): each block has a header of 32 bytes (name of 16 bytes, zero
padded; length of the data, uint32; flag that the data is a name, uint8; 11 reserved bytes), then its data, zero padded
to 16 bytes. A name has 64 characters, and the block is ExecuTorch's *named data* of that name, in the ``.pte`` or in a
``.ptd``. The blocks are, in order, ``vela_bin_stream`` (empty), ``cmd_data``, ``weight_data``,
``scratch_size`` (uint32, bytes), ``inputs``, ``outputs``, ``vela_end_stream`` (empty). An ``inputs`` or ``outputs``
block holds a count, then nine int32 per tensor: shape (6), bytes per element, offset in its region, region.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from arm_tosa_core.plugin.target import Port
from arm_tosa_core.support.errors import UsageError

from .vela import IO_RANK, Arrays, checked

_HEADER = struct.Struct("<16sIB11x")
#: Of blocks, and of named data.
ALIGNMENT = 16
_NAME_SIZE = 64
_FIRST, _LAST = "vela_bin_stream", "vela_end_stream"
_BLOCKS = (_FIRST, "cmd_data", "weight_data", "scratch_size", "inputs", "outputs", _LAST)
_FIELDS = ("elem_size", "offset", "region")
_WORDS = IO_RANK + len(_FIELDS)


def pack(arrays: Arrays) -> bytes:
    """The block stream of Vela's arrays (``VelaOutput.arrays``).

    Raises:
        ValueError: an array is missing or malformed.
        UsageError: a size or an offset does not fit the format's 32 bits.
    """
    arrays = checked(arrays)
    contents: dict[str, bytes | memoryview] = {
        _FIRST: b"",
        "cmd_data": arrays["cmd_data"].data,
        "weight_data": arrays["weight_data"].data,
        "scratch_size": struct.pack("<I", _within(arrays["scratch_size"].item(), 2**32 - 1, "scratch_size")),
        "inputs": _tensors(arrays, "input"),
        "outputs": _tensors(arrays, "output"),
        _LAST: b"",
    }
    return b"".join(part for name, data in contents.items() for part in _block(name, data))


def _block(name: str, data: bytes | memoryview, named: bool = False) -> tuple[bytes | memoryview, ...]:
    _within(len(data), 2**32 - 1, name)
    return _HEADER.pack(name.encode(), len(data), named), data, bytes(-len(data) % ALIGNMENT)


@dataclass(frozen=True)
class NamedBlock:
    """A block that lies outside of its payload."""

    block: str
    name: str
    data: bytes


def with_names(payload: bytes, chosen: Collection[str]) -> tuple[bytes, list[NamedBlock]]:
    """The payload with names in place of some of its blocks, and those.

    The name of a block is a digest of it, so that equal blocks of several payloads have one name. Empty blocks stay.

    Args:
        chosen: such as ``weight_data``.

    Raises:
        UsageError: not such a payload.
    """
    parts: list[bytes | memoryview] = []
    named = []
    for block, data in _read_blocks(payload, {}).items():
        if block in chosen and data:
            named.append(NamedBlock(block, hashlib.sha256(data).hexdigest(), data))
            parts += _block(block, named[-1].name.encode(), named=True)
        else:
            parts += _block(block, data)
    return b"".join(parts), named


def whole(payload: bytes, named: Mapping[str, bytes]) -> bytes:
    """The payload with data in place of the names of blocks.

    Args:
        named: of the program and of the files that belong to it.

    Raises:
        UsageError: not such a payload, or ``named`` lacks a name.
    """
    return b"".join(part for item in _read_blocks(payload, named).items() for part in _block(*item))


def _tensors(arrays: Arrays, direction: str) -> bytes:
    columns = [arrays[f"{direction}_shape"], *(arrays[f"{direction}_{field}"][:, None] for field in _FIELDS)]
    table = np.concatenate(columns, axis=1)
    for value in table.flat:
        # Vela writes -1 as 2**64 - 1 where a tensor has no place; the cast to int64 has brought that back.
        _within(abs(int(value)), 2**31 - 1, f"{direction} tensor")
    rows: bytes = table.astype("<i4").tobytes()
    return struct.pack("<i", len(table)) + rows


def _within(value: int, limit: int, field: str) -> int:
    if value > limit:
        raise UsageError(f"{field}: {value} does not fit the EthosU payload, whose limit is {limit}")
    return int(value)


def unpack(payload: bytes, named: Mapping[str, bytes] | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that ``payload`` was packed from: ``numpy.savez(file, **unpack(payload))`` is Vela's ``.npz`` again.

    Args:
        named: as of ``whole``.

    Raises:
        UsageError: not such a payload; names the fault and its place.
    """
    blocks = _read_blocks(payload, named or {})
    (scratch,) = _unpacked("<I", blocks["scratch_size"], "scratch_size")
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "cmd_data": np.frombuffer(blocks["cmd_data"], dtype=np.uint8),
        "weight_data": np.frombuffer(blocks["weight_data"], dtype=np.uint8),
        "scratch_size": np.array(scratch, dtype=np.int64),
        "scratch_shape": np.array([scratch], dtype=np.int64),
    }
    for direction in ("input", "output"):
        data = blocks[f"{direction}s"]
        (count,) = _unpacked("<i", data[:4], f"{direction}s")
        if count < 0 or len(data) != 4 + 4 * _WORDS * count:
            raise UsageError(f"EthosU payload: block {direction}s has {len(data)} bytes for {count} tensors")
        table = np.frombuffer(data[4:], dtype="<i4").reshape(count, _WORDS).astype(np.int64)
        arrays[f"{direction}_shape"] = table[:, :IO_RANK]
        for i, field in enumerate(_FIELDS):
            arrays[f"{direction}_{field}"] = table[:, IO_RANK + i]
    return arrays


def ports(payload: bytes) -> tuple[list[Port], list[Port]]:
    """Inputs and outputs, as ``Compiler.ports``: Vela says shapes of its own, of as many elements."""
    arrays = unpack(payload)
    inputs, outputs = (
        [
            Port((prod(shape),), size)
            for shape, size in zip(arrays[f"{kind}_shape"].tolist(), arrays[f"{kind}_elem_size"].tolist(), strict=True)
        ]
        for kind in ("input", "output")
    )
    return inputs, outputs


def _unpacked(layout: str, data: bytes, name: str) -> tuple[int, ...]:
    if len(data) != struct.calcsize(layout):
        raise UsageError(f"EthosU payload: block {name} has {len(data)} bytes, expected {struct.calcsize(layout)}")
    return struct.unpack(layout, data)


def _read_blocks(payload: bytes, named: Mapping[str, bytes]) -> dict[str, bytes]:
    blocks: dict[str, bytes] = {}
    at = 0
    for expected in _BLOCKS:
        if at + _HEADER.size > len(payload):
            raise UsageError(f"EthosU payload ends at byte {len(payload)}, before block {expected}")
        raw, length, is_name = _HEADER.unpack_from(payload, at)
        name = raw.rstrip(b"\0").decode("ascii", errors="replace")
        if name != expected:
            raise UsageError(f"EthosU payload: block {name!r} at byte {at}, expected {expected!r}")
        start = at + _HEADER.size
        at = start + length + -length % ALIGNMENT
        if at > len(payload):
            raise UsageError(f"EthosU payload ends at byte {len(payload)}, inside block {name} of {length} bytes")
        data = payload[start : start + length]
        blocks[name] = _data_of(name, data, named) if is_name else data
    if at != len(payload):
        raise UsageError(f"EthosU payload: {len(payload) - at} bytes after {_LAST}")
    return blocks


def _data_of(block: str, name: bytes, named: Mapping[str, bytes]) -> bytes:
    if len(name) != _NAME_SIZE:
        raise UsageError(f"EthosU payload: block {block} is a name of {len(name)} bytes, expected {_NAME_SIZE}")
    text = name.decode("ascii", errors="replace")
    if text not in named:
        raise UsageError(
            f"EthosU payload: block {block} is named data that the program does not hold: it is in a .ptd file beside "
            f"it, which must be given too; or compile the program without external constants (name {text})"
        )
    return bytes(named[text])
