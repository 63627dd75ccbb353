"""What the kernels and transfers that only some accelerators have read and write."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made_streams import END, SRAM, Do, Program, conv, pool, transfer

from arm_ethosu.accelerators import Family
from arm_ethosu.command_stream import registers as r
from arm_ethosu.command_stream.footprints import Part, constants, footprint
from arm_ethosu.command_stream.operations import Operation, UnreadableStream

_U85 = {r.IFM_BROADCAST_U85: 0, r.IFM2_BROADCAST: 0, r.IFM2_PRECISION: 1, r.IFM2_REGION: SRAM}
_IFM2 = {
    r.IFM2_BASE0: 512,
    **dict.fromkeys((r.IFM2_BASE0 + 1, r.IFM2_BASE0 + 2, r.IFM2_BASE0 + 3), 0),
    **dict.fromkeys((r.IFM2_WIDTH0_M1, r.IFM2_HEIGHT0_M1, r.IFM2_HEIGHT1_M1), 3),
    r.IFM2_STRIDE_X: 16,
    r.IFM2_STRIDE_Y: 64,
    r.IFM2_STRIDE_C: 1,
}
_NOWHERE, _CHAIN = 3 << 14, 2 << 14


def _elementwise(mode: int = 1, **changes: int) -> Do:
    """Of the maps at 0 and 512, to 256."""
    values = dict(pool(0, 256).registers) | _U85 | _IFM2
    return Do(r.ELEMENTWISE, mode, values | {getattr(r, name): value for name, value in changes.items()})


def _first(operation: Do) -> Operation:
    return Program([operation, END]).operations[0]


def _bytes(parts: tuple[Part, ...]) -> set[int]:
    memory = np.zeros(4096, bool)
    for part in parts:
        if part.region == SRAM:
            part.of(memory)[...] = True
    return set(np.flatnonzero(memory).tolist())


_FIRST, _RESULT, _SECOND = set(range(256)), set(range(256, 512)), set(range(512, 768))


@pytest.mark.parametrize(
    ("operation", "family", "reads", "writes"),
    [
        (_elementwise(), "u55", _FIRST | _SECOND, _RESULT),
        (_elementwise(IFM2_BROADCAST=1 << 7), "u55", _FIRST, _RESULT),  # a scalar
        (_elementwise(IFM2_BROADCAST=1), "u55", _FIRST | set(range(512, 576)), _RESULT),  # one row
        (_elementwise(6), "u55", _FIRST, _RESULT),  # ABS
        (_elementwise(), "u85", _FIRST | _SECOND, _RESULT),
        (_elementwise(IFM2_PRECISION=1 | _NOWHERE), "u85", _FIRST, _RESULT),
        (_elementwise(IFM_PRECISION=1 | _CHAIN), "u85", _SECOND, _RESULT),
        (_elementwise(OFM_PRECISION=1 | _CHAIN), "u85", _FIRST | _SECOND, set()),
        (_elementwise(IFM_BROADCAST_U85=7), "u85", {0} | _SECOND, _RESULT),
        (
            _elementwise(OFM_PRECISION=1 | 1 << 11, OFM_HEIGHT_M1=1),  # height and width change places
            "u85",
            set(range(128)) | set(range(512, 640)),
            {256 + 64 * y + i for y in range(4) for i in range(32)},
        ),
        (pool(0, 256, ACC_FORMAT=1 << 6), "u85", _FIRST, set()),  # sums that stay
        (Do(r.POOL, 4, pool(0, 256).registers), "u85", set(), _RESULT),  # of nothing
    ],
)
def test_kernels(operation: Do, family: Family, reads: set[int], writes: set[int]) -> None:
    found = footprint(_first(operation), family)
    assert (_bytes(found.reads), _bytes(found.writes)) == (reads, writes)


def _copy(**changes: int) -> Do:
    values = {r.DMA0_SIZE0: 3, r.DMA0_SIZE1: 2, r.DMA0_IDX_REGION: SRAM}
    values |= {r.DMA0_SRC_STRIDE0_U85: 100, r.DMA0_DST_STRIDE0_U85: 32, r.DMA0_SRC_STRIDE1_U85: 1000}
    values |= {r.DMA0_DST_STRIDE1_U85: 128, r.DMA0_IDX_U85: 1024, r.DMA0_IDX_MAX_U85: 4, r.DMA0_IDX_SKIP1_U85: 0}
    made = dict(transfer(0, 512, 16).registers) | values
    return Do(r.DMA_START, 0, made | {getattr(r, name): value for name, value in changes.items()})


@pytest.mark.parametrize(
    ("operation", "reads", "writes", "exact"),
    [
        (_copy(), set(), {*range(512, 528)}, True),
        (_copy(DMA0_SRC_REGION=1 << 9), set(), {512 + 32 * i + c for i in range(3) for c in range(16)}, True),
        (
            _copy(DMA0_SRC_REGION=2 << 9),
            set(),
            {512 + 128 * j + 32 * i + c for j in range(2) for i in range(3) for c in range(16)},
            True,
        ),
        (
            _copy(DMA0_DST_REGION=SRAM | 1 << 11),  # to where three indices say
            set(range(1024, 1036)),
            {512 + 32 * i + c for i in range(5) for c in range(16)},
            False,
        ),
        (_copy(DMA0_DST_REGION=1 << 8), set(), set(), True),  # into the tables
        (_copy(DMA0_LEN=0), set(), set(), True),
    ],
)
def test_transfers(operation: Do, reads: set[int], writes: set[int], exact: bool) -> None:
    found = footprint(_first(operation), "u85")
    assert (_bytes(found.reads), _bytes(found.writes), found.exact) == (reads, writes, exact)


@pytest.mark.parametrize(
    ("operation", "u85", "expected"),
    [
        (_elementwise(OFM_PRECISION=1 | _CHAIN), True, True),
        (_elementwise(OFM_PRECISION=1 | _CHAIN), False, False),  # other bits there
        (_elementwise(), True, False),
        (pool(0, 256, ACC_FORMAT=1 << 6), True, True),
        (transfer(0, 512, 16), True, False),
    ],
)
def test_kernels_that_run_as_one(operation: Do, u85: bool, expected: bool) -> None:
    assert _first(operation).goes_on(u85) is expected


@pytest.mark.parametrize(
    ("family", "more", "streams"),
    [
        ("u55", {}, [(0x1000, 512), (0x800, 160)]),
        ("u65", {r.WEIGHT1_BASE: 0x2000, r.WEIGHT1_LENGTH: 48, r.SCALE1_BASE: 0x2400, r.SCALE1_LENGTH: 0},
         [(0x1000, 512), (0x2000, 48), (0x800, 160)]),
        ("u85", {r.WEIGHT1_BASE: 0x2000, r.WEIGHT1_LENGTH: 48, r.WEIGHT2_BASE_U85: 1, r.WEIGHT2_LENGTH_U85: 0},
         [(0x1000, 512), (0x2000, 48), (0x800, 160)]),
    ],
)  # fmt: skip
def test_constants(family: Family, more: dict[int, int], streams: list[tuple[int, int]]) -> None:
    operation = conv(0, 256, 0x1000, 512, 0x800, OFM_PRECISION=1)
    found = constants(_first(Do(operation.code, 0, {**operation.registers, **more})), family)
    assert [(first, size) for *_, first, size in found] == streams


@pytest.mark.parametrize(
    "operation", [_elementwise(OFM_PRECISION=1 | 1 << 14), _elementwise(OFM_PRECISION=1 | 4 << 11)]
)
def test_what_is_not_known_is_said(operation: Do) -> None:
    with pytest.raises(UnreadableStream, match="three tiles|transposed in an unknown way"):
        footprint(_first(operation), "u85")
