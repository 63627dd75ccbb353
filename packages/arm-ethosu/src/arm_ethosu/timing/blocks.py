"""What of the input a kernel needs for one block of its result, and what the MAC array does of it at once.

Source: ``GetArchIFMBlockSize``, ``CalcIfmAUSize`` and ``FindBlockConfig`` of Vela (see ``constants``).
"""

from __future__ import annotations

from math import prod

from .constants import INPUT_UNITS_U85, LARGEST_WINDOW, Facts, OutputRates, Size
from .kernel import Kernel, Kind


def round_up(value: int, unit: int) -> int:
    """The smallest multiple of ``unit`` that is no less than ``value``."""
    return -(-value // unit) * unit


def clipped_block(kernel: Kernel) -> Size:
    """A block of the result, no larger than the result."""
    height, width, depth = (min(o, b) for o, b in zip(kernel.ofm.size, kernel.block, strict=True))
    return height, width, depth


def blocks_along(kernel: Kernel) -> Size:
    """How many blocks the result has along each axis."""
    height, width, depth = (-(-o // b) for o, b in zip(kernel.ofm.size, clipped_block(kernel), strict=True))
    return height, width, depth


def blocks_of_area(kernel: Kernel) -> int:
    """How many blocks the result has, those in depth not counted."""
    return prod(blocks_along(kernel)[:2])


def input_block(kernel: Kernel, facts: Facts) -> Size:
    """What of the input a block of the result needs: height, width, depth."""
    if not kernel.kind.uses_macs and not isinstance(facts.output, OutputRates):
        return kernel.block
    rows, columns = (
        -(
            -((kernel.block[axis] - 1) * kernel.stride[axis] + min(kernel.extent[axis], LARGEST_WINDOW))
            // kernel.upscale
        )
        for axis in (0, 1)
    )
    depth = channels_at_once(kernel, facts)
    height_unit, width_unit, depth_unit = _units(kernel, facts, depth)
    return round_up(rows, height_unit), round_up(columns, width_unit), round_up(depth, depth_unit)


def _units(kernel: Kernel, facts: Facts, depth: int) -> Size:
    if isinstance(facts.output, OutputRates):
        return kernel.micro_block[0], kernel.micro_block[1], 1
    size = depth * kernel.ifm.bits // 8
    step = 2 if size > 32 else 1 if size > 16 else 0
    units = INPUT_UNITS_U85.get((facts.macs, kernel.micro_block[:2]))
    height, width = units[step] if units else kernel.micro_block[:2]
    return height, width, max(1, (16 << step) * 8 // kernel.ifm.bits)


def channels_at_once(kernel: Kernel, facts: Facts) -> int:
    """Input channels that a sum over channels takes at once; operations without such a sum take those of the block."""
    if not kernel.kind.sums_over_channels:
        return kernel.block[2]
    bits, depth = kernel.ifm.bits, kernel.ifm.size[2]
    if isinstance(facts.output, OutputRates):
        if bits == 16:
            return round_up(min(depth, 16), 4)
        return round_up(min(depth, 16 if kernel.part_kernel else 32), 8)
    if kernel.part_kernel:
        return 16
    narrow = facts.macs <= 256 and kernel.micro_block[2] == 16 and not kernel.sparse
    if narrow or bits == 32:
        return 32
    return 128 if kernel.sparse and bits == 8 else 64


def micro_block(kernel: Kernel, facts: Facts) -> Size:
    """What the MAC array computes in one step; of a single row, four columns in place of two by two."""
    height, width, _ = kernel.ofm.size
    flat = kernel.kind is Kind.CONV and height == 1 and width % 2 == 0 and kernel.taps[0] == 1
    if isinstance(facts.output, OutputRates) and kernel.micro_block[0] == 2 and flat:
        return 1, 4, kernel.micro_block[2]
    return kernel.micro_block
