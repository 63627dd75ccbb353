"""What is read and written, what is free, and what a plan makes of it, on streams made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made_streams import END, LATE_WEIGHTS, MAP, SCALES, SIZE, SRAM, WAIT, WEIGHTS, Program, conv, pool, transfer

from arm_ethosu.command_stream import registers as r
from arm_ethosu.command_stream.footprints import Part, footprint
from arm_ethosu.command_stream.operations import Operation, UnreadableStream, operations_of
from arm_ethosu.schedule.emission import emitted
from arm_ethosu.schedule.lives import Lives
from arm_ethosu.schedule.plan import plan
from arm_ethosu.schedule.problem import Chunk, Fetch, Plan
from arm_ethosu.schedule.verification import Unproved, verify

_BRICKS, _INT16 = 1 << 6, 1 << 1
_FETCHED = SIZE + 160


def _first(*operations: object) -> Operation:
    return Program([*operations, END]).operations[0]  # type: ignore[list-item]


def _bytes(parts: tuple[Part, ...], region: int = SRAM) -> set[int]:
    import numpy as np

    memory = np.zeros(4096, bool)
    for part in parts:
        if part.region == region:
            part.of(memory)[...] = True
    return set(np.flatnonzero(memory).tolist())


@pytest.mark.parametrize(
    ("operation", "reads", "writes", "beside"),
    [
        (pool(0, 256), set(range(256)), set(range(256, 512)), set()),
        (pool(0, 256, OFM_DEPTH_M1=7), set(range(256)), {256 + 16 * i + c for i in range(16) for c in range(8)}, set()),
        (
            pool(0, 256, OFM_PRECISION=1 | 1 << 8 | _BRICKS, OFM_DEPTH_M1=7),
            set(range(256)),
            {256 + 16 * i + c for i in range(16) for c in range(8)},
            {264 + 16 * i + c for i in range(16) for c in range(8)},
        ),
        (pool(0, 256, KERNEL_HEIGHT_M1=1, IFM_PAD_BOTTOM=1), set(range(256)), set(range(256, 512)), set()),
        (pool(0, 256, KERNEL_STRIDE=3, OFM_WIDTH_M1=1, OFM_HEIGHT_M1=0), {*range(48)}, {*range(256, 288)}, set()),
        (pool(0, 256, IFM_UPSCALE=1), {64 * y + i for y in range(2) for i in range(32)}, {*range(256, 512)}, set()),
        (
            pool(0, 512, IFM_HEIGHT0_M1=1, IFM_BASE0 = 128),
            {*range(128, 256), *range(128)},
            set(range(512, 768)),
            set(),
        ),
        (conv(0, 256, 1024, 512, 2048, region=SRAM), {*range(256), *range(1024, 1536), *range(2048, 2208)},
         set(range(256, 512)), set()),
        (transfer(0, 512, 32), set(), set(range(512, 544)), set()),
    ],
)  # fmt: skip
def test_footprints(operation: object, reads: set[int], writes: set[int], beside: set[int]) -> None:
    found = footprint(_first(operation), "u55")
    assert (_bytes(found.reads), _bytes(found.writes), _bytes(found.written_beside)) == (reads, writes, beside)
    assert found.exact


def test_bricks_are_read_and_written_whole() -> None:
    """As the functional model sees it: nobody may write beside 7 of 16 channels while they are in use."""
    precision = {"IFM_PRECISION": 1 | _BRICKS, "OFM_PRECISION": 1 | 1 << 8 | _BRICKS}
    found = footprint(_first(pool(0, 256, IFM_DEPTH_M1=6, OFM_DEPTH_M1=6, **precision)), "u55")
    assert len(_bytes(found.reads)) == len(_bytes(found.writes)) == 16 * 7
    assert (_bytes(found.read), _bytes(found.written)) == (set(range(256)), set(range(256, 512)))


@pytest.mark.parametrize("code", [r.OFM_WIDTH_M1, r.IFM_BASE0, r.IFM_REGION])
def test_registers_that_nobody_set_are_named(code: int) -> None:
    operation = _first(pool(0, 256))
    registers = {name: value for name, value in operation.registers.items() if name != code}
    with pytest.raises(UnreadableStream, match=rf"register {code & 0x3FF:#x}, which was never set"):
        footprint(replace(operation, registers=registers), "u55")


def test_streams_that_branch_are_left_alone() -> None:
    with pytest.raises(UnreadableStream, match="branches"):
        operations_of([0x4100, 0, 0xFFFF0000])


def _lives(*operations: object, kept: tuple[tuple[int, int], ...] = ()) -> Lives:
    found = Program([*operations, END]).operations  # type: ignore[list-item]
    return Lives([footprint(operation, "u55") for operation in found], SRAM, 1024, kept)


@pytest.mark.parametrize(
    ("size", "operations", "others", "address"),
    [
        (256, range(1), [], 512),  # the first kernel reads 0, and writes 256
        (512, range(1), [], 512),
        (528, range(1), [], None),
        (16, range(1), [(512, 600)], 608),
        (256, range(1, 2), [], 0),  # what the first one read is free
        (256, range(2, 3), [], 0),  # the result of the second is kept
        (784, range(2, 3), [], None),
        (256, range(3), [], 512),
        (272, range(3), [], None),
    ],
)
def test_free_bytes(size: int, operations: range, others: list[tuple[int, int]], address: int | None) -> None:
    lives = _lives(pool(0, 256), pool(256, 768), kept=((768, 1024),))
    assert lives.free(size, operations, others) == address


@pytest.mark.parametrize(
    ("cycles", "chunks"),
    [
        (3000.0, [(5, 0, _FETCHED)]),
        (2000.0, [(4, 0, 384), (5, 384, 1824)]),
        (1300.0, [(4, 0, 1040), (5, 1040, 1168)]),
    ],
)
def test_chunks_go_behind_kernels_that_leave_flash_idle(cycles: float, chunks: list[tuple[int, int, int]]) -> None:
    made = plan(LATE_WEIGHTS.problem(cycles))
    (fetch,) = made.fetches
    assert (fetch.source, fetch.size, fetch.users, fetch.saved) == (SCALES, _FETCHED, (6,), 3000.0)
    assert [(chunk.behind, chunk.first, chunk.size) for chunk in fetch.chunks] == chunks
    assert fetch.address == 2 * MAP


@pytest.mark.parametrize(
    "program",
    [
        replace(LATE_WEIGHTS, size=2 * MAP + _FETCHED - 16),  # no room
        replace(LATE_WEIGHTS, waiting=()),  # nothing to gain
        replace(LATE_WEIGHTS, do=[conv(0, MAP, WEIGHTS, SIZE, SCALES), pool(MAP, 0), END], waiting=[0]),  # no time
        replace(LATE_WEIGHTS, do=[*LATE_WEIGHTS.do[:6], conv(0, MAP, WEIGHTS, SIZE, 0x8000), END]),  # far apart
    ],
)
def test_what_cannot_be_fetched_is_left(program: Program) -> None:
    assert plan(program.problem()) == Plan()


def test_velas_transfers_take_their_time() -> None:
    """Behind the kernel before there is no time left, because Vela's transfer of 2600 bytes is there."""
    do = [*LATE_WEIGHTS.do[:6], transfer(0x4000, 1024, 2608), WAIT, *LATE_WEIGHTS.do[6:]]
    (fetch,) = plan(Program(do, waiting=[8], size=8192).problem()).fetches
    assert [chunk.behind for chunk in fetch.chunks] == [4]


def test_a_source_is_fetched_once_for_all_its_readers() -> None:
    do = [*LATE_WEIGHTS.do[:7], pool(MAP, 0), conv(0, MAP, WEIGHTS, SIZE, SCALES), END]
    program = Program(do, waiting=[6, 8])
    (fetch,) = plan(program.problem()).fetches
    assert fetch.users == (6, 8) and fetch.saved == 6000.0
    assert _proved(program, Plan((fetch,))) == [r.DMA_START, r.DMA_WAIT]


def _new(program: Program, made: Plan) -> list[int]:
    return emitted(program.words, program.operations, made, "u55", SRAM)


def _proved(program: Program, made: Plan) -> list[int]:
    """Codes of what is in the new stream beyond Vela's operations."""
    new = operations_of(_new(program, made))
    verify(program.operations, new, "u55", SRAM, program.size)
    codes = [op.code for op in new]
    for operation in program.operations:
        codes.remove(operation.code)
    return codes


def test_the_stream_is_velas_where_nothing_is_fetched() -> None:
    assert _new(LATE_WEIGHTS, Plan()) == LATE_WEIGHTS.words


def test_the_stream_of_a_plan() -> None:
    made = plan(LATE_WEIGHTS.problem())
    assert _proved(LATE_WEIGHTS, made) == [r.DMA_START, r.DMA_WAIT]
    new = operations_of(_new(LATE_WEIGHTS, made))
    start = next(op for op in new if op.is_transfer)
    assert [start.get(name) for name in r.TRANSFER] == [0, SCALES, SRAM, 2 * MAP, _FETCHED]
    kernel = next(op for op in new if op.code == r.CONV)
    places = [kernel.get(name) for name in (r.WEIGHT_REGION, r.WEIGHT_BASE, r.SCALE_REGION, r.SCALE_BASE)]
    assert places == [SRAM, 2 * MAP + WEIGHTS - SCALES, SRAM, 2 * MAP]
    assert (kernel.get(r.WEIGHT_LENGTH), kernel.get(r.SCALE_LENGTH)) == (SIZE, 160)


_GOOD = Fetch(SCALES, _FETCHED, (6,), 3000.0, 2 * MAP, (Chunk(4, 0, 1104), Chunk(5, 1104, 1104)))


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (replace(_GOOD, address=0), "does not wait for one in flight"),
        (
            replace(_GOOD, address=0, chunks=(Chunk(3, 0, _FETCHED),)),
            "does not wait for one in flight|was written over",
        ),
        (replace(_GOOD, address=2 * MAP + 8), "not aligned"),
        (replace(_GOOD, address=4096 - _FETCHED + 16), "leaves the SRAM"),
        (replace(_GOOD, chunks=_GOOD.chunks[:1]), "not fetched whole"),
        (replace(_GOOD, chunks=(Chunk(4, 0, 1088), Chunk(5, 1104, 1104))), "not fetched whole"),
        (replace(_GOOD, chunks=(*_GOOD.chunks[:1], Chunk(6, 1104, 1104))), "not fetched whole|in flight"),
    ],
)
def test_bad_plans_are_refused(bad: Fetch, problem: str) -> None:
    assert _proved(LATE_WEIGHTS, Plan((_GOOD,))) == [r.DMA_START, r.DMA_START, r.DMA_WAIT]
    with pytest.raises(Unproved, match=problem):
        _proved(LATE_WEIGHTS, Plan((bad,)))


def _without(words: list[int], word: int) -> list[int]:
    return [each for each in words if each != word]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda words: _without(words, r.DMA_WAIT), "does not wait for one in flight"),
        (lambda words: _without(words, r.CONV), "none of Vela's|is missing"),
        (lambda words: [*words[:-1], 7 << 16 | r.POOL, words[-1]], "none of Vela's"),
        (lambda words: [0x105 | 5 << 16 if word == 0x105 | 1 << 16 else word for word in words], "none of Vela's"),
        (lambda words: words[:-1], "is missing"),
        (lambda words: [word + 16 if word == SCALES else word for word in words], "not fetched whole"),
        (lambda words: [*words[:-1], r.DMA0_DST, 0, r.DMA_START, words[-1]], "in flight"),
    ],
)
def test_bad_streams_are_refused(change: object, problem: str) -> None:
    assert callable(change)
    new = operations_of(change(_new(LATE_WEIGHTS, Plan((_GOOD,)))))
    with pytest.raises(Unproved, match=problem):
        verify(LATE_WEIGHTS.operations, new, "u55", SRAM, 4096)


def test_a_wait_of_velas_that_is_gone_is_noticed() -> None:
    do = [transfer(0x4000, 3072, 16), *LATE_WEIGHTS.do[:3], WAIT, *LATE_WEIGHTS.do[3:]]
    program = Program(do, waiting=[8])
    new = _new(program, plan(program.problem()))
    assert new.count(r.DMA_WAIT) == 2
    at = new.index(r.DMA_WAIT)
    with pytest.raises(Unproved, match="none of Vela's"):
        verify(program.operations, operations_of([*new[:at], *new[at + 1 :]]), "u55", SRAM, program.size)


def test_a_fetch_over_what_a_later_kernel_reads_is_refused() -> None:
    """The first kernel's result is read by the last one; nothing in flight is in the way."""
    do = [pool(0, 1024), *(pool(256 * (i % 2), 256 * ((i + 1) % 2)) for i in range(5)), *LATE_WEIGHTS.do[6:7]]
    program = Program([*do, pool(1024, 0), END], waiting=[6])
    bad = replace(_GOOD, address=1024)
    with pytest.raises(Unproved, match="was written over"):
        _proved(program, Plan((bad,)))
    assert all(not 1024 - fetch.size < fetch.address < 1280 for fetch in plan(program.problem()).fetches)
