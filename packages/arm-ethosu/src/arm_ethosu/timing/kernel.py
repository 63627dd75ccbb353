"""What a kernel computes, from the registers that it sees: its maps, its window, its block, its constants."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from . import registers as r
from .commands import Command
from .constants import MICRO_BLOCKS_U85, Facts, Size

_CHAINED, _NOWHERE = 2, 3  # of the storage field of Ethos-U85's precision registers
_HEIGHT, _WIDTH, _DEPTH = 1, 2, 4  # of the broadcast registers
_SCALAR_U55 = 1 << 7
_FROM_IFM2 = 1  # CONV whose weights are the second map
_TABLES_U55, _TABLES_U85 = range(16, 24), (1, 4, 5, 7, 8, 9)
_MUL, _ADD, _SUB, _DIV_U85 = 0, 1, 2, 11
_UNARY = (5, 6, 7, 36)  # LRELU, ABS, CLZ; NOT on Ethos-U85
_MAX_POOL, _REDUCE_SUM = 0, 2
_GLOBAL_SCALE = 1 << 8  # of OFM_PRECISION
_FAST_WEIGHTS, _SPARSE_WEIGHTS = 1, 1 << 4
_INPUT_IFM2 = 2  # of ACC_FORMAT: accumulators begin with the second map


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
        kind: see ``Kind``.
        ifm, ifm2, ofm: its maps; ``ifm2`` is None where there is none.
        block: of the result, what is computed at once.
        micro_block: what the MAC array computes in one step.
        taps: of the window, height and width, without the gaps of dilation.
        extent: of the window, with them.
        stride: of the window.
        upscale: factor by which the input is enlarged first.
        part_kernel: the order of the weights, and of the work.
        wide: accumulators of more than 32 bits.
        table: the result is looked up.
        mul, add, max_pool, div: which operation, where that matters.
        swapped: Ethos-U85: rows and columns of the result change places, or its columns are reversed.
        sparse: Ethos-U85: two of four weights are zero, and not multiplied.
        fast_weights: Ethos-U85: weights are in the fast code.
        chained: Ethos-U85: the input is the result of the kernel before, on chip.
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
    chained: bool
    weights: Stream | None
    scales: Stream | None
    blockdep: int


def read_kernel(command: Command, facts: Facts, u85: bool) -> Kernel:
    """The kernel that a command starts.

    Raises:
        UsageError: a register that it needs is not set.
    """
    kind = kind_of(command)
    taps, extent, stride = window(command, kind)
    ofm = _map(command, r.OFM_PRECISION, r.OFM_REGION, 1, result(command), u85)
    depth = command.size(r.IFM_DEPTH_M1) if kind is not Kind.RESIZE else ofm.size[2]
    upscale = 1 if command.get(r.IFM_UPSCALE) == 0 else 2
    size = _input(command, kind, ofm.size, depth, extent, stride, upscale, u85)
    chained = u85 and command.get(r.IFM_PRECISION) >> 14 & 3 == _CHAINED
    function = command.get(r.ACTIVATION) & 31
    elementwise, precision = kind is Kind.ELEMENTWISE, command.get(r.OFM_PRECISION)
    return Kernel(
        kind=kind,
        ifm=_map(command, r.IFM_PRECISION, r.IFM_REGION, 2, size, u85),
        ifm2=_second(command, kind, ofm.size, depth, u85),
        ofm=ofm,
        block=_block(command, ofm.size),
        micro_block=_micro_block(command, facts, kind) if u85 else facts.micro_block,
        taps=taps,
        extent=extent,
        stride=stride,
        upscale=upscale,
        part_kernel=bool(command.get(r.KERNEL_STRIDE) & 4) and kind is Kind.CONV,
        wide=command.get(r.ACC_FORMAT) & 3 == 1,
        table=function in (_TABLES_U85 if u85 else _TABLES_U55),
        mul=elementwise and command.parameter == _MUL,
        add=elementwise and command.parameter in (_ADD, _SUB),
        max_pool=kind is Kind.POOL and command.parameter == _MAX_POOL,
        div=u85 and elementwise and command.parameter == _DIV_U85,
        swapped=u85 and (precision >> 11 & 7 in (1, 3, 7) or precision >> 9 & 3 == 2),
        sparse=u85 and bool(command.get(r.WEIGHT_FORMAT) & _SPARSE_WEIGHTS),
        fast_weights=u85 and bool(command.get(r.WEIGHT_FORMAT) & _FAST_WEIGHTS),
        chained=chained,
        weights=_weights(command, kind, facts, u85),
        scales=_scales(command, kind, facts, u85),
        blockdep=command.get(r.BLOCKDEP),
    )


def kind_of(command: Command) -> Kind:
    """The kind of a kernel."""
    kinds = {
        r.CONV: Kind.CONV,
        r.DEPTHWISE: Kind.DEPTHWISE,
        r.ELEMENTWISE: Kind.ELEMENTWISE,
        r.RESIZE: Kind.RESIZE,
        r.POOL: Kind.REDUCE_SUM if command.parameter == _REDUCE_SUM else Kind.POOL,
    }
    return kinds[command.number]


def window(command: Command, kind: Kind) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Of the window that a kernel reads: taps, extent and stride; each height and width."""
    if kind in (Kind.ELEMENTWISE, Kind.RESIZE):
        return (1, 1), (1, 1), (1, 1)
    code = command.need(r.KERNEL_STRIDE)
    stride = 1 + (code >> 1 & 1) + 2 * (code >> 9 & 7), 1 + (code & 1) + 2 * (code >> 6 & 7)
    extent = command.size(r.KERNEL_HEIGHT_M1), command.size(r.KERNEL_WIDTH_M1)
    dilation = 1 + (code >> 4 & 1), 1 + (code >> 3 & 1)
    taps = (extent[0] - 1) // dilation[0] + 1, (extent[1] - 1) // dilation[1] + 1
    return taps, extent, stride


def result(command: Command) -> Size:
    """Height, width and depth of what a kernel computes."""
    return command.size(r.OFM_HEIGHT_M1), command.size(r.OFM_WIDTH_M1), command.size(r.OFM_DEPTH_M1)


def _block(command: Command, ofm: Size) -> Size:
    """Of the whole result where the registers are not set."""
    registers = r.OFM_BLK_HEIGHT_M1, r.OFM_BLK_WIDTH_M1, r.OFM_BLK_DEPTH_M1
    height, width, depth = (command.get(register, size - 1) + 1 for register, size in zip(registers, ofm, strict=True))
    return height, width, depth


def _micro_block(command: Command, facts: Facts, kind: Kind) -> Size:
    if not kind.uses_macs:
        return facts.micro_block
    height, width = MICRO_BLOCKS_U85[min(command.get(r.ACC_FORMAT) >> 8 & 7, len(MICRO_BLOCKS_U85) - 1)]
    return height, width, max(1, facts.macs // (8 * height * width))


def _input(
    command: Command,
    kind: Kind,
    ofm: Size,
    depth: int,
    extent: tuple[int, int],
    stride: tuple[int, int],
    upscale: int,
    u85: bool,
) -> Size:
    """The part of the input in memory that the windows reach."""
    if kind in (Kind.ELEMENTWISE, Kind.RESIZE):
        flags = command.get(r.IFM_BROADCAST) if u85 and kind is Kind.ELEMENTWISE else 0
        return _broadcast((ofm[0], ofm[1], depth), flags)
    pads = (
        command.get(r.IFM_PAD_TOP) + command.get(r.IFM_PAD_BOTTOM),
        command.get(r.IFM_PAD_LEFT) + command.get(r.IFM_PAD_RIGHT),
    )
    height, width = (
        max(1, -(-((ofm[axis] - 1) * stride[axis] + extent[axis] - pads[axis]) // upscale)) for axis in (0, 1)
    )
    return height, width, depth


def _broadcast(size: Size, flags: int) -> Size:
    height, width, depth = size
    return 1 if flags & _HEIGHT else height, 1 if flags & _WIDTH else width, 1 if flags & _DEPTH else depth


def _map(command: Command, precision: int, region: int, bits_at: int, size: Size, u85: bool) -> Map:
    code = command.get(precision)
    bits, bricks = 8 << (code >> bits_at & 3), code >> 6 & 3 == 1
    storage = code >> 14 & 3 if u85 else 0
    if storage == _NOWHERE and bits_at == 2:
        size = (1, 1, 1)
    return Map(size, bits, bricks, None if storage in (_CHAINED, _NOWHERE) else command.get(region) & 7)


def _second(command: Command, kind: Kind, ofm: Size, depth: int, u85: bool) -> Map | None:
    size: Size | None = None
    if kind is Kind.ELEMENTWISE and command.parameter not in _UNARY:
        flags = command.need(r.IFM2_BROADCAST)
        size = _broadcast((ofm[0], ofm[1], max(depth, ofm[2])), flags)
        if not u85 and flags & _SCALAR_U55:
            return Map((1, 1, 1), 8 << (command.get(r.IFM_PRECISION) >> 2 & 3), False, None)
    elif u85 and kind is Kind.CONV and command.parameter == _FROM_IFM2:
        size = (ofm[0], ofm[2], depth)
    elif u85 and command.number == r.POOL and command.get(r.ACC_FORMAT) >> 4 & 3 == _INPUT_IFM2:
        size = ofm
    return None if size is None else _map(command, r.IFM2_PRECISION, r.IFM2_REGION, 2, size, u85)


def _weights(command: Command, kind: Kind, facts: Facts, u85: bool) -> Stream | None:
    if kind not in (Kind.CONV, Kind.DEPTHWISE) or (u85 and command.parameter == _FROM_IFM2):
        return None
    lengths = (command.get(register) for register in r.WEIGHT_LENGTHS[: facts.cores])
    return Stream(command.need(r.WEIGHT_REGION) & 7, sum(length & 0xFFFFFFFF for length in lengths))


def _scales(command: Command, kind: Kind, facts: Facts, u85: bool) -> Stream | None:
    """Of each channel, where they have their own."""
    per_channel = kind not in (Kind.ELEMENTWISE, Kind.RESIZE) and not command.get(r.OFM_PRECISION) & _GLOBAL_SCALE
    if not per_channel or r.SCALE_LENGTH not in command.registers:
        return None
    length = command.get(r.SCALE_LENGTH) & 0xFFFFFFFF
    if facts.cores > 1 and not u85:
        length += command.get(r.SCALE1_LENGTH) & 0xFFFFFFFF
    return Stream(command.get(r.SCALE_REGION) & 7, length)
