"""What a kernel computes, from the registers that it sees: its maps, its window, its block, its constants."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.feature_maps import IFM, IFM2, FeatureMap, computed, inputs, result, upscale, window
from ..command_stream.footprints import constants
from ..command_stream.hardware import MICRO_BLOCKS_U85
from ..command_stream.operations import Operation
from ..command_stream.tables import table_of
from .constants import Facts, Size

_MUL, _ADD, _SUB, _DIV_U85 = 0, 1, 2, 11
_MAX_POOL, _REDUCE_SUM = 0, 2


class Kind(Enum):
    """What limits a kernel in which way."""

    CONV = auto()
    DEPTHWISE = auto()
    POOL = auto()
    REDUCE_SUM = auto()
    ELEMENTWISE = auto()
    RESIZE = auto()

    @property
    def sums_over_channels(self) -> bool:
        """Whether an element of the result needs all channels of the input."""
        return self in (Kind.CONV, Kind.REDUCE_SUM)

    @property
    def uses_macs(self) -> bool:
        """Whether the MAC array takes part."""
        return self not in (Kind.ELEMENTWISE, Kind.RESIZE)


@dataclass(frozen=True, slots=True)
class Map:
    """A feature map.

    Args:
        size: height, width, depth.
        bits: of an element.
        bricks: whether it lies in bricks of 16 channels (NHCWB16) or in rows (NHWC).
        region: where; None: on chip, or it is a scalar.
    """

    size: Size
    bits: int
    bricks: bool
    region: int | None

    @property
    def elements(self) -> int:
        """How many."""
        height, width, depth = self.size
        return height * width * depth


@dataclass(frozen=True, slots=True)
class Stream:
    """Constants that a kernel reads: bytes, and the region they lie in."""

    region: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel.

    Args:
        ifm, ifm2, ofm: its maps; ``ifm2`` is None where there is none.
        block: of the result, what is computed at once.
        micro_block: what the MAC array computes in one step.
        taps: of the window, height and width, without the gaps of dilation.
        extent: of the window, with them.
        upscale: factor by which the input is enlarged first.
        part_kernel: the order of the weights, and of the work.
        wide: accumulators of more than 32 bits.
        table: the result is looked up.
        mul, add, max_pool, div: which operation, where that matters.
        swapped: Ethos-U85: rows and columns of the result change places, or its columns are reversed.
        sparse: Ethos-U85: two of four weights are zero, and not multiplied.
        fast_weights: Ethos-U85: weights are in the fast code.
        weights, scales: what it reads besides maps.
        blockdep: blocks of the kernel before that may be unfinished when it begins.
    """

    kind: Kind
    ifm: Map
    ifm2: Map | None
    ofm: Map
    block: Size
    micro_block: Size
    taps: tuple[int, int]
    extent: tuple[int, int]
    stride: tuple[int, int]
    upscale: int
    part_kernel: bool
    wide: bool
    table: bool
    mul: bool
    add: bool
    max_pool: bool
    div: bool
    swapped: bool
    sparse: bool
    fast_weights: bool
    weights: Stream | None
    scales: Stream | None
    blockdep: int


def read_kernel(op: Operation, facts: Facts, family: Family) -> Kernel:
    """The kernel that an operation starts.

    Raises:
        UsageError: a register that it needs is not set.
    """
    u85, kind, size = family == "u85", kind_of(op), computed(op)
    taps, extent, stride = window(op)[:3] if kind.uses_macs else ((1, 1),) * 3
    read = {each.registers: each for each in reversed(list(inputs(op, u85)))}
    ofm = _map(op, result(op, u85), size)
    elementwise, precision, weights = kind is Kind.ELEMENTWISE, op.get(r.OFM_PRECISION), op.get(r.WEIGHT_FORMAT_U85, 0)
    return Kernel(
        kind=kind,
        # Vela's estimator takes what RESIZE reads for as large as its result.
        ifm=_map(op, read[IFM], size if kind is Kind.RESIZE else None) if IFM in read else _nothing(ofm),
        ifm2=_map(op, read[IFM2]) if IFM2 in read else None,
        ofm=ofm,
        block=_block(op, size),
        micro_block=_micro_block(op, facts, kind) if u85 else facts.micro_block,
        taps=taps,
        extent=extent,
        stride=stride,
        upscale=upscale(op),
        part_kernel=kind is Kind.CONV and bool(op.get(r.KERNEL_STRIDE) & r.PART_KERNEL),
        wide=op.get(r.ACC_FORMAT, 0) & 3 == 1,
        table=table_of(op, family) is not None,
        mul=elementwise and op.parameter == _MUL,
        add=elementwise and op.parameter in (_ADD, _SUB),
        max_pool=kind is Kind.POOL and op.parameter == _MAX_POOL,
        div=u85 and elementwise and op.parameter == _DIV_U85,
        swapped=u85 and (precision >> 11 & 7 in (1, 3, 7) or precision >> 9 & 3 == 2),
        sparse=u85 and bool(weights & r.SPARSE_WEIGHTS),
        fast_weights=u85 and bool(weights & r.FAST_WEIGHTS),
        weights=_stream(op, r.WEIGHT_REGION, family),
        scales=_stream(op, r.SCALE_REGION, family),
        blockdep=op.get(r.BLOCKDEP, 0),
    )


def kind_of(op: Operation) -> Kind:
    """The kind of a kernel."""
    kinds = {
        r.CONV: Kind.CONV,
        r.DEPTHWISE: Kind.DEPTHWISE,
        r.ELEMENTWISE: Kind.ELEMENTWISE,
        r.RESIZE: Kind.RESIZE,
        r.POOL: Kind.REDUCE_SUM if op.parameter == _REDUCE_SUM else Kind.POOL,
    }
    return kinds[op.code]


def _block(op: Operation, ofm: Size) -> Size:
    """Of the whole result where the registers are not set."""
    registers = r.OFM_BLK_HEIGHT_M1, r.OFM_BLK_WIDTH_M1, r.OFM_BLK_DEPTH_M1
    height, width, depth = (op.get(register, size - 1) + 1 for register, size in zip(registers, ofm, strict=True))
    return height, width, depth


def _micro_block(op: Operation, facts: Facts, kind: Kind) -> Size:
    if not kind.uses_macs:
        return facts.micro_block
    height, width = MICRO_BLOCKS_U85[min(op.get(r.ACC_FORMAT) >> 8 & 7, len(MICRO_BLOCKS_U85) - 1)]
    return height, width, max(1, facts.macs // (8 * height * width))


def _map(op: Operation, feature_map: FeatureMap, size: Size | None = None) -> Map:
    """A map, with another size if one is given."""
    if size is None:
        height, width, depth = feature_map.size
        size = (1, 1, 1) if feature_map.storage == r.NOWHERE else (max(1, height), max(1, width), depth)
    outside = feature_map.storage == r.TILES
    return Map(
        size, 8 * feature_map.element, feature_map.bricks, op.get(feature_map.registers.region) & 7 if outside else None
    )


def _nothing(ofm: Map) -> Map:
    """The input of a kernel that reads none."""
    return Map((1, 1, 1), ofm.bits, False, None)


def _stream(op: Operation, region: int, family: Family) -> Stream | None:
    """The constants that a kernel reads of a kind."""
    sizes = [size for register, *_, size in constants(op, family) if register == region]
    return Stream(op.get(region) & 7, sum(sizes)) if sizes else None
