"""What a kernel moves between the accelerator and each memory, and how long each memory takes for it.

Source: ``MeasureElementAccess``, ``ElementTransferToBytes`` and ``ChannelBW`` of Vela's estimator (see ``constants``):
how often blocks make parts of the input and of the weights be read again, how short runs of bytes waste bursts, and
what the transactions in flight allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from math import prod

from .blocks import blocks_along, blocks_of_area, input_block, round_up
from .constants import CHANNEL_USE, LARGEST_WINDOW, Facts, Size
from .kernel import Kernel, Kind, Map
from .system import Memory, System

_BRICK = 16


class Channel(IntEnum):
    """What a transfer is for: on Ethos-U85 each has its own buffer of read data, by which it is limited."""

    MEMORY_TO_MEMORY = 0
    STREAMED_MAP = 1
    WEIGHTS = 2
    FAST_WEIGHTS = 3
    MAP = 4
    SCALES = 5
    WRITE = 6


@dataclass(frozen=True, slots=True)
class Load:
    """What an operation asks of one memory.

    Args:
        bytes: moved, with the rest of bursts that short runs waste.
        cycles: at least, with the memory to itself.
    """

    memory: Memory
    bytes: float
    cycles: float


def kernel_loads(kernel: Kernel, facts: Facts, system: System, u85: bool) -> tuple[Load, ...]:
    """What a kernel asks of the memories."""
    moved: dict[Memory, dict[Channel, float]] = {}
    for region, channel, size in _moved(kernel, facts, system):
        channels = moved.setdefault(system.memory(region), {})
        channels[channel] = channels.get(channel, 0) + size
    return tuple(_load(memory, channels, facts, u85) for memory, channels in moved.items())


def _load(memory: Memory, channels: dict[Channel, float], facts: Facts, u85: bool) -> Load:
    total = sum(channels.values())
    cycles = total / memory.bandwidth
    if u85:
        limits = (size / channel_bandwidth(memory, channel, facts) for channel, size in channels.items())
        cycles = max(cycles, *limits)
    return Load(memory, total, cycles)


def channel_bandwidth(memory: Memory, channel: Channel, facts: Facts) -> float:
    """Bytes a cycle that a channel of Ethos-U85 gets of a memory alone, by what may be in flight meanwhile."""
    writes = channel is Channel.WRITE
    latency = memory.write_latency if writes else memory.read_latency
    flying = (memory.writes if writes else memory.reads) * memory.ports * CHANNEL_USE
    if not writes:
        flying = min(flying, facts.read_buffers[channel] / max(memory.burst // 16, 1))
    if latency == 0:
        return memory.bandwidth
    return min(memory.bandwidth, memory.burst * flying / latency * CHANNEL_USE)


def _moved(kernel: Kernel, facts: Facts, system: System) -> Iterator[tuple[int, Channel, float]]:
    """Region, channel and bytes of each thing that a kernel reads or writes."""
    block = input_block(kernel, facts)
    first, second = _read_elements(kernel, block)
    streamed = kernel.kind in (Kind.ELEMENTWISE, Kind.RESIZE)
    for map_, elements, channel in (
        (kernel.ifm, first, Channel.STREAMED_MAP if streamed else Channel.MAP),
        (kernel.ifm2, second, Channel.STREAMED_MAP),
    ):
        if map_ is not None and map_.region is not None and elements:
            yield map_.region, channel, in_bursts(True, system.memory(map_.region), map_, block, elements, facts)
    if kernel.ofm.region is not None:
        written = prod(_stored(kernel.ofm.size, kernel.ofm))
        memory = system.memory(kernel.ofm.region)
        yield kernel.ofm.region, Channel.WRITE, in_bursts(False, memory, kernel.ofm, kernel.block, written, facts)
    again = blocks_of_area(kernel)
    if kernel.weights is not None:
        weights = Channel.FAST_WEIGHTS if kernel.fast_weights else Channel.WEIGHTS
        yield kernel.weights.region, weights, again * kernel.weights.bytes
    if kernel.scales is not None:
        yield kernel.scales.region, Channel.SCALES, again * kernel.scales.bytes


def _read_elements(kernel: Kernel, block: Size) -> tuple[float, float]:
    """Elements that are read of both inputs, those counted twice that several blocks read."""
    if kernel.kind.uses_macs:
        second = kernel.ifm2.elements * blocks_along(kernel)[1] if kernel.ifm2 is not None else 0
        return _window_elements(kernel, block), second
    return _operand_elements(kernel, kernel.ifm), _operand_elements(kernel, kernel.ifm2)


def _operand_elements(kernel: Kernel, operand: Map | None) -> int:
    """Of an operand of an elementwise operation: along axes on which it is broadcast, each block reads it again."""
    if operand is None or operand.elements == 1:
        return 1 if operand is not None and operand.bits > 8 else 0
    sizes = zip(operand.size, kernel.ofm.size, blocks_along(kernel), strict=True)
    again = prod(blocks if own == 1 and whole > 1 else 1 for own, whole, blocks in sizes)
    return prod(_stored(operand.size, operand)) * again


def _window_elements(kernel: Kernel, block: Size) -> int:
    height, width, _ = (min(a, b) for a, b in zip(kernel.ifm.size, block, strict=True))
    down, across, deep = blocks_along(kernel)
    parts = prod(-(-tap // LARGEST_WINDOW) for tap in kernel.taps)
    again = down * across * (deep if kernel.kind.sums_over_channels else 1)
    return height * width * _stored(kernel.ifm.size, kernel.ifm)[2] * parts * again


def _stored(size: Size, map_: Map) -> Size:
    height, width, depth = size
    return height, width, round_up(depth, _BRICK) if map_.bricks else depth


def in_bursts(read: bool, memory: Memory, map_: Map, block: Size, elements: float, facts: Facts) -> float:
    """Bytes moved for elements of a map, in bursts of which short runs waste a part."""
    run = min(memory.burst, _run_bits(read, map_, block, facts) // 8)
    return elements * map_.bits / 8 * memory.burst / max(1, run)


def _run_bits(read: bool, map_: Map, block: Size, facts: Facts) -> int:
    """Bits of a block that lie together."""
    _, width, depth = block
    if map_.bricks:
        if map_.size[1] * map_.bits * _BRICK // 8 == depth:
            return map_.bits * width * depth
        return _BRICK * map_.bits * width * (1 if read else facts.cores)
    whole_rows = map_.size[2] * map_.bits // 8 == depth
    if whole_rows and (read or depth <= _BRICK):
        return map_.bits * width * depth
    return map_.bits * depth if read else min(64 * 8, _BRICK * map_.bits * facts.cores, depth * map_.bits)
