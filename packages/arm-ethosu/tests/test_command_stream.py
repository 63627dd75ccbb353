"""Commands wait where Vela leaves it out, and are Vela's everywhere else."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from arm_ethosu.command_stream import settled

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
    return settled(np.frombuffer(commands, np.uint8), accelerator).tobytes()


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
    before = [*_blockdep(3), _POOL, *tall, *low, _STOP]
    after = [*_blockdep(3), _POOL, tall[0], *_blockdep(0), _POOL, low[0], *_blockdep(3), _POOL, _STOP]
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


_START, _DMA_WAIT, _KERNEL_WAIT, _ALWAYS = 16, 17, 18, 0x4100
#: Registers of a transfer: which side, the source or the destination, is indexed.
_PLAIN, _GATHER, _SCATTER = ([0x130 | 9 << 16, 0x131], [0x130 | 0xA01 << 16, 0x131], [0x130, 0x131 | 0x800 << 16])


@pytest.mark.parametrize("indexed", [_GATHER, _SCATTER])
@pytest.mark.parametrize("container", [_cop1, _cop2])
def test_indexed_transfers_run_alone_on_ethos_u85(container: object, indexed: list[int]) -> None:
    assert callable(container)
    before = [_POOL, *_PLAIN, _START, *indexed, _START, *_PLAIN, _START, *indexed, _START, _POOL, _POOL, _STOP]
    after = [
        *(_POOL, *_PLAIN, _START, *indexed, _DMA_WAIT, _KERNEL_WAIT, _START),
        *(*_PLAIN, _DMA_WAIT, _START, *indexed, _DMA_WAIT, _START, _DMA_WAIT, _POOL, _POOL, _STOP),
    ]
    assert _settled(container(before), "ethos-u85-256") == container(after)


@pytest.mark.parametrize(
    "words",
    [
        [*_blockdep(3), *_COLUMNS, *_ROWS, _STOP],
        [_POOL, *_PLAIN, _START, _POOL, _STOP],
        [_POOL, _KERNEL_WAIT, *_GATHER, _START, _DMA_WAIT, _POOL, _POOL, _STOP],
    ],
)
def test_other_commands_of_ethos_u85_stay(words: list[int]) -> None:
    assert _settled(_cop1(words), "ethos-u85-256") == _cop1(words)


def test_waits_for_some_are_not_waits_for_all() -> None:
    words = [_POOL, _KERNEL_WAIT | 1 << 16, *_GATHER, _START, _STOP]
    waiting = [*words[:-2], _KERNEL_WAIT, _START, _STOP]
    assert _settled(_cop1(words), "ethos-u85-256") == _cop1(waiting)


def test_branches_lead_where_they_led() -> None:
    def program(start: int, end: int, *waits: int) -> list[int]:
        loop = [_POOL, *_GATHER, *waits, _START, _DMA_WAIT, _KERNEL_WAIT]
        return [_PLAIN[0], *loop, _ALWAYS | 1 << 16, 4 * start, _ALWAYS, 4 * end, _POOL, _STOP]

    before, after = program(1, 11), program(1, 12, _KERNEL_WAIT)
    assert before[11] == after[12] == _POOL
    assert _settled(_cop1(before), "ethos-u85-256") == _cop1(after)


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
