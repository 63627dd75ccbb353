"""Programs with one block of weights: what is in it, what reads it, and the proof that it is read as before."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hand_made_streams import END, MAP, SRAM, WAIT, Do, conv, pool, transfer, words_of
from vela_arrays import arrays

from arm_ethosu.command_stream import registers as r
from arm_ethosu.command_stream.container import commands_of
from arm_ethosu.command_stream.footprints import reads_by_register
from arm_ethosu.command_stream.operations import Operation, UnreadableStream, operations_of
from arm_ethosu.command_stream.registers import BRANCH, CONSTANTS
from arm_ethosu.schedule.verification import Unproved
from arm_ethosu.sharing import blocks
from arm_ethosu.sharing.blocks import _in_blocks, in_one_order
from arm_ethosu.sharing.programs import with_shared_weights
from arm_ethosu.sharing.proof import require_equal
from arm_tosa_core.support.errors import ToolError

Program = dict[str, np.ndarray[Any, Any]]
_U55, _UNKNOWN = 7, 0xF0000007


def container(words: Sequence[int], configuration: int = _U55) -> np.ndarray[Any, Any]:
    """A command stream as Vela writes it."""
    made = struct.pack(f"<{5 + len(words)}I", 0x31504F43, 1, configuration, 0, 2 | len(words) << 16, *words)
    return np.frombuffer(made, np.uint8)


def program(do: Sequence[Do], *blocks: bytes, configuration: int = _U55) -> Program:
    weights = np.frombuffer(b"".join(blocks), np.uint8)
    return arrays(cmd_data=container(words_of([*do, END]), configuration), weight_data=weights)


def noise(seed: int, size: int) -> bytes:
    return np.random.default_rng(seed).bytes(size)


def constants_read(made: Program) -> list[bytes]:
    """What each operation reads of the constants, in order."""
    return [
        np.ascontiguousarray(part.of(made["weight_data"])).tobytes()
        for operation in operations_of(commands_of(made["cmd_data"]))
        for _, part in reads_by_register(operation, "u55")
        if part.region == CONSTANTS
    ]


A, B, SCALES, SCALES_B = noise(1, 512), noise(2, 320), noise(3, 160), noise(4, 160)
ONE = program([conv(0, MAP, 0, 512, 512), conv(MAP, 0, 672, 320, 992)], A, SCALES, B, SCALES_B)
#: The same layers, with a transfer between them; what comes first in the block is read by nobody.
OTHER = program(
    [conv(0, MAP, 176, 512, 16), transfer(864, 1024, 64), WAIT, conv(MAP, 0, 928, 320, 688)],
    bytes(16), SCALES, A, SCALES_B, noise(5, 16), noise(6, 64), B,
)  # fmt: skip


def test_what_is_equal_is_stored_once() -> None:
    made = with_shared_weights([ONE, OTHER])
    assert made is not None
    assert made[0]["weight_data"].tobytes() == A + SCALES + B + SCALES_B + noise(6, 64)
    for old, new in zip([ONE, OTHER], made, strict=True):
        assert new["weight_data"] is made[0]["weight_data"]
        assert constants_read(new) == constants_read(old)
        assert new["cmd_data"].size == old["cmd_data"].size
        assert {name for name in old if new[name] is not old[name]} == {"cmd_data", "weight_data"}


def test_a_program_may_have_other_weights_besides() -> None:
    third = program([conv(0, MAP, 0, 512, 512)], noise(7, 512), SCALES)
    made = with_shared_weights([ONE, third, OTHER])
    assert made is not None
    assert made[0]["weight_data"].size == ONE["weight_data"].size + 512 + 64
    assert [constants_read(new) for new in made] == [constants_read(old) for old in (ONE, third, OTHER)]


def test_runs_that_overlap_stay_together() -> None:
    """Two kernels read one run, the second a part of it and from an address that is not aligned."""
    table = noise(8, 512)
    do = [conv(0, MAP, 160, 256, 0), conv(MAP, 0, 165, 100, 0)]
    made = with_shared_weights([program(do, SCALES, table), program([transfer(0, 0, 64), *do], SCALES, table)])
    assert made is not None and made[0]["weight_data"].size == 160 + 256
    assert constants_read(made[0]) == [table[:256], SCALES, table[5:105], SCALES]


def test_an_address_that_was_set_once_for_two_memories_is_set_again() -> None:
    """The first kernel reads a map at address 256 of the constants, the second one at 256 of the SRAM."""
    padding, table = bytes(256), noise(9, 256)
    in_constants = pool(256, 512, IFM_REGION=CONSTANTS)
    do = [in_constants, pool(256, 512), in_constants]
    other = program([in_constants], padding, table)
    made = with_shared_weights([program(do, padding, table), other])
    assert made is not None
    words = [commands_of(each["cmd_data"]) for each in made]
    assert [len(found) - len(words_of([*d, END])) for found, d in zip(words, ([*do], [in_constants]), strict=True)] == [
        4,
        0,
    ]
    found = [(op.get(r.IFM_REGION), op.address(r.IFM_BASE0)) for op in operations_of(words[0])[:3]]
    assert found == [(CONSTANTS, 0), (SRAM, 256), (CONSTANTS, 0)]
    assert constants_read(made[0]) == [table, table]


BRANCHES = {**ONE, "cmd_data": container([BRANCH, 0, *words_of([conv(0, MAP, 0, 512, 512), END])])}


@pytest.mark.parametrize(
    "unknown",
    [
        BRANCHES,
        {**ONE, "cmd_data": container(commands_of(ONE["cmd_data"]), _UNKNOWN)},
        {**ONE, "weight_data": ONE["weight_data"][:-1]},
        {**ONE, "cmd_data": np.frombuffer(b"COP1\0\1\2\0", np.uint8)},
    ],
    ids=["branches", "unknown accelerator", "reads beyond its block", "no stream"],
)
def test_a_program_that_is_not_understood_keeps_its_own(unknown: Program) -> None:
    made = with_shared_weights([ONE, unknown, OTHER])
    assert made is not None and made[1] is unknown
    assert constants_read(made[2]) == constants_read(OTHER)
    assert with_shared_weights([ONE, unknown]) is None


def test_nothing_changes_where_nothing_is_in_common() -> None:
    other = program([conv(0, MAP, 0, 512, 512)], noise(7, 512), noise(8, 160))
    assert with_shared_weights([ONE, other]) is None
    assert with_shared_weights([ONE]) is None and with_shared_weights([]) is None


def _changed(change: Callable[[list[int]], None]) -> Callable[[list[int], bytes], tuple[list[int], bytes]]:
    def made(words: list[int], block: bytes) -> tuple[list[int], bytes]:
        change(words)
        return words, block

    return made


def _set(register: int, value: int) -> Callable[[list[int]], None]:
    """Another value where the register is set."""

    def change(words: list[int]) -> None:
        if register & 1 << 14:
            words[words.index(register) + 1] = value
        else:
            at = next(i for i, word in enumerate(words) if word & 0xFFFF == register)
            words[at] = register | value << 16

    return change


@pytest.mark.parametrize(
    ("tampered", "message"),
    [
        (_changed(_set(r.WEIGHT_BASE, 16)), "reads another part of memory"),
        (_changed(_set(r.WEIGHT_LENGTH, 496)), "another value in register 0x21"),
        (_changed(_set(r.IFM_BASE0, 16)), "reads another part of memory"),
        (_changed(_set(r.OFM_BASE0, 16)), "another value in register 0x10"),
        (_changed(_set(r.WEIGHT_REGION, 1)), "another value in register 0x128"),
        (_changed(_set(r.KERNEL_WIDTH_M1, 1)), "another value in register 0x120"),
        (_changed(lambda words: words.insert(-1, r.POOL)), "operations differ from word"),
        (_changed(lambda words: words.pop()), "operations differ from word"),
        (lambda words, block: (words, block[:100] + b"\0" + block[101:]), "reads another part of memory"),
    ],
)
def test_what_is_not_proved_is_refused(
    tampered: Callable[[list[int], bytes], tuple[list[int], bytes]], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, block = commands_of(ONE["cmd_data"]), ONE["weight_data"].tobytes()
    require_equal(operations_of(words), operations_of(words), "u55", block, block)
    changed, pool_ = tampered(list(words), block)
    with pytest.raises(Unproved, match=message):
        require_equal(operations_of(words), operations_of(changed), "u55", block, pool_)
    monkeypatch.setattr("arm_ethosu.sharing.programs.readdressed", lambda *_: changed)
    if pool_ == block:
        with pytest.raises(ToolError, match="made a program that is not proved"):
            with_shared_weights([ONE, OTHER])


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 3), (3, 1), (1, 4), (6, 2)])
def test_weights_in_blocks_lie_to_and_fro(inputs: int, outputs: int) -> None:
    """In a large block all channels of a block of inputs follow each other; in small ones, of each block of outputs."""
    header, part = noise(0, 32), {(i, o): noise(100 * i + o + 1, 48) for i in range(inputs) for o in range(outputs)}
    large = b"".join(part[i, o] for i in range(inputs) for o in range(outputs))
    small = b"".join(
        part[i, o] for o in range(outputs) for i in (range(inputs) if o % 2 == 0 else reversed(range(inputs)))
    )
    assert _in_blocks(header + large, inputs, outputs) == header + small
    assert _in_blocks(header + large + b"x", 5 * inputs, outputs) is None


def test_a_program_that_is_understood_in_part_keeps_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    u85 = 2 << 28 | 8
    programs = [program([pool(MAP, 0)], A, configuration=u85) for _ in range(2)]

    def layers(number: int, operations: Sequence[Operation], *_: object) -> Any:
        yield blocks._Layer(number, operations[0], A, 1, (operations[0].at,), ("equal",))
        if number == 0:
            raise UnreadableStream("a register was never set")

    monkeypatch.setattr(blocks, "_layers", layers)
    monkeypatch.setattr(blocks, "_smaller", lambda layer, others: others[-1] if layer.program == 0 else None)
    assert all(new is old for new, old in zip(in_one_order(programs), programs, strict=True))
