"""The block stream: packed, read back, and every way in which it can be damaged."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from vela_arrays import arrays

from arm_ethosu import payload
from arm_tosa_core.support.errors import UsageError


def test_layout() -> None:
    data = payload.pack(arrays())
    header = struct.Struct("<16sIB11s")
    found = []
    at = 0
    while at < len(data):
        name, length, outside, reserved = header.unpack_from(data, at)
        assert at % 16 == 0 and outside == 0 and reserved == bytes(11)
        found.append((name.rstrip(b"\0").decode(), data[at + 32 : at + 32 + length]))
        at += 32 + (length + 15) // 16 * 16
    assert at == len(data)
    assert [name for name, _ in found] == [
        "vela_bin_stream", "cmd_data", "weight_data", "scratch_size", "inputs", "outputs", "vela_end_stream",
    ]  # fmt: skip
    blocks = dict(found)
    assert blocks["cmd_data"] == b"COP1\0\1\2\0"
    assert blocks["scratch_size"] == struct.pack("<I", 64)
    assert blocks["inputs"] == struct.pack("<10i", 1, 1, 1, 1, 2, 3, 4, 1, 1, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"weight_data": np.array([], np.uint8)},
        {"input_shape": np.array([]), **{f"input_{k}": np.array([]) for k in ("elem_size", "offset", "region")}},
        {"input_offset": np.array([2**64 - 1], np.uint64)},
    ],
)
def test_round_trip(changes: dict[str, np.ndarray]) -> None:
    packed = payload.pack(arrays(**changes))
    unpacked = payload.unpack(packed)
    assert payload.pack(unpacked) == packed
    assert unpacked["cmd_data"].tobytes() == b"COP1\0\1\2\0"
    assert unpacked["scratch_size"] == 64
    assert unpacked["output_shape"].tolist() == [[1, 1, 1, 2, 3, 5]]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"scratch_size": np.array(2**32)}, "scratch_size: 4294967296 does not fit"),
        ({"output_offset": np.array([2**31])}, "output tensor: 2147483648 does not fit"),
    ],
)
def test_too_large(changes: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        payload.pack(arrays(**changes))


def _damaged(at: int, data: bytes) -> bytes:
    good = payload.pack(arrays())
    return good[:at] + data + good[at + len(data) :]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "ends at byte 0, before block vela_bin_stream"),
        (b"not a payload" * 20, "block 'not a payload.*' at byte 0, expected 'vela_bin_stream'"),
        (_damaged(32, b"x"), "block 'xmd_data' at byte 32, expected 'cmd_data'"),
        (_damaged(52, b"\1"), "block cmd_data is a name of 8 bytes, expected 64"),
        (payload.with_names(payload.pack(arrays()), ["cmd_data"])[0], "block cmd_data is named data that the program "),
        (_damaged(48, struct.pack("<I", 10**6)), "inside block cmd_data of 1000000 bytes"),
        (payload.pack(arrays())[:-32], "before block vela_end_stream"),
        (payload.pack(arrays()) + b"more", "4 bytes after vela_end_stream"),
    ],
)
def test_damaged(data: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        payload.unpack(data)


def test_wrong_count_of_tensors() -> None:
    good = payload.pack(arrays())
    at = good.index(b"inputs\0") + 32
    with pytest.raises(UsageError, match="block inputs has 40 bytes for 2 tensors"):
        payload.unpack(good[:at] + struct.pack("<i", 2) + good[at + 4 :])


def test_blocks_become_names_and_come_back() -> None:
    plain = payload.pack(arrays())
    without, blocks = payload.with_names(plain, ["cmd_data", "weight_data"])
    assert [(each.block, each.data) for each in blocks] == [
        ("cmd_data", b"COP1\0\1\2\0"),
        ("weight_data", b"w" * 17),
    ]
    named, (_, weights) = {each.name: each.data for each in blocks}, blocks
    at = without.index(b"weight_data")
    assert struct.unpack_from("<IB", without, at + 16) == (64, 1)
    assert without[at + 32 : at + 96] == weights.name.encode()
    assert payload.whole(without, named) == plain == payload.whole(plain, {})
    assert payload.unpack(without, named)["weight_data"].tobytes() == b"w" * 17
    _, again = payload.with_names(payload.pack(arrays(scratch_size=np.array(80))), ["weight_data"])
    assert again == [weights], "equal blocks have one name"
    message = f"weight_data is named data that the program does not hold.*{weights.name}"
    with pytest.raises(UsageError, match=message):
        payload.unpack(without, {blocks[0].name: blocks[0].data})


def test_an_empty_block_stays() -> None:
    """Named data of no bytes has no address."""
    plain = payload.pack(arrays(weight_data=np.array([], np.uint8)))
    assert payload.with_names(plain, ["weight_data"]) == (plain, [])
