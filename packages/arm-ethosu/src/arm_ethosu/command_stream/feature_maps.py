"""The feature maps of a kernel and its window, as its registers say.

What the registers mean is as in the functional model (``packages/arm-runtime-cpp/src/ethosu/model``: ``kernel.cpp``,
``feature_map.cpp``), which agrees with the TOSA reference model on what Vela compiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from . import registers as r
from .operations import Operation, UnreadableStream

#: Height, width, depth.
Size = tuple[int, int, int]
_UNARY = (5, 6, 7, 36)  # modes of ELEMENTWISE: LRELU, ABS, CLZ, NOT
_NO_INPUT = 4  # a mode of POOL
_AXES = {0: (0, 1, 2), 1: (1, 0, 2), 2: (0, 2, 1), 3: (1, 2, 0), 6: (2, 0, 1), 7: (2, 1, 0)}  # of a transposed result


class MapRegisters(NamedTuple):
    """The registers of a map; addresses of its four tiles and strides of its axes follow ``base``."""

    precision: int
    region: int
    base: int
    height0: int
    height1: int
    width0: int
    element_bit: int  # of the precision: where the size of an element begins


IFM = MapRegisters(r.IFM_PRECISION, r.IFM_REGION, r.IFM_BASE0, r.IFM_HEIGHT0_M1, r.IFM_HEIGHT1_M1, r.IFM_WIDTH0_M1, 2)
IFM2 = MapRegisters(
    r.IFM2_PRECISION, r.IFM2_REGION, r.IFM2_BASE0, r.IFM2_HEIGHT0_M1, r.IFM2_HEIGHT1_M1, r.IFM2_WIDTH0_M1, 2
)
OFM = MapRegisters(r.OFM_PRECISION, r.OFM_REGION, r.OFM_BASE0, r.OFM_HEIGHT0_M1, r.OFM_HEIGHT1_M1, r.OFM_WIDTH0_M1, 1)


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """A map that a kernel reads or writes.

    Args:
        registers: which ones describe it.
        size: of it in memory.
        precision: the register that says its element and layout.
        storage: ``TILES``, ``CHAINED`` or ``NOWHERE`` of ``registers``; of Ethos-U55 and U65, a scalar is nowhere.
    """

    registers: MapRegisters
    size: Size
    precision: int
    storage: int

    @property
    def element(self) -> int:
        """Bytes of an element."""
        return 1 << (self.precision >> self.registers.element_bit & 3)

    @property
    def bricks(self) -> bool:
        """Whether it lies in bricks of 16 channels (NHCWB16) or in rows (NHWC)."""
        return bool(self.precision >> 6 & 1)


class Window(NamedTuple):
    """What a convolution or pool reads for one element of its result; each of height and width.

    Args:
        taps: without the gaps of dilation.
        extent: with them.
        padding: before and behind, together.
    """

    taps: tuple[int, int]
    extent: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]


def window(op: Operation) -> Window:
    """The window of a convolution or pool."""
    code = op.get(r.KERNEL_STRIDE)
    extent = op.size(r.KERNEL_HEIGHT_M1), op.size(r.KERNEL_WIDTH_M1)
    dilation = 1 + (code >> 4 & 1), 1 + (code >> 3 & 1)
    return Window(
        taps=((extent[0] - 1) // dilation[0] + 1, (extent[1] - 1) // dilation[1] + 1),
        extent=extent,
        stride=(1 + (code >> 1 & 1) + 2 * (code >> 9 & 7), 1 + (code & 1) + 2 * (code >> 6 & 7)),
        padding=(
            op.get(r.IFM_PAD_TOP) + op.get(r.IFM_PAD_BOTTOM),
            op.get(r.IFM_PAD_LEFT) + op.get(r.IFM_PAD_RIGHT),
        ),
    )


def upscale(op: Operation) -> int:
    """The factor by which a convolution or pool enlarges its input first."""
    return 2 if op.get(r.IFM_UPSCALE, 0) else 1


def computed(op: Operation) -> Size:
    """Height, width and depth of what a kernel computes."""
    return op.size(r.OFM_HEIGHT_M1), op.size(r.OFM_WIDTH_M1), op.size(r.OFM_DEPTH_M1)


def result(op: Operation, u85: bool) -> FeatureMap:
    """The map that a kernel writes, which may be transposed.

    Raises:
        UnreadableStream: in an unknown way.
    """
    made = _map(op, OFM, computed(op), u85)
    axes = _AXES.get(made.precision >> 11 & 7) if u85 else (0, 1, 2)
    if axes is None:
        raise UnreadableStream(f"a result is transposed in an unknown way at word {op.at}")
    height, width, depth = (made.size[axis] for axis in axes)
    return replace(made, size=(height, width, depth))


def inputs(op: Operation, u85: bool) -> Iterator[FeatureMap]:
    """The maps that a kernel reads, the first one first; those that lie nowhere too."""
    size = computed(op)
    if op.code == r.ELEMENTWISE:
        yield from _operands(op, size, u85)
        return
    if op.code == r.RESIZE:
        yield _map(op, IFM, (op.size(r.KERNEL_HEIGHT_M1), op.size(r.KERNEL_WIDTH_M1), size[2]), u85)
        return
    if op.code != r.POOL or op.parameter != _NO_INPUT:
        yield _map(op, IFM, _covered(op), u85)
    if op.code == r.CONV and op.parameter:  # a product of matrices: the right one for each row
        yield _map(op, IFM2, (size[0], size[2], op.size(r.IFM_DEPTH_M1)), u85)
    if u85 and op.get(r.ACC_FORMAT) >> 4 & 3 == 2:  # sums begin with the second input
        yield _map(op, IFM2, size, u85)


def _map(op: Operation, registers: MapRegisters, size: Size, u85: bool) -> FeatureMap:
    precision = op.get(registers.precision)
    return FeatureMap(registers, size, precision, precision >> 14 if u85 else r.TILES)


def _operands(op: Operation, size: Size, u85: bool) -> Iterator[FeatureMap]:
    if u85:
        yield _operand(op, IFM, r.IFM_BROADCAST_U85, size, u85)
    else:
        yield _map(op, IFM, (*size[:2], op.size(r.IFM_DEPTH_M1)), u85)
    if op.parameter in _UNARY:
        return
    if not u85 and op.get(r.IFM2_BROADCAST) >> 7 & 1:
        yield FeatureMap(IFM2, (1, 1, 1), op.get(r.IFM_PRECISION), r.NOWHERE)
    else:
        yield _operand(op, IFM2, r.IFM2_BROADCAST, size, u85)


def _operand(op: Operation, registers: MapRegisters, broadcast: int, size: Size, u85: bool) -> FeatureMap:
    """A map that may be repeated along axes."""
    made = _map(op, registers, size, u85)
    if made.storage == r.NOWHERE:
        return made
    flags = op.get(broadcast)
    height, width, depth = (1 if flags >> axis & 1 else length for axis, length in enumerate(size))
    return replace(made, size=(height, width, depth))


def _covered(op: Operation) -> Size:
    """What the windows of a convolution or pool cover, without padding."""
    height, width = (
        -(-((length - 1) * stride + extent - padding) // upscale(op))
        for length, extent, stride, padding in zip(computed(op)[:2], *window(op)[1:], strict=True)
    )
    return height, width, op.size(r.IFM_DEPTH_M1)
