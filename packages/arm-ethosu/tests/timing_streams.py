"""Small command streams by hand, for tests of the timing model."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_ethosu.command_stream import registers as r
from arm_ethosu.timing import Memory, System

_COP1, _STREAM = 0x31504F43, 2

#: Memories whose figures make cycles easy to follow: 8 bytes a cycle and no latency, 1 byte a cycle and 100 cycles.
SRAM = Memory("Sram", 8.0, burst=32)
FLASH = Memory("OffChipFlash", 1.0, read_latency=100, burst=128)
SYSTEM = System(1e6, (FLASH, SRAM, SRAM), "test")

Commands = list[tuple[int, int]]  # number of a register or an operation, and its value


def stream(*parts: Commands) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The commands as Vela's ``cmd_data``."""
    words: list[int] = []
    for number, value in (command for part in parts for command in part):
        words += [number | value >> 32 << 16, value & 0xFFFFFFFF] if number & r.LONG else [number | value << 16]
    count = len(words)
    header = [_COP1, _STREAM | (count & 0xFFFF) << 16 | count >> 16 << 8]
    return np.frombuffer(np.array(header + words, "<u4").tobytes(), np.uint8)


def convolution(
    ofm: tuple[int, int, int] = (8, 8, 16),
    channels: int = 32,
    *,
    block: tuple[int, int, int] | None = None,
    taps: tuple[int, int] = (1, 1),
    weights: int = 512,
    region: int = 1,
    blockdep: int = 0,
    **more: int,
) -> Commands:
    """A CONV of 8 bits from SRAM to SRAM, without padding; ``region`` is that of its weights."""
    return [*_maps(ofm, block or ofm, blockdep), *_window(taps), (r.IFM_DEPTH_M1, channels - 1),
            (r.WEIGHT_REGION, region), (r.LONG | 0x20, 0), (r.WEIGHT_LENGTH, weights), (r.ACC_FORMAT, 0),
            *((getattr(r, name), value) for name, value in more.items()), (r.CONV, 0)]  # fmt: skip


def elementwise(
    ofm: tuple[int, int, int] = (8, 8, 16),
    mode: int = 0,
    *,
    block: tuple[int, int, int] | None = None,
    blockdep: int = 0,
    **more: int,
) -> Commands:
    """An ELEMENTWISE of two maps of 8 bits from SRAM to SRAM."""
    return [*_maps(ofm, block or ofm, blockdep), (r.IFM_DEPTH_M1, ofm[2] - 1), (r.IFM2_PRECISION, 0),
            (r.IFM2_REGION, 1), (r.IFM2_BROADCAST, 0), (r.IFM_BROADCAST_U85, 0),
            *((getattr(r, name), value) for name, value in more.items()), (r.ELEMENTWISE, mode)]  # fmt: skip


def transfer(size: int, source: int = 0, target: int = 1) -> Commands:
    """A DMA of some bytes."""
    return [(r.DMA0_SRC_REGION, source), (r.DMA0_DST_REGION, target), (r.DMA0_LEN, size), (r.DMA_START, 0)]


def dma_wait(remaining: int = 0) -> Commands:
    """Until at most so many transfers are unfinished."""
    return [(r.DMA_WAIT, remaining)]


def kernel_wait(remaining: int = 0) -> Commands:
    """Until at most so many kernels are unfinished."""
    return [(r.KERNEL_WAIT, remaining)]


def _maps(ofm: tuple[int, int, int], block: tuple[int, int, int], blockdep: int) -> Commands:
    sizes = (r.OFM_HEIGHT_M1, r.OFM_WIDTH_M1, r.OFM_DEPTH_M1)
    blocks = (r.OFM_BLK_HEIGHT_M1, r.OFM_BLK_WIDTH_M1, r.OFM_BLK_DEPTH_M1)
    return [
        *((number, size - 1) for number, size in zip((*sizes, *blocks), (*ofm, *block), strict=True)),
        (r.IFM_PRECISION, 1), (r.OFM_PRECISION, 1 | 1 << 8), (r.IFM_REGION, 1), (r.OFM_REGION, 1),
        (r.IFM_UPSCALE, 0), (r.ACTIVATION, 0), (r.BLOCKDEP, blockdep),
    ]  # fmt: skip


def _window(taps: tuple[int, int]) -> Commands:
    pads = (r.IFM_PAD_TOP, r.IFM_PAD_LEFT, r.IFM_PAD_RIGHT, r.IFM_PAD_BOTTOM)
    return [(r.KERNEL_HEIGHT_M1, taps[0] - 1), (r.KERNEL_WIDTH_M1, taps[1] - 1), (r.KERNEL_STRIDE, 0),
            *((pad, 0) for pad in pads)]  # fmt: skip
