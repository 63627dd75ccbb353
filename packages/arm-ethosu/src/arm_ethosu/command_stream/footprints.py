"""Which bytes an operation reads and writes, exactly: feature maps, weights, scales, and both sides of a transfer.

What the registers mean is as in the functional model (``packages/arm-runtime-cpp/src/ethosu/model``: ``kernel.cpp``,
``dma.cpp``), which agrees with the TOSA reference model on what Vela compiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..accelerators import Family
from . import registers as r
from .feature_maps import FeatureMap, inputs, result
from .operations import Operation, UnreadableStream

_BRICK = 16
_AVERAGE = 1  # a mode of POOL


@dataclass(frozen=True)
class Part:
    """Bytes of a region: ``base`` and all sums of it with ``steps[i] * n``, n below ``counts[i]``, for each axis."""

    region: int
    base: int
    counts: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def bounds(self) -> tuple[int, int]:
        """The first byte, and that behind the last one."""
        ends = [(count - 1) * step for count, step in zip(self.counts, self.steps, strict=True)]
        return self.base + sum(min(end, 0) for end in ends), self.base + sum(max(end, 0) for end in ends) + 1

    def of(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The bytes of it that the elements of a memory [bytes] stand for, as a view.

        Raises:
            UnreadableStream: it leaves the memory.
        """
        first, end = self.bounds
        if first < 0 or end > len(memory):
            raise UnreadableStream(f"bytes {first} to {end} of region {self.region} are outside its {len(memory)}")
        strides = tuple(step * memory.itemsize for step in self.steps)
        return np.lib.stride_tricks.as_strided(memory[self.base :], self.counts, strides)


@dataclass(frozen=True)
class Footprint:
    """What one operation does with memory.

    Args:
        reads: the bytes that it reads, or more where unknown indices choose.
        writes: what it writes; more than that where indices choose.
        read_beside, written_beside: the rest of bricks of which it has a part of the channels.
        exact: whether it writes all of ``writes``.
    """

    reads: tuple[Part, ...] = ()
    writes: tuple[Part, ...] = ()
    read_beside: tuple[Part, ...] = ()
    written_beside: tuple[Part, ...] = ()
    exact: bool = True

    @property
    def read(self) -> tuple[Part, ...]:
        """What it may read, in whole bricks."""
        return (*self.reads, *self.read_beside)

    @property
    def written(self) -> tuple[Part, ...]:
        """What it may write, in whole bricks."""
        return (*self.writes, *self.written_beside)


def footprint(operation: Operation, family: Family) -> Footprint:
    """What an operation reads and writes in regions; memory on the chip is not among it.

    Raises:
        UnreadableStream: a mode that is not known here.
    """
    if operation.is_transfer:
        return _transfer(operation, family == "u85")
    if operation.is_kernel:
        return _kernel(operation, family)
    return Footprint()


def reads_by_register(operation: Operation, family: Family) -> list[tuple[int, Part]]:
    """What an operation reads, in whole bricks, each with the register of its address.

    Raises:
        UnreadableStream: a mode that is not known here.
    """
    if operation.is_transfer:
        return _transfer_reads(operation, family == "u85")
    if operation.is_kernel:
        return [*_streams(operation, family), *((base, part) for base, part, _ in _maps(operation, family == "u85"))]
    return []


def constants(operation: Operation, family: Family) -> list[tuple[int, int, int, int]]:
    """The constants that a kernel reads: register of its region, of its base, first byte, length; none of length 0."""
    u85 = family == "u85"
    own = operation.code in (r.CONV, r.DEPTHWISE) and not (u85 and operation.code == r.CONV and operation.parameter)
    pooled = operation.code == r.POOL and (u85 or operation.parameter == _AVERAGE)
    whole = operation.get(r.OFM_PRECISION) >> 8 & 1  # one scale for all channels, which is in a register
    scaled = (own or pooled or operation.code == r.CONV) and not (whole and (u85 or pooled))
    streams = [(r.WEIGHT_REGION, *pair) for pair in r.WEIGHTS[family] if own]
    streams += [(r.SCALE_REGION, *pair) for pair in r.SCALES[family] if scaled]
    found = []
    for region, base, length in streams:
        if base in operation.registers and (size := operation.address(length)):
            found.append((region, base, operation.address(base), size))
    return found


def _kernel(op: Operation, family: Family) -> Footprint:
    u85 = family == "u85"
    streams = tuple(part for _, part in _streams(op, family))
    written = [] if u85 and op.keeps_sums else list(_map(op, result(op, u85)))
    reads, read_beside = _own(_maps(op, u85))
    writes, written_beside = _own(written)
    return Footprint((*streams, *reads), writes, read_beside, written_beside)


def _streams(op: Operation, family: Family) -> list[tuple[int, Part]]:
    """Weights and scales."""
    return [(base, Part(op.get(region), first, (size,), (1,))) for region, base, first, size in constants(op, family)]


#: The register of an address, bytes from there on, and whether they are the map's own.
_MapPart = tuple[int, Part, bool]


def _maps(op: Operation, u85: bool) -> list[_MapPart]:
    """The maps that a kernel reads."""
    return [part for read in inputs(op, u85) for part in _map(op, read)]


def _own(parts: list[_MapPart]) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The parts of a map, and those beside it."""
    return tuple(part for _, part, own in parts if own), tuple(part for _, part, own in parts if not own)


def _map(op: Operation, stored: FeatureMap) -> Iterator[_MapPart]:
    """The parts of a map in its tiles; with False those of bricks that it has no channels for."""
    if stored.storage in (r.NOWHERE, r.CHAINED):
        return
    if stored.storage != r.TILES:
        raise UnreadableStream(f"a map has three tiles at word {op.at}")
    registers, element = stored.registers, stored.element
    base, region, height, width, depth = registers.base, op.get(registers.region), *stored.size
    stride_x, stride_y, stride_c = (op.stride(base + 4 + axis) for axis in range(3))
    height0, height1, width0 = op.size(registers.height0), op.size(registers.height1), op.size(registers.width0)
    left = min(width, width0)
    sizes = [(min(height, height0), left), (min(height, height1), width - left)]
    sizes += [(height - height0, left), (height - height1, width - left)]
    for tile, (rows, columns) in enumerate(sizes):
        if rows <= 0 or columns <= 0:
            continue
        start, first = base + tile, op.address(base + tile)
        if not stored.bricks:
            yield start, _joined(region, first, (rows, columns, depth * element), (stride_y, stride_x, 1)), True
            continue
        full, rest = divmod(depth, _BRICK)
        brick = _BRICK * element
        if full:
            yield start, Part(region, first, (rows, full, columns * brick), (stride_y, stride_c, 1)), True
        if rest:
            at = first + full * stride_c
            yield start, Part(region, at, (rows, columns, rest * element), (stride_y, brick, 1)), True
            beside = (_BRICK - rest) * element
            yield start, Part(region, at + rest * element, (rows, columns, beside), (stride_y, brick, 1)), False


def _joined(region: int, base: int, counts: tuple[int, ...], steps: tuple[int, ...]) -> Part:
    """A part whose innermost axes are one where they follow each other."""
    while len(counts) > 1 and (steps[-2] == counts[-1] or counts[-2] == 1):
        counts = (*counts[:-2], counts[-2] * counts[-1])
        steps = (*steps[:-2], 1)
    return Part(region, base, counts, steps)


def _transfer(op: Operation, u85: bool) -> Footprint:
    reads, target = tuple(part for _, part in _transfer_reads(op, u85)), op.get(r.DMA0_DST_REGION)
    if not reads or target & r.INTERNAL:
        return Footprint(reads)
    written = _side(op, target, r.DMA0_DST, (r.DMA0_DST_STRIDE1_U85, r.DMA0_DST_STRIDE0_U85), u85)
    return Footprint(reads, (written,), exact=not (u85 and target & r.INDEXED))


def _transfer_reads(op: Operation, u85: bool) -> list[tuple[int, Part]]:
    """The source of a transfer, and the indices, if it has some; nothing if it moves nothing."""
    source, target = op.get(r.DMA0_SRC_REGION), op.get(r.DMA0_DST_REGION)
    outer, inner = _repetitions(op, u85)
    if not op.address(r.DMA0_LEN) or not inner or not outer:
        return []
    reads = [(r.DMA0_SRC, _side(op, source, r.DMA0_SRC, (r.DMA0_SRC_STRIDE1_U85, r.DMA0_SRC_STRIDE0_U85), u85))]
    if u85 and (source | target) & r.INDEXED:
        skip = op.stride(r.DMA0_IDX_SKIP1_U85) if outer > 1 else 0
        indices = (outer, 4 * inner), (4 * inner + skip, 1)
        reads.append((r.DMA0_IDX_U85, Part(op.get(r.DMA0_IDX_REGION), op.address(r.DMA0_IDX_U85), *indices)))
    return reads


def transferred(op: Operation, u85: bool) -> int:
    """How many bytes a transfer moves."""
    outer, inner = _repetitions(op, u85)
    return op.address(r.DMA0_LEN) * outer * inner


def _repetitions(op: Operation, u85: bool) -> tuple[int, int]:
    """How often a transfer moves its bytes, along the outer and the inner axis."""
    source, target = op.get(r.DMA0_SRC_REGION), op.get(r.DMA0_DST_REGION)
    dimensions = (source >> 9 & 3) + 1 if u85 else 1
    indexed = u85 and bool((source | target) & r.INDEXED)
    inner = op.get(r.DMA0_SIZE0) if dimensions > 1 or indexed else 1
    return op.get(r.DMA0_SIZE1) if dimensions > 2 else 1, inner


def _side(op: Operation, region: int, base: int, strides: tuple[int, int], u85: bool) -> Part:
    """The source of a transfer, or what it writes."""
    outer, inner = _repetitions(op, u85)
    count = op.get(r.DMA0_IDX_MAX_U85) + 1 if u85 and region & r.INDEXED else inner
    steps = [op.stride(s) if n > 1 else 0 for s, n in zip(strides, (outer, count), strict=True)]
    return _joined(region & 7, op.address(base), (outer, count, op.address(r.DMA0_LEN)), (*steps, 1))
