"""The timing model: cycles of streams by hand, as they follow from its formulas."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from timing_streams import (
    FLASH,
    SRAM,
    SYSTEM,
    Commands,
    convolution,
    dma_wait,
    elementwise,
    kernel_wait,
    stream,
    transfer,
)

from arm_ethosu.command_stream import registers as r
from arm_ethosu.timing import Memory, System, Timeline, Unit, estimate_stream, system_of
from arm_tosa_core.support.errors import UsageError

U55 = "ethos-u55-128"


def _timeline(*parts: Commands, accelerator: str = U55, system: System = SYSTEM) -> Timeline:
    return estimate_stream(stream(*parts), accelerator, system)


def _cycles(*parts: Commands, accelerator: str = U55, system: System = SYSTEM) -> float:
    return round(_timeline(*parts, accelerator=accelerator, system=system).cycles, 3)


# 8x8x16 of 32 channels on Ethos-U55-128: 8 x 4 x 2 micro blocks of 1x2x8, each 4 cycles: 256 in the MAC array. 1024
# elements at half a cycle: 512 in the output stage. 2048 bytes are read first, and 1024 written last, at 8 a cycle.
ONE = 256 + 512 + 256 + 128


@pytest.mark.parametrize(
    ("commands", "cycles"),
    [
        (convolution(), ONE),
        # Two blocks: 128 to read, twice 256 in the output stage, then 128 in the MAC array and 64 to write.
        (convolution(block=(4, 8, 16)), 128 + 512 + 128 + 64),
        # 9 taps, 9 times the cycles; 10 x 10 x 32 bytes are read first. Four blocks are in preparation at once, each of
        # which takes both stages: the last one comes no sooner than a quarter of that.
        (convolution(taps=(3, 3)), 400 + 9 * 256 + (9 * 256 + 512) / 4 + 128),
        # Weights first: 3 steps of 4 taps each, 2 times 8 channels at once, twice. Half of each burst is of no use.
        (convolution(taps=(3, 3), KERNEL_STRIDE=4), 400 + 3 * 256 * 2 * 2 + (3072 + 512) / 4 + 128),
        (elementwise(mode=0), 768),  # MUL: 0.75 of a cycle for each of 1024 elements
        (elementwise(mode=1), 1536),  # ADD: 1.5
        (elementwise(mode=0, ACTIVATION=16), 1024),  # with a table: 1
        (elementwise(mode=5), 512),  # LRELU has one operand: 0.5
        (transfer(900), 100 + 900),
        (transfer(900, 1, 2), 2 * 900 / 8),  # from SRAM to SRAM: each byte is read and written
        (transfer(900, 0, 1 << 8), 100 + 900),  # a table
    ],
)
def test_one_operation(commands: Commands, cycles: float) -> None:
    assert _cycles(commands) == cycles


@pytest.mark.parametrize(
    ("accelerator", "micro_blocks", "element"),
    [
        ("ethos-u55-32", 8 * 8 * 4, 2.0),
        ("ethos-u55-64", 8 * 8 * 2, 1.0),
        (U55, 8 * 4 * 2, 0.5),
        ("ethos-u55-256", 4 * 4 * 2, 0.25),
        ("ethos-u65-256", 4 * 4 * 2, 0.25),
        ("ethos-u65-512", 4 * 4 * 2 / 2, 0.125),
    ],
)
def test_accelerators_differ_in_micro_blocks_and_output_stage(
    accelerator: str, micro_blocks: float, element: float
) -> None:
    kernel = _timeline(convolution(taps=(3, 3)), accelerator=accelerator)
    mac, output = 9 * 4 * micro_blocks, 1024 * element
    assert kernel.cycles == 400 + mac + max(output, (mac + output) / 4) + 128


# Ethos-U85-256, micro blocks of 2x2x8 (number 3): 64 channels at once are 8 steps for each of 4 x 4 x 2 micro blocks,
# so 256 cycles; the output stage takes a quarter of a cycle. 4096 bytes are read first, at 8 a cycle.
@pytest.mark.parametrize(
    ("commands", "cycles"),
    [
        (convolution(channels=64, ACC_FORMAT=3 << 8), 512 + 256 + 256 + 128),
        (convolution(channels=128, ACC_FORMAT=3 << 8), 512 + 2 * 256 + 256 + 128),
        (elementwise(), 256 * 1.5),  # the two operands and the result are more than 8 bytes a cycle
        (convolution(channels=64, ACC_FORMAT=3 << 8, WEIGHT_FORMAT_U85=16), 512 + 128 + 256 + 128),
    ],
)
def test_ethos_u85(commands: Commands, cycles: float) -> None:
    assert _cycles(commands, accelerator="ethos-u85-256") == cycles


def test_a_chain_of_ethos_u85_is_one_kernel_whose_output_stage_does_all() -> None:
    on_chip = 2 << 14
    chain = [
        convolution(channels=64, ACC_FORMAT=3 << 8, OFM_PRECISION=1 | 1 << 8 | on_chip, OFM_REGION=0),
        elementwise(mode=2, IFM_PRECISION=1 | on_chip),
    ]
    timeline = _timeline(*chain, accelerator="ethos-u85-256")
    assert timeline.cycles == 512 + 2 * 256 + 256 + 128
    assert len(timeline.kernels) == 1


@pytest.mark.parametrize(
    ("parts", "cycles"),
    [
        ([transfer(900), dma_wait(), convolution()], 1000 + ONE),
        ([transfer(900), convolution()], ONE),  # beside each other: they use different memories at any time
        ([transfer(900), transfer(900), convolution()], 1000 + ONE),  # one transfer in flight: the second one's turn
        ([convolution(), kernel_wait(), transfer(900)], ONE + 1000),
        ([convolution(), transfer(1900)], 2000),
        ([convolution(), convolution()], 2 * ONE),  # BLOCKDEP 0
        ([convolution(), convolution(), kernel_wait(1), transfer(2900)], ONE + 3000),
        ([convolution(), convolution(), convolution(), transfer(2900)], 2 * ONE + 3000 - ONE),  # two kernels in flight
        ([transfer(900), dma_wait(1), convolution()], ONE),  # it waits for none
    ],
)
def test_waits_and_queues(parts: list[Commands], cycles: float) -> None:
    assert _cycles(*parts) == pytest.approx(cycles)


def test_ethos_u65_has_two_transfers_in_flight() -> None:
    parts = [transfer(900), transfer(900), convolution()]
    begins = {name: _timeline(*parts, accelerator=name).kernels[0].begin for name in (U55, "ethos-u65-256")}
    assert begins == {U55: 1000, "ethos-u65-256": 0}


def test_with_blockdep_the_next_kernel_begins_before_the_end() -> None:
    fast = replace(SYSTEM, regions=(FLASH, replace(SRAM, bandwidth=1e6), SRAM))
    one, two = (convolution(block=(4, 8, 16), blockdep=blockdep) for blockdep in (0, 2))
    after, before = (_timeline(one, second, system=fast) for second in (one, two))
    alone = 512 + 128
    assert round(after.cycles) == 2 * alone
    # The second kernel's first block is in the MAC array while the first kernel's last one is in the output stage.
    assert round(before.cycles) == 2 * alone - 128
    assert before.kernels[1].begin == pytest.approx(256)  # two blocks are unfinished, one of them in the output stage


def test_blockdep_1_waits_for_all_but_one_block() -> None:
    fast = replace(SYSTEM, regions=(FLASH, replace(SRAM, bandwidth=1e6), SRAM))
    timeline = _timeline(convolution(block=(4, 8, 16)), convolution(block=(4, 8, 16), blockdep=1), system=fast)
    assert timeline.kernels[1].begin == pytest.approx(512, abs=1)


def test_operations_that_share_a_memory_slow_each_other_down() -> None:
    flash = convolution(weights=5000, region=0)
    assert _cycles(flash) == 5000
    # The transfer's latency, then half of the memory for each until its 1000 bytes are there.
    shared = _timeline(transfer(1000), flash)
    assert shared.cycles == pytest.approx(6000)
    assert next(span.end for span in shared.spans if span.unit is Unit.DMA) == pytest.approx(2100)


def test_weights_that_are_brought_behind_a_kernel_cost_nothing_when_they_are_used() -> None:
    before = convolution(taps=(3, 3))
    from_flash = [before, convolution(weights=2000, region=0)]
    prefetched = [before, transfer(2000), dma_wait(), convolution(weights=2000)]
    assert _cycles(*from_flash) == _cycles(before) + 2000
    assert _cycles(*prefetched) == pytest.approx(_cycles(before) + ONE)


def test_each_kernel_says_what_bounds_it_and_what_it_waited_for() -> None:
    parts = [convolution(), convolution(taps=(3, 3)), convolution(weights=5000, region=0), transfer(400), dma_wait()]
    timeline = _timeline(*parts, elementwise())
    assert [kernel.bound for kernel in timeline.kernels] == ["output", "mac", "OffChipFlash", "output"]
    assert sum(kernel.cycles for kernel in timeline.kernels) == pytest.approx(timeline.cycles)
    assert timeline.kernels[0].waited == timeline.kernels[1].waited == 0
    late = _timeline(elementwise(), transfer(900), dma_wait(), elementwise())
    assert late.kernels[1].waited == pytest.approx(1000 - 768)


def test_operators_are_told_by_the_order_of_kernels() -> None:
    data = stream(transfer(64), dma_wait(), convolution(), elementwise())
    timeline = estimate_stream(data, U55, SYSTEM, [7, 9])
    assert [kernel.operator for kernel in timeline.kernels] == [7, 9]
    assert {span.operator for span in timeline.spans if span.unit is Unit.DMA} == {7}


def test_kernels_end_in_order() -> None:
    """The second one has its sums before the first one's are written."""
    slow = convolution((1, 1, 1), 1, taps=(3, 3), block=(2, 4, 8), weights=16, region=0)
    quick = convolution((1, 1, 1), 1, taps=(1, 1), block=(2, 4, 8), weights=16, region=0, blockdep=1)
    first, second = _timeline(slow, quick).kernels
    assert first.end < second.end


_PARTS = st.lists(
    st.one_of(
        st.builds(
            convolution,
            st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 40)),
            st.integers(1, 70),
            taps=st.sampled_from([(1, 1), (3, 3), (1, 9)]),
            block=st.sampled_from([(2, 4, 8), (4, 8, 16)]),
            weights=st.integers(16, 4000),
            region=st.integers(0, 1),
            blockdep=st.integers(0, 3),
        ),
        st.builds(elementwise, st.just((4, 6, 16)), st.integers(0, 5), blockdep=st.integers(0, 3)),
        st.builds(transfer, st.integers(16, 3000)),
        st.builds(dma_wait, st.integers(0, 2)),
        st.builds(kernel_wait, st.integers(0, 2)),
    ),
    max_size=12,
)

#: No limits of time, and the same streams in every run.
_PROPERTY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@_PROPERTY
@given(_PARTS, st.sampled_from([U55, "ethos-u55-32", "ethos-u65-512", "ethos-u85-512"]))
def test_any_stream(parts: list[Commands], accelerator: str) -> None:
    timeline = _timeline(*parts, accelerator=accelerator)
    alone = sum(kernel.alone for kernel in timeline.kernels) + sum(
        FLASH.read_latency + 2 * dict(part)[r.DMA0_LEN] for part in parts if (r.DMA_START, 0) in part
    )  # a channel of Ethos-U85 has at least half of the flash
    assert timeline.cycles <= alone * (1 + 1e-9)
    assert all(0 <= span.begin <= span.end <= timeline.cycles * (1 + 1e-9) for span in timeline.spans)
    assert all(kernel.cycles >= -1e-6 and kernel.waited >= 0 for kernel in timeline.kernels)
    for unit in (Unit.MAC, Unit.DMA):  # one operation at a time
        spans = [span for span in timeline.spans if span.unit is unit]
        assert all(a.end <= b.begin + 1e-6 for a, b in pairwise(spans))
    assert timeline == _timeline(*parts, accelerator=accelerator)


@_PROPERTY
@given(_PARTS)
def test_a_faster_memory_never_costs_time_of_one_kernel_after_the_other(parts: list[Commands]) -> None:
    serial = [part for part in parts if part[-1][0] in r.KERNELS]
    serial = [[(n, 0 if n == r.BLOCKDEP else v) for n, v in part] for part in serial]
    fast = replace(SYSTEM, regions=(replace(FLASH, bandwidth=2.0), SRAM, SRAM))
    assert _timeline(*serial, system=fast).cycles <= _timeline(*serial).cycles * (1 + 1e-9)


def test_an_empty_stream_takes_no_time() -> None:
    assert _cycles() == 0


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (stream([(r.CONV, 0)]), "CONV at word 0 needs register"),
        (stream(transfer(10, 5)), "region 5"),
        (np.zeros(8, np.uint8), "without a command stream"),
        (np.zeros(3, np.uint8), "whole number of words"),
    ],
)
def test_bad_streams(data: np.ndarray[tuple[int], np.dtype[np.uint8]], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        estimate_stream(data, U55, SYSTEM)


@pytest.mark.parametrize(
    ("accelerator", "config", "mode", "clock", "memories"),
    [
        (U55, "Ethos_U55_High_End_Embedded", "Shared_Sram", 500e6,
         (Memory("OffChipFlash", 1.0, 64, 0, 128, 1, 2, 1), *[Memory("Sram", 8.0, 32, 32, 32, 1, 4, 4)] * 2)),
        ("ethos-u65-512", "Ethos_U65_High_End", "Dedicated_Sram_384KB", 1e9,
         (*[Memory("Dram", 3.75, 500, 250, 128, 1, 24, 12)] * 2, Memory("Sram", 16.0, 32, 32, 32, 1, 16, 16))),
        ("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only", 1e9,
         tuple([Memory("Sram", 32.0, 32, 32, 64, 2, 8, 8)] * 3)),
    ],
)  # fmt: skip
def test_systems_are_read_from_velas_file(
    accelerator: str, config: str, mode: str, clock: float, memories: tuple[Memory, ...]
) -> None:
    system = system_of(accelerator, config, mode)
    assert system == System(clock, memories, f"{config}, {mode}")


def test_a_value_that_is_no_number_is_named(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path), "own.ini")
    path.write_text("[System_Config.S]\ncore_clock=fast\n[Memory_Mode.M]\nconst_mem_area=Axi1\n")
    with pytest.raises(UsageError, match="core_clock=fast of 'S' is not a number"):
        system_of(U55, "S", "M", path)
