"""Payloads are hostile until checked: each fault has its own words, and none is a crash."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

HEADER = struct.Struct("<16sIB11x")
NAMES = ("vela_bin_stream", "cmd_data", "weight_data", "scratch_size", "inputs", "outputs", "vela_end_stream")
Blocks = list[tuple[str, bytes, int]]
WORD = ctypes.sizeof(ctypes.c_size_t)


def blocks(payload: bytes) -> Blocks:
    """Name, data and kind of each block."""
    found, at = [], 0
    while at < len(payload):
        name, size, kind = HEADER.unpack_from(payload, at)
        at += HEADER.size
        found.append((name.rstrip(b"\0").decode(), payload[at : at + size], kind))
        at += size + -size % 16
    return found


def pack(parts: Blocks) -> bytes:
    return b"".join(
        HEADER.pack(name.encode(), len(data), kind) + data + bytes(-len(data) % 16) for name, data, kind in parts
    )


def changed(name: str, data: Callable[[bytes], bytes], kind: int = 0) -> Callable[[Blocks], bytes]:
    """Changes one block."""
    return lambda parts: pack([(n, data(d), kind) if n == name else (n, d, k) for n, d, k in parts])


def row(**words: int) -> Callable[[bytes], bytes]:
    """Changes words of the first row of a table of inputs or outputs."""
    places = {**{f"shape{i}": i for i in range(6)}, "element_size": 6, "offset": 7, "region": 8}

    def change(table: bytes) -> bytes:
        values = list(struct.unpack(f"<{len(table) // 4}i", table))
        for name, value in words.items():
            values[1 + places[name]] = value
        return struct.pack(f"<{len(values)}i", *values)

    return change


FAULTS: dict[str, tuple[Callable[[Blocks], bytes], str]] = {
    "empty": (lambda parts: b"", "ends before block vela_end_stream"),
    "half a header": (lambda parts: pack(parts)[:40], "ends before block"),
    "cut short": (lambda parts: pack(parts[:-1]), "ends before block vela_end_stream"),
    "cut inside a block": (lambda parts: pack(parts[:2])[:-16], "ends inside a block"),
    "goes on": (lambda parts: pack([*parts, ("inputs", b"", 0)]), "goes on after block vela_end_stream"),
    "no start": (lambda parts: pack(parts[1:]), "does not begin with the one block vela_bin_stream"),
    "two starts": (lambda parts: pack([parts[0], *parts]), "does not begin with the one block"),
    "unknown name": (lambda parts: pack([*parts[:-1], ("weights", b"", 0), parts[-1]]), "unknown name"),
    "twice": (lambda parts: pack([*parts[:2], *parts[1:]]), "has a block twice"),
    "no weights": (lambda parts: pack(parts[:2] + parts[3:]), "lacks one of the blocks"),
    "huge block": (lambda parts: HEADER.pack(b"vela_bin_stream", 2**32 - 1, 0), "ends inside a block"),
    "unknown kind": (changed("weight_data", lambda data: data, 2), "neither data nor a reference"),
    "short reference": (changed("weight_data", lambda data: b"key", 1), "is not 64 bytes long"),
    "dangling reference": (changed("weight_data", lambda data: b"k" * 64, 1), "named data that the program"),
    "no commands": (changed("cmd_data", lambda data: b""), "no command stream in block cmd_data"),
    "other commands": (changed("cmd_data", lambda data: b"CPO1" + data[4:]), "no command stream"),
    "newer container": (changed("cmd_data", lambda data: b"COP3" + data[4:]), "does not begin with COP1 or COP2"),
    "long commands": (changed("cmd_data", lambda data: data[:-8]), "longer than the payload"),
    "no configuration": (changed("cmd_data", lambda data: data[:4] + data[16:]), "for which accelerator"),
    "unknown accelerator": (
        changed("cmd_data", lambda data: data[:8] + b"\x0f\0\0\0" + data[12:]), "no accelerator of this family",
    ),
    "scratch of 8 bytes": (changed("scratch_size", lambda data: bytes(8)), "is not 4 bytes long"),
    "scratch too small": (changed("scratch_size", lambda data: struct.pack("<I", 8)), "ends after the scratch memory"),
    "count too large": (changed("inputs", lambda data: b"\x02" + data[1:]), "not as long as its count"),
    "huge count": (changed("inputs", lambda data: b"\xff" * 4 + data[4:]), "not as long as its count"),
    "no count": (changed("outputs", lambda data: b""), "has no count"),
    "no elements": (changed("inputs", row(shape3=0)), "a shape or element size that is not one"),
    "negative size": (changed("inputs", row(shape3=-4)), "a shape or element size that is not one"),
    "overflow": (changed("inputs", row(shape0=2**30, shape1=2**30, shape2=2**30)), "a shape or element size"),
    "element of 3 bytes": (changed("outputs", row(element_size=3)), "a shape or element size"),
    "offset too large": (changed("outputs", row(offset=2**31 - 1)), "ends after the scratch memory"),
    "in the weights": (changed("outputs", row(region=0)), "not in the scratch memory"),
    "output nowhere": (changed("outputs", row(offset=-1)), "output 0 has no place"),
}  # fmt: skip


@pytest.fixture
def program(runtime: Any, compiled: Callable[[str], Any]) -> Any:
    return compiled("ethos-u55-128")


@pytest.mark.parametrize("name", FAULTS)
def test_a_malformed_payload_is_refused(name: str, program: Any) -> None:
    from arm_runtime import ethosu

    change, text = FAULTS[name]
    with pytest.raises(ethosu.EthosUError, match=text):
        ethosu.run(change(blocks(program.payload)), [program.inputs[0]])


def test_blocks_may_come_in_any_order(program: Any) -> None:
    from arm_runtime import ethosu

    parts = blocks(program.payload)
    other = pack([parts[0], *parts[-2:0:-1], parts[-1]])
    assert other != program.payload
    for payload in (pack(parts), other):
        (result,) = ethosu.run(payload, [program.inputs[0]])
        np.testing.assert_array_equal(result, ethosu.run(program.payload, [program.inputs[0]])[0])


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ([], "the payload has 1 inputs, not 0"),
        ([np.zeros(63, np.int8)], "input 0 takes 64 bytes, and 63 were given"),
        ([np.zeros(64, np.int16)], "input 0 takes 64 bytes, and 128 were given"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs: list[Any], text: str, program: Any) -> None:
    from arm_runtime import ethosu

    with pytest.raises(ethosu.EthosUError, match=text):
        ethosu.run(program.payload, inputs)


def _size(value: int) -> Any:
    return ctypes.c_size_t(value)


def _words(*values: int) -> Any:
    """A structure of words, the first of which is its size in bytes."""
    return (ctypes.c_size_t * len(values))(*values)


def _raw(name: str, restype: Any = ctypes.c_int) -> Any:
    """A function without the types that ``arm_runtime.ethosu`` gives it."""
    from arm_runtime import LIBRARY

    function = LIBRARY["arm_ethosu_payload_" + name]  # a new object
    function.restype = restype
    return function


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        ("payload", b"the payload is NULL"),
        ("inputs", b"inputs are NULL"),
        ("data", b"input 0 is NULL"),
        ("size", b"a structure's member `size` is not set: sizeof is wanted"),
    ],
)
def test_null_is_refused(missing: str, text: bytes, program: Any) -> None:
    payload = None if missing == "payload" else program.payload
    buffer = None if missing == "inputs" else _words(0 if missing == "size" else 3 * WORD, 0, 64)
    assert _raw("run")(payload, _size(len(program.payload)), buffer, _size(1), buffer, _size(1)) == -1
    assert _raw("last_error", ctypes.c_char_p)() == text


@pytest.mark.parametrize("missing", ["outputs", "count"])
def test_no_place_for_what_a_payload_has_is_refused(missing: str, program: Any) -> None:
    outputs = None if missing == "outputs" else _words(3 * WORD, 0, 0)
    count = None if missing == "count" else _words(0)
    assert _raw("get_outputs")(program.payload, _size(len(program.payload)), outputs, _size(1), count) == -1
    assert _raw("last_error", ctypes.c_char_p)() == b"a place for what the payload has is NULL"


def test_what_lies_behind_a_structure_of_an_older_caller_is_left_alone(program: Any) -> None:
    """A caller that knows of no ``element_bytes``."""
    output, count = _words(2 * WORD, 0, 0xABCD), _words(0)
    assert _raw("get_outputs")(program.payload, _size(len(program.payload)), output, _size(1), count) == 0
    assert [*output, *count] == [2 * WORD, 10, 0xABCD, 1]
    assert _raw("api_version", ctypes.c_uint32)() == 1


def test_a_fault_names_command_and_registers(program: Any) -> None:
    from arm_runtime import ethosu

    def spoil(commands: bytes) -> bytes:
        words = np.frombuffer(commands, np.uint32).copy()
        words[np.flatnonzero(words & 0xFF == 2)[0] + 1] = 0x3FF  # the first command of the stream
        return words.tobytes()

    with pytest.raises(ethosu.EthosUError, match="^command 0 .*0x000003ff is no command.*registers:"):
        ethosu.run(changed("cmd_data", spoil)(blocks(program.payload)), [program.inputs[0]])
