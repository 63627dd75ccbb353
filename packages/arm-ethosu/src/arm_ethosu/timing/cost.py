"""Cycles of one operation by itself.

Source: ``EstimateMacCyclesPerBlock``, ``EstimateMacOpCycles``, ``EstimateElementwiseCycles`` and
``EstimateAOCyclesPerElement`` of Vela's estimator (see ``constants``). A kernel works block by block: the MAC array
sums one block while the output stage scales and writes the one before. Before that the first part of the input is read,
and after it the last block goes through the other stage and is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from ..command_stream import registers as r
from ..command_stream.footprints import transferred
from ..command_stream.operations import Operation
from ..command_stream.tables import brings_a_table
from .blocks import blocks_along, clipped_block, input_block, micro_block, round_up
from .constants import BLOCKS_IN_PREPARATION, LARGEST_WINDOW, SCALE_BURST, SCALE_BYTES, Facts, OutputRates, Size
from .kernel import Kernel, Kind
from .system import Memory, System
from .traffic import Channel, Load, channel_bandwidth, in_bursts, kernel_loads


@dataclass(frozen=True, slots=True)
class KernelCost:
    """What a kernel takes.

    Args:
        mac, output: cycles in which the MAC array and the output stage work.
        fill: cycles before the first block: the first part of the input is read.
        main: cycles of the blocks, if memories keep up.
        drain: cycles after them: the last block goes through the other stage, and is written.
        blocks: of the result; a part of a block counts as one.
        loads: what it asks of the memories.
        stage: ``mac``, ``output`` or ``issue``: what decides ``main``.
    """

    mac: float
    output: float
    fill: float
    main: float
    drain: float
    blocks: float
    loads: tuple[Load, ...]
    stage: str

    @property
    def compute(self) -> float:
        """Cycles if memories keep up."""
        return self.fill + self.main + self.drain

    @property
    def alone(self) -> float:
        """Cycles if nothing else uses the memories."""
        return max(self.compute, *(load.cycles for load in self.loads), 0.0)

    @property
    def bound(self) -> str:
        """What decides ``alone``: a stage or a memory."""
        slowest = max(self.loads, key=lambda load: load.cycles, default=None)
        return slowest.memory.name if slowest is not None and slowest.cycles > self.compute else self.stage


@dataclass(frozen=True, slots=True)
class TransferCost:
    """What a transfer takes.

    Args:
        latency: cycles before the first byte.
        main: cycles of the bytes, if nothing else uses the memories.
        bytes: moved.
        loads: what it asks of the memories.
    """

    latency: float
    main: float
    bytes: int
    loads: tuple[Load, ...]


def kernel_cost(kernels: Sequence[Kernel], facts: Facts, system: System, u85: bool) -> KernelCost:
    """What a kernel takes by itself, or several of Ethos-U85 that hand their blocks on through its chaining buffers.

    Of those in a chain each adds to the work of the output stage; the first one alone may use the MAC array.
    """
    first = kernels[0]
    loads = tuple(load for kernel in kernels for load in kernel_loads(kernel, facts, system, u85))
    element = sum(output_cycles(kernel, facts) for kernel in kernels)
    read, written = _first_read(first, facts, system), _last_write(kernels[-1], facts, system)
    work = _Work(first, _joined(loads), element, read, written)
    return _blockwise(work, facts, system, u85) if first.kind.uses_macs else _elementwise(work)


@dataclass(frozen=True, slots=True)
class _Work:
    """A kernel, with what does not depend on whether the MAC array takes part."""

    kernel: Kernel
    loads: tuple[Load, ...]
    element: float  # cycles in the output stage
    read: float  # cycles until the input of the first block is there
    written: float  # cycles until the last block is written


def _joined(loads: Sequence[Load]) -> tuple[Load, ...]:
    """One load for each memory."""
    joined: dict[Memory, Load] = {}
    for load in loads:
        before = joined.get(load.memory, Load(load.memory, 0, 0))
        joined[load.memory] = Load(load.memory, before.bytes + load.bytes, before.cycles + load.cycles)
    return tuple(joined.values())


def _blockwise(work: _Work, facts: Facts, system: System, u85: bool) -> KernelCost:
    kernel, block = work.kernel, clipped_block(work.kernel)
    micro = micro_block(kernel, facts)
    inside = prod(-(-b // u) for b, u in zip(block, micro, strict=True))
    blocks = prod(-(-o // u) for o, u in zip(kernel.ofm.size, micro, strict=True)) / inside
    mac = mac_cycles(kernel, facts, u85)
    output = max(ceil(work.element * prod(block)), _scale_cycles(kernel, system, block[2]))
    moved = abs(work.written - work.read) if blocks > 1 else 0.0
    issue = (moved + mac + output) / BLOCKS_IN_PREPARATION
    slower, faster = max(mac, output, issue), min(max(mac, issue), max(output, issue))
    stage = "issue" if slower > max(mac, output) else "mac" if mac > output else "output"
    drain = faster + work.written
    return KernelCost(mac * blocks, output * blocks, work.read, slower * blocks, drain, blocks, work.loads, stage)


def _elementwise(work: _Work) -> KernelCost:
    kernel = work.kernel
    height, width, depth = kernel.ofm.size
    elements = height * width * (round_up(depth, 16) if kernel.ofm.bricks else depth)
    output = ceil(work.element * elements)
    moved = max(work.read, work.written)
    issue = ceil((moved / prod(kernel.block) + work.element) / BLOCKS_IN_PREPARATION * elements)
    stage = "output" if output >= issue else "issue"
    return KernelCost(0, output, 0, max(output, issue), 0, prod(blocks_along(kernel)), work.loads, stage)


def mac_cycles(kernel: Kernel, facts: Facts, u85: bool) -> float:
    """Cycles in which the MAC array sums one block of a result."""
    block, micro = clipped_block(kernel), micro_block(kernel, facts)
    height, width, depth = (-(-b // u) for b, u in zip(block, micro, strict=True))
    inputs = min(kernel.ifm.size[2], input_block(kernel, facts)[2])
    total = 0.0
    for columns in _parts(kernel.taps[1]):
        for rows in _parts(kernel.taps[0]):
            steps, cycles = _steps(kernel, facts, u85, rows * columns, height * width, depth, inputs)
            total += cycles + _pauses(kernel, facts, u85, steps, (height, width, depth), inputs)
    if kernel.kind.sums_over_channels:
        total *= -(-kernel.ifm.size[2] // inputs)
    return total if u85 else total // facts.cores


def _parts(taps: int) -> list[int]:
    return [min(taps - at, LARGEST_WINDOW) for at in range(0, taps, LARGEST_WINDOW)]


def _steps(kernel: Kernel, facts: Facts, u85: bool, taps: int, area: int, depth: int, inputs: int) -> tuple[int, float]:
    """Steps over the window's elements, and cycles of them all; ``area`` and ``depth`` count micro blocks."""
    bits = kernel.ifm.bits
    # Weights come at 8 outputs in 32 cycles, on Ethos-U85 from each core's decoder.
    weights = 32 * micro_block(kernel, facts)[2] // (8 * facts.cores if u85 else 8)
    if kernel.kind is Kind.POOL:
        factor = bits // 2 if u85 or facts.macs > 32 else 1
        return 1, max(4, taps) * area * depth * factor
    if kernel.kind is Kind.DEPTHWISE:
        steps = -(-taps // 4)
        return steps, max(weights, 4 * area * (bits // 8)) * steps * depth
    sparse = 2 if u85 and kernel.sparse else 1
    if not kernel.part_kernel:
        each = max(weights, inputs // 8 * area) * (bits // 8) if u85 else max(weights, 4 * area)
        return taps, each * taps * depth // sparse
    steps = -(-taps // (2 if bits == 16 else 4))
    return steps, max(weights, 4 * area) * steps * depth * -(-inputs // 8) // sparse


def _pauses(kernel: Kernel, facts: Facts, u85: bool, steps: int, micro_blocks: Size, inputs: int) -> float:
    """Cycles in which the MAC array waits for its own sums, where a block is one micro block high and wide."""
    height, width, depth = micro_blocks
    small = not u85 and facts.macs == 32
    pause = (7 if kernel.wide else 3) if small else 3 if kernel.wide and facts.macs <= 128 else 2
    cycles = 0
    if height * width == 1:
        cycles = pause * steps if depth == 1 else pause * (steps - 1) * depth
    if small and kernel.wide and depth > 1 and 1 in (height, width):
        cycles += pause * depth
    return cycles * -(-inputs // 8) if kernel.part_kernel else cycles


def output_cycles(kernel: Kernel, facts: Facts) -> float:
    """Cycles an element in the output stage."""
    rates, ifm, ofm = facts.output, kernel.ifm.bits, kernel.ofm.bits
    if isinstance(rates, OutputRates):
        if kernel.kind is Kind.ELEMENTWISE and ifm == 32:
            rate = rates.unary_int32 if kernel.ifm2 is None else rates.binary_int32
        elif kernel.mul and ofm == 32:
            rate = rates.mul_int32
        elif kernel.mul or (kernel.kind.uses_macs and kernel.wide):
            rate = rates.mul
        elif kernel.add:
            rate = rates.add
        else:
            rate = rates.max_pool if kernel.max_pool else rates.other
        return max(rate, rates.table if kernel.table else 0.0)
    if kernel.div:
        return rates.div
    if kernel.ofm.region is None and 32 in (ifm, ofm):
        rate = rates.narrowed
    elif ofm == 64:
        rate = rates.bits64
    elif kernel.kind is Kind.ELEMENTWISE and kernel.ifm2 is not None and ifm == 32:
        rate = rates.binary_int32 if ofm == 32 else rates.narrowed
    else:
        rate = {8: rates.bits8, 16: rates.bits16, 32: rates.bits32}[ofm]
    return max(rate, rates.swapped if kernel.swapped else 0.0)


def _scale_cycles(kernel: Kernel, system: System, channels: int) -> float:
    """Cycles in which the scales of a block's channels are read."""
    if kernel.scales is None or kernel.kind not in (Kind.CONV, Kind.DEPTHWISE):
        return 0.0
    return SCALE_BYTES * channels * system.memory(kernel.scales.region).read_latency / SCALE_BURST


def _first_read(kernel: Kernel, facts: Facts, system: System) -> float:
    """Cycles until the input of one block is there."""
    cycles = 0.0
    for map_ in (kernel.ifm, kernel.ifm2):
        if map_ is None or map_.region is None:
            continue
        memory, block = system.memory(map_.region), input_block(kernel, facts)
        elements = prod(min(a, b) for a, b in zip(map_.size, block, strict=True))
        moved = in_bursts(True, memory, map_, block, elements, facts)
        cycles = max(cycles, memory.read_latency + int(moved / memory.bandwidth))
    return cycles


def _last_write(kernel: Kernel, facts: Facts, system: System) -> float:
    """Cycles until one block is written."""
    if kernel.ofm.region is None:
        return 0.0
    memory = system.memory(kernel.ofm.region)
    moved = in_bursts(False, memory, kernel.ofm, kernel.block, prod(clipped_block(kernel)), facts)
    return memory.write_latency + int(moved / memory.bandwidth)


def transfer_cost(transfer: Operation, facts: Facts, system: System, u85: bool) -> TransferCost:
    """What a DMA transfer takes by itself; a table goes into memory on chip, which takes any speed."""
    size = transferred(transfer, u85)
    reads = system.memory(transfer.get(r.DMA0_SRC_REGION) & 7)
    loads = [_transfer_load(reads, size, Channel.MEMORY_TO_MEMORY, facts, u85)]
    latency = reads.read_latency
    if not brings_a_table(transfer):
        writes = system.memory(transfer.get(r.DMA0_DST_REGION) & 7)
        loads.append(_transfer_load(writes, size, Channel.WRITE, facts, u85))
        latency = max(latency, writes.write_latency)
    return TransferCost(latency, max(load.cycles for load in loads), size, tuple(loads))


def _transfer_load(memory: Memory, size: int, channel: Channel, facts: Facts, u85: bool) -> Load:
    bandwidth = channel_bandwidth(memory, channel, facts) if u85 else memory.bandwidth
    return Load(memory, size, size / bandwidth)
