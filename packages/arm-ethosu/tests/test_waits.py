"""Commands wait where Vela leaves it out, and are Vela's everywhere else."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pytest
from hand_made_streams import END, SRAM, Do, Program, pool, transfer, words_of

from arm_ethosu.accelerators import Family
from arm_ethosu.command_stream import registers as r
from arm_ethosu.command_stream.container import commands_of
from arm_ethosu.command_stream.operations import operations_of
from arm_ethosu.command_stream.registers import LONG
from arm_ethosu.waits import with_waits

_POOL, _STOP, _BLOCKDEP = 5, 0xFFFF0000, 0x12F


def _kernel(stride_x: int, stride_y: int, *, height: int = 4, bricks: bool = False) -> list[int]:
    """The registers of a result of 4 columns, and the kernel that writes it."""
    registers = [0x111 | 3 << 16, 0x112 | (height - 1) << 16, 0x114 | bricks << 22]
    return [*registers, 0x4014, stride_x, 0x4015, stride_y, _POOL]


def _blockdep(value: int) -> list[int]:
    return [_BLOCKDEP | value << 16]


def _cop1(words: list[int]) -> bytes:
    """As Vela writes it: magic, configuration, three words of nothing, length."""
    return struct.pack(f"<{8 + len(words)}I", 0x31504F43, 1, 0x1807, 0, 5, 5, 5, 2 | len(words) << 16, *words)


def _cop2(words: list[int]) -> bytes:
    metadata = [0x4D554556, 1, 20, 0x1807, 0, 1, 0, 0, 0xFFFFFFFF]
    entry = [1, 4 * (1 + len(metadata) + len(words)), 4 * len(metadata), *metadata, *words]
    return struct.pack(f"<{4 + len(entry)}I", 0x32504F43, 1, 4 * len(entry), 0, *entry)


def _settled(commands: bytes, accelerator: str = "ethos-u55-128") -> bytes:
    return with_waits(np.frombuffer(commands, np.uint8), accelerator).tobytes()


_COLUMNS, _ROWS = _kernel(8, 2), _kernel(8, 32)


@pytest.mark.parametrize("container", [_cop1, _cop2])
def test_what_follows_waits(container: object) -> None:
    assert callable(container)
    before = [*_blockdep(3), *_COLUMNS, *_ROWS, *_ROWS, _STOP]
    after = [*_blockdep(3), *_COLUMNS, *_ROWS[:-1], *_blockdep(0), _POOL, *_ROWS[:-1], *_blockdep(3), _POOL, _STOP]
    assert _settled(container(before)) == container(after)


def test_velas_own_value_is_replaced_and_comes_back() -> None:
    before = [*_COLUMNS, *_blockdep(1), *_COLUMNS, *_blockdep(2), *_ROWS, *_ROWS, _STOP]
    after = [
        *_COLUMNS,
        *(*_blockdep(1), *_COLUMNS[:-1], *_blockdep(0), _POOL),
        *(*_blockdep(2), *_ROWS[:-1], *_blockdep(0), _POOL),
        *(*_ROWS[:-1], *_blockdep(2), _POOL, _STOP),
    ]
    assert _settled(_cop1(before)) == _cop1(after)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_windows_of_many_rows_wait(accelerator: str) -> None:
    tall, low = [0x121 | 64 << 16, _POOL], [0x121 | 63 << 16, _POOL]
    start = [*_blockdep(3), r.ACC_FORMAT, r.OFM_PRECISION, _POOL]
    before = [*start, *tall, *low, _STOP]
    after = [*start, tall[0], *_blockdep(0), _POOL, low[0], *_blockdep(3), _POOL, _STOP]
    assert _settled(_cop1(before), accelerator) == _cop1(after)


@pytest.mark.parametrize(
    "words",
    [
        [*_COLUMNS, *_ROWS, _STOP],  # nothing to lower
        [*_blockdep(3), *_ROWS, *_COLUMNS, _STOP],
        [*_blockdep(3), *_kernel(8, 2, height=1), *_ROWS, _STOP],
        [*_blockdep(3), *_kernel(8, 2, bricks=True), *_ROWS, _STOP],
    ],
)
def test_other_commands_stay(words: list[int]) -> None:
    assert _settled(_cop1(words)) == _cop1(words)


def _waits(before: Sequence[Do], family: Family) -> list[tuple[int, int, int]]:
    """What is inserted: before which operation, which wait, and for how many."""
    operations = Program(before).operations
    settled_words = commands_of(np.frombuffer(_settled(_cop1(words_of(before)), f"ethos-{family}-256"), np.uint8))
    found, old = [], iter(operations)
    was = next(old, None)
    for op in operations_of(settled_words):
        if was is not None and (op.code, op.parameter, op.registers) == (was.code, was.parameter, was.registers):
            was = next(old, None)
        else:
            found.append((operations.index(was), op.code, op.parameter) if was else (len(operations), op.code, 0))
    return found


def _indexed(source: int, target: int, indices: int) -> Do:
    """Four rows of 16 bytes: from where four indices say."""
    values = {r.DMA0_SRC_REGION: SRAM | 1 << 11, r.DMA0_SIZE0: 4, r.DMA0_IDX_REGION: SRAM, r.DMA0_IDX_U85: indices}
    values |= {r.DMA0_SRC_STRIDE0_U85: 16, r.DMA0_DST_STRIDE0_U85: 16, r.DMA0_IDX_MAX_U85: 9}
    return Do(r.DMA_START, 0, {**transfer(source, target, 16).registers, **values})


def _table(number: int) -> Do:
    """A transfer to the place of a table on the chip of Ethos-U55-256."""
    to = {r.DMA0_DST_REGION: 1 << 8, r.DMA0_DST: 46 * 1024 + 256 * number}
    return Do(r.DMA_START, 0, {**transfer(0, 0, 256).registers, **to})


_KERNEL, _OTHER = pool(0, 1024), pool(2048, 3072)
_CHAINED = pool(0, 1024, OFM_PRECISION=1 | 1 << 8 | 2 << 14)
_WAIT_ONE = Do(r.DMA_WAIT, 1)


@pytest.mark.parametrize(
    ("operations", "family", "waits"),
    [
        # a transfer over what a kernel reads, over what it writes, and of that
        ([_KERNEL, transfer(0, 240, 32), END], "u55", [(1, r.KERNEL_WAIT, 0)]),
        ([_KERNEL, transfer(0, 1264, 32), END], "u55", [(1, r.KERNEL_WAIT, 0)]),
        ([_KERNEL, Do(r.DMA_START, 0, {**transfer(1024, 4096, 32).registers, r.DMA0_SRC_REGION: SRAM}), END], "u65",
         [(1, r.KERNEL_WAIT, 0)]),
        # a kernel that reads what a transfer writes, or writes over it
        ([transfer(0, 240, 32), _KERNEL, END], "u55", [(1, r.DMA_WAIT, 0)]),
        ([transfer(0, 1024, 32), _KERNEL, END], "u85", [(1, r.DMA_WAIT, 0)]),
        # only what is in the way is waited for
        ([_KERNEL, _OTHER, transfer(0, 0, 16), END], "u55", [(2, r.KERNEL_WAIT, 1)]),
        ([transfer(0, 0, 16), transfer(0, 4096, 16), _KERNEL, END], "u65", [(2, r.DMA_WAIT, 1)]),
        ([transfer(0, 0, 16), transfer(0, 0, 16), END], "u65", [(1, r.DMA_WAIT, 0)]),
        # what is known to have ended: two kernels and one transfer of Ethos-U55 may be unfinished
        ([_KERNEL, _OTHER, _OTHER, transfer(0, 0, 16), END], "u55", []),
        ([transfer(0, 0, 16), transfer(0, 4096, 16), _KERNEL, END], "u55", []),
        ([transfer(0, 0, 16), transfer(0, 4096, 16), _WAIT_ONE, _KERNEL, END], "u65", []),
        ([_KERNEL, transfer(0, 256, 768), _OTHER, END], "u55", []),
        # kernels are in order
        ([_KERNEL, pool(1024, 0), END], "u55", []),
        # tables: of 256 bytes
        ([pool(0, 1024, ACTIVATION=16), _table(0), END], "u55", [(1, r.KERNEL_WAIT, 0)]),
        ([_table(3), pool(0, 1024, ACTIVATION=19), END], "u55", [(1, r.DMA_WAIT, 0)]),
        ([_table(3), pool(0, 1024, ACTIVATION=18), _KERNEL, END], "u55", []),
        # kernels that run as one: nothing waits between them
        ([transfer(0, 3072, 16), _CHAINED, _OTHER, END], "u85", [(1, r.DMA_WAIT, 0)]),
        # all four indices count, with four bytes each
        ([pool(2048, 3072), _indexed(0, 4096, 3320), END], "u85", [(1, r.KERNEL_WAIT, 0)]),
        ([_indexed(0, 4096, 1012), _KERNEL, END], "u85", [(1, r.DMA_WAIT, 0)]),
        ([_indexed(0, 4096, 1008), _KERNEL, END], "u85", []),
        # a mode of which it is not known what it reads
        ([pool(0, 1024, OFM_PRECISION=1 | 1 << 8 | 1 << 14), transfer(0, 4096, 16), END], "u85",
         [(1, r.KERNEL_WAIT, 0)]),
    ],
)  # fmt: skip
def test_transfers_and_kernels_wait(
    operations: Sequence[Do], family: Family, waits: list[tuple[int, int, int]]
) -> None:
    assert _waits(operations, family) == waits


def test_nothing_runs_where_a_branch_leads_and_it_leads_where_it_led() -> None:
    always = LONG | 0x100
    kernel = words_of([pool(0, 1024)])
    before = [*kernel, always, 4 * (len(kernel) + 2), *words_of([transfer(0, 0, 16), END])]
    after = [*kernel, r.KERNEL_WAIT, always, 4 * (len(kernel) + 3), *before[len(kernel) + 2 :]]
    assert _settled(_cop2(before), "ethos-u85-256") == _cop2(after)


@pytest.mark.parametrize(
    ("commands", "problem"),
    [
        (b"", "without a command stream"),
        (b"COP3" + bytes(60), "without a command stream"),
        (_cop1([0x4014]), "ends inside a command"),
        (b"COP1\0\0", "whole number of words"),
    ],
)
def test_garbage_is_named(commands: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        _settled(commands)
