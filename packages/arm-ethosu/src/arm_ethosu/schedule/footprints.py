"""Which bytes an operation reads and writes, exactly: feature maps, weights, scales, and both sides of a transfer.

What the registers mean is as in the functional model (``packages/arm-runtime-cpp/src/ethosu/model``: ``kernel.cpp``,
``feature_map.cpp``, ``dma.cpp``), which agrees with the TOSA reference model on what Vela compiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..accelerators import Family
from . import registers as r
from .operations import Operation, Unschedulable

_BRICK = 16
_NO_STORAGE, _CHAINED, _TILES = 3, 2, 0  # of a map on Ethos-U85
_UNARY = (5, 6, 7, 36)  # LRELU, ABS, CLZ, NOT
_AVERAGE, _REDUCE_SUM, _NO_INPUT = 1, 2, 4  # modes of POOL
INTERNAL, _INDEXED = 1 << 8, 1 << 11  # of the regions of a transfer
_AXES = {0: (0, 1, 2), 1: (1, 0, 2), 2: (0, 2, 1), 3: (1, 2, 0), 6: (2, 0, 1), 7: (2, 1, 0)}  # of a transposed result


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
            Unschedulable: it leaves the memory.
        """
        first, end = self.bounds
        if first < 0 or end > len(memory):
            raise Unschedulable(f"bytes {first} to {end} of region {self.region} are outside its {len(memory)}")
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
        Unschedulable: a mode that is not known here.
    """
    if operation.is_transfer:
        return _transfer(operation, family == "u85")
    if operation.is_kernel:
        return _kernel(operation, family)
    return Footprint()


def reads_by_register(operation: Operation, family: Family) -> list[tuple[int, Part]]:
    """What an operation reads, in whole bricks, each with the register of its address.

    Raises:
        Unschedulable: a mode that is not known here.
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
    read = _maps(op, u85)
    stays = u85 and op.code in (r.CONV, r.DEPTHWISE, r.POOL) and op.get(r.ACC_FORMAT) >> 6 & 1
    written = [] if stays else list(_map(op, _OFM, 1, _result(op, u85), u85))  # accumulators stay where they are
    reads, read_beside = _own(read)
    writes, written_beside = _own(written)
    return Footprint((*streams, *reads), writes, read_beside, written_beside)


def _streams(op: Operation, family: Family) -> list[tuple[int, Part]]:
    """Weights and scales."""
    return [(base, Part(op.get(region), first, (size,), (1,))) for region, base, first, size in constants(op, family)]


#: The register of an address, bytes from there on, and whether they are the map's own.
_MapPart = tuple[int, Part, bool]


def _maps(op: Operation, u85: bool) -> list[_MapPart]:
    """The maps that a kernel reads."""
    return [each for (names, bit), shape in _inputs(op, u85) for each in _map(op, names, bit, shape, u85)]


def _own(parts: list[_MapPart]) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The parts of a map, and those beside it."""
    return tuple(part for _, part, own in parts if own), tuple(part for _, part, own in parts if not own)


def _result(op: Operation, u85: bool) -> tuple[int, ...]:
    """Height, width and depth of the result, as they lie in memory."""
    shape = op.size(r.OFM_HEIGHT_M1), op.size(r.OFM_WIDTH_M1), op.size(r.OFM_DEPTH_M1)
    if not u85:
        return shape
    axes = _AXES.get(op.get(r.OFM_PRECISION) >> 11 & 7)
    if axes is None:
        raise Unschedulable(f"a result is transposed in an unknown way at word {op.at}")
    return tuple(shape[axis] for axis in axes)


_IFM = (r.IFM_PRECISION, r.IFM_REGION, r.IFM_BASE0, r.IFM_HEIGHT0_M1, r.IFM_HEIGHT1_M1, r.IFM_WIDTH0_M1)
_IFM2 = (r.IFM2_PRECISION, r.IFM2_REGION, r.IFM2_BASE0, r.IFM2_HEIGHT0_M1, r.IFM2_HEIGHT1_M1, r.IFM2_WIDTH0_M1)
_OFM = (r.OFM_PRECISION, r.OFM_REGION, r.OFM_BASE0, r.OFM_HEIGHT0_M1, r.OFM_HEIGHT1_M1, r.OFM_WIDTH0_M1)
_Map = tuple[tuple[int, ...], int]


def _inputs(op: Operation, u85: bool) -> Iterator[tuple[_Map, tuple[int, ...]]]:
    """The maps that a kernel reads: registers, the bit of the precision with the size of elements, and the shape."""
    result = op.size(r.OFM_HEIGHT_M1), op.size(r.OFM_WIDTH_M1), op.size(r.OFM_DEPTH_M1)
    if op.code == r.ELEMENTWISE:
        yield from _operands(op, result, u85)
        return
    if op.code == r.RESIZE:
        yield (_IFM, 2), (op.size(r.KERNEL_HEIGHT_M1), op.size(r.KERNEL_WIDTH_M1), result[2])
        return
    if op.code != r.POOL or op.parameter != _NO_INPUT:
        yield (_IFM, 2), _window(op)
    if op.code == r.CONV and op.parameter:  # a product of matrices: the right one for each row
        yield (_IFM2, 2), (result[0], result[2], op.size(r.IFM_DEPTH_M1))
    if u85 and op.get(r.ACC_FORMAT) >> 4 & 3 == 2:  # sums begin with the second input
        yield (_IFM2, 2), result


def _operands(op: Operation, result: tuple[int, ...], u85: bool) -> Iterator[tuple[_Map, tuple[int, ...]]]:
    scalar = not u85 and op.get(r.IFM2_BROADCAST) >> 7 & 1 if op.parameter not in _UNARY else True
    if u85:
        first = result if op.get(r.IFM_PRECISION) >> 14 == _NO_STORAGE else _repeated(op, r.IFM_BROADCAST_U85, result)
    else:
        first = (*result[:2], op.size(r.IFM_DEPTH_M1))
    yield (_IFM, 2), first
    if not scalar and not (u85 and op.get(r.IFM2_PRECISION) >> 14 == _NO_STORAGE):
        yield (_IFM2, 2), _repeated(op, r.IFM2_BROADCAST, result)


def _repeated(op: Operation, register: int, result: tuple[int, ...]) -> tuple[int, ...]:
    flags = op.get(register)
    return tuple(1 if flags >> axis & 1 else size for axis, size in enumerate(result))


def _window(op: Operation) -> tuple[int, int, int]:
    """The shape of what the windows of a convolution or pool cover, without padding."""
    stride = op.get(r.KERNEL_STRIDE)
    step_x, step_y = 1 + (stride & 1) + 2 * (stride >> 6 & 7), 1 + (stride >> 1 & 1) + 2 * (stride >> 9 & 7)
    height = (op.get(r.OFM_HEIGHT_M1)) * step_y + op.size(r.KERNEL_HEIGHT_M1)
    width = (op.get(r.OFM_WIDTH_M1)) * step_x + op.size(r.KERNEL_WIDTH_M1)
    rows = height - op.get(r.IFM_PAD_TOP) - op.get(r.IFM_PAD_BOTTOM)
    columns = width - op.get(r.IFM_PAD_LEFT) - op.get(r.IFM_PAD_RIGHT)
    factor = 2 if op.registers.get(r.IFM_UPSCALE) else 1
    return -(-rows // factor), -(-columns // factor), op.size(r.IFM_DEPTH_M1)


def _map(
    op: Operation, names: tuple[int, ...], element_bit: int, shape: tuple[int, ...], u85: bool
) -> Iterator[_MapPart]:
    """The parts of a map in its tiles; with False those of bricks that it has no channels for."""
    precision_name, region_name, base, height0_name, height1_name, width0_name = names
    precision = op.get(precision_name)
    if u85 and (storage := precision >> 14) != _TILES:
        if storage not in (_NO_STORAGE, _CHAINED):
            raise Unschedulable(f"a map has three tiles at word {op.at}")
        return
    element, bricks = 1 << (precision >> element_bit & 3), precision >> 6 & 1
    region, height, width, depth = op.get(region_name), *shape
    stride_x, stride_y, stride_c = (op.stride(base + 4 + axis) for axis in range(3))
    height0, height1, width0 = op.size(height0_name), op.size(height1_name), op.size(width0_name)
    left = min(width, width0)
    sizes = [(min(height, height0), left), (min(height, height1), width - left)]
    sizes += [(height - height0, left), (height - height1, width - left)]
    for tile, (rows, columns) in enumerate(sizes):
        if rows <= 0 or columns <= 0:
            continue
        start, first = base + tile, op.address(base + tile)
        if not bricks:
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
    if not reads or target & INTERNAL:
        return Footprint(reads)
    written = _side(op, target, r.DMA0_DST, (r.DMA0_DST_STRIDE1_U85, r.DMA0_DST_STRIDE0_U85), u85)
    return Footprint(reads, (written,), exact=not (u85 and target & _INDEXED))


def _transfer_reads(op: Operation, u85: bool) -> list[tuple[int, Part]]:
    """The source of a transfer, and the indices, if it has some; nothing if it moves nothing."""
    source, target = op.get(r.DMA0_SRC_REGION), op.get(r.DMA0_DST_REGION)
    outer, inner = _repetitions(op, u85)
    if not op.address(r.DMA0_LEN) or not inner or not outer:
        return []
    reads = [(r.DMA0_SRC, _side(op, source, r.DMA0_SRC, (r.DMA0_SRC_STRIDE1_U85, r.DMA0_SRC_STRIDE0_U85), u85))]
    if u85 and (source | target) & _INDEXED:
        skip = op.stride(r.DMA0_IDX_SKIP1_U85) if outer > 1 else 0
        indices = (outer, 4 * inner), (4 * inner + skip, 1)
        reads.append((r.DMA0_IDX_U85, Part(op.get(r.DMA0_IDX_REGION), op.address(r.DMA0_IDX_U85), *indices)))
    return reads


def _repetitions(op: Operation, u85: bool) -> tuple[int, int]:
    """How often a transfer moves its bytes, along the outer and the inner axis."""
    source, target = op.get(r.DMA0_SRC_REGION), op.get(r.DMA0_DST_REGION)
    dimensions = (source >> 9 & 3) + 1 if u85 else 1
    indexed = u85 and bool((source | target) & _INDEXED)
    inner = op.get(r.DMA0_SIZE0) if dimensions > 1 or indexed else 1
    return op.get(r.DMA0_SIZE1) if dimensions > 2 else 1, inner


def _side(op: Operation, region: int, base: int, strides: tuple[int, int], u85: bool) -> Part:
    """The source of a transfer, or what it writes."""
    outer, inner = _repetitions(op, u85)
    count = op.get(r.DMA0_IDX_MAX_U85) + 1 if u85 and region & _INDEXED else inner
    steps = [op.stride(s) if n > 1 else 0 for s, n in zip(strides, (outer, count), strict=True)]
    return _joined(region & 7, op.address(base), (outer, count, op.address(r.DMA0_LEN)), (*steps, 1))
