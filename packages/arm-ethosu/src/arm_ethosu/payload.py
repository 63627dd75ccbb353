"""The payload of the EthosU delegate: a stream of named blocks.

Layout, little-endian (ExecuTorch's ``VelaBinStream``): each block has a header of 32 bytes (name of 16 bytes, zero
padded; length of the data, uint32; flag that the data lies outside of the stream, uint8; 11 reserved bytes), then its
data, zero padded to 16 bytes. The blocks are, in order, ``vela_bin_stream`` (empty), ``cmd_data``, ``weight_data``,
``scratch_size`` (uint32, bytes), ``inputs``, ``outputs``, ``vela_end_stream`` (empty). An ``inputs`` or ``outputs``
block holds a count, then nine int32 per tensor: shape (6), bytes per element, offset in its region, region.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from arm_tosa_core.support.errors import UsageError

from .vela import IO_RANK, Arrays, checked

_HEADER = struct.Struct("<16sIB11x")
_ALIGNMENT = 16
_FIRST, _LAST = "vela_bin_stream", "vela_end_stream"
_BLOCKS = (_FIRST, "cmd_data", "weight_data", "scratch_size", "inputs", "outputs", _LAST)
_FIELDS = ("elem_size", "offset", "region")
_WORDS = IO_RANK + len(_FIELDS)


def pack(arrays: Arrays) -> bytes:
    """The block stream of what Vela wrote (``VelaOutput.arrays``).

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


def _block(name: str, data: bytes | memoryview) -> tuple[bytes | memoryview, ...]:
    _within(len(data), 2**32 - 1, name)
    return _HEADER.pack(name.encode(), len(data), 0), data, bytes(-len(data) % _ALIGNMENT)


def _tensors(arrays: Arrays, direction: str) -> bytes:
    columns = [arrays[f"{direction}_shape"], *(arrays[f"{direction}_{field}"][:, None] for field in _FIELDS)]
    table = np.concatenate(columns, axis=1)
    for value in table.flat:
        # Vela writes -1 as 2**64 - 1 where a tensor has no place; the cast to int64 has brought that back.
        _within(abs(int(value)), 2**31 - 1, f"{direction} tensor")
    rows: bytes = table.astype("<i4").tobytes()
    return struct.pack("<i", len(table)) + rows


def _within(value: int, limit: int, what: str) -> int:
    if value > limit:
        raise UsageError(f"{what}: {value} does not fit the EthosU payload, whose limit is {limit}")
    return int(value)


def unpack(payload: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that ``payload`` was packed from: ``numpy.savez(file, **unpack(payload))`` is Vela's ``.npz`` again.

    Raises:
        UsageError: not such a payload; says what is wrong, and where.
    """
    blocks = _read_blocks(payload)
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


def _unpacked(layout: str, data: bytes, name: str) -> tuple[int, ...]:
    if len(data) != struct.calcsize(layout):
        raise UsageError(f"EthosU payload: block {name} has {len(data)} bytes, expected {struct.calcsize(layout)}")
    return struct.unpack(layout, data)


def _read_blocks(payload: bytes) -> dict[str, bytes]:
    blocks: dict[str, bytes] = {}
    at = 0
    for expected in _BLOCKS:
        if at + _HEADER.size > len(payload):
            raise UsageError(f"EthosU payload ends at byte {len(payload)}, before block {expected}")
        raw, length, outside = _HEADER.unpack_from(payload, at)
        name = raw.rstrip(b"\0").decode("ascii", errors="replace")
        if name != expected:
            raise UsageError(f"EthosU payload: block {name!r} at byte {at}, expected {expected!r}")
        if outside:
            raise UsageError(f"EthosU payload: the data of block {name} lies outside of the program, in a .ptd file")
        start = at + _HEADER.size
        at = start + length + -length % _ALIGNMENT
        if at > len(payload):
            raise UsageError(f"EthosU payload ends at byte {len(payload)}, inside block {name} of {length} bytes")
        blocks[name] = payload[start : start + length]
    if at != len(payload):
        raise UsageError(f"EthosU payload: {len(payload) - at} bytes after {_LAST}")
    return blocks
