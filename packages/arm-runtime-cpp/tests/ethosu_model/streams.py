"""Command streams made by hand, and ways to spoil them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

CONFIG = (1, 0, 0)
OPS = {"STOP": 0, "CONV": 2, "DEPTHWISE": 3, "POOL": 5, "ELEMENTWISE": 6, "RESIZE": 7, "DMA_START": 16}
_PMU_MASK = 19
WAITS = {"DMA_WAIT": 17, "KERNEL_WAIT": 18}
SHORT = {
    "IFM_PAD_TOP": 256, "IFM_PAD_LEFT": 257, "IFM_PAD_RIGHT": 258, "IFM_PAD_BOTTOM": 259, "IFM_DEPTH_M1": 260,
    "IFM_PRECISION": 261, "IFM_UPSCALE": 263, "IFM_ZERO_POINT": 265, "IFM_WIDTH0_M1": 266, "IFM_HEIGHT0_M1": 267,
    "IFM_HEIGHT1_M1": 268, "IFM_REGION": 271, "OFM_WIDTH_M1": 273, "OFM_HEIGHT_M1": 274, "OFM_DEPTH_M1": 275,
    "OFM_PRECISION": 276, "OFM_BLK_HEIGHT_M1": 278, "OFM_BLK_DEPTH_M1": 279, "OFM_ZERO_POINT": 280,
    "OFM_WIDTH0_M1": 282, "OFM_HEIGHT0_M1": 283, "OFM_HEIGHT1_M1": 284, "OFM_REGION": 287, "KERNEL_WIDTH_M1": 288,
    "KERNEL_HEIGHT_M1": 289, "KERNEL_STRIDE": 290, "ACC_FORMAT": 292, "ACTIVATION": 293, "ACTIVATION_MIN": 294,
    "ACTIVATION_MAX": 295, "WEIGHT_REGION": 296, "SCALE_REGION": 297, "BLOCKDEP": 303,
    "DMA0_SRC_REGION": 304, "DMA0_DST_REGION": 305,
}  # fmt: skip
LONG = {
    "IFM_BASE0": 0, "IFM_BASE1": 1, "IFM_BASE2": 2, "IFM_BASE3": 3, "IFM_STRIDE_X": 4, "IFM_STRIDE_Y": 5,
    "IFM_STRIDE_C": 6, "OFM_BASE0": 16, "OFM_BASE1": 17, "OFM_BASE2": 18, "OFM_BASE3": 19, "OFM_STRIDE_X": 20,
    "OFM_STRIDE_Y": 21, "OFM_STRIDE_C": 22, "WEIGHT_BASE": 32, "WEIGHT_LENGTH": 33, "SCALE_BASE": 34,
    "SCALE_LENGTH": 35, "OFM_SCALE": 36, "DMA0_SRC": 48, "DMA0_DST": 49, "DMA0_LEN": 50,
}  # fmt: skip


@dataclass(frozen=True)
class Long:
    """A value of a long register, and its parameter: address bits from 32 up, or a shift."""

    value: int
    parameter: int = 0


#: A sum over 8 channels of one element: region 1, IFM at 0 and OFM (32-bit) at 64.
REDUCE_SUM: dict[str, int | Long | None] = dict.fromkeys((*SHORT, *LONG), 0) | {
    "IFM_DEPTH_M1": 7, "IFM_PRECISION": 1, "IFM_REGION": 1, "OFM_REGION": 1, "OFM_PRECISION": 1 | 2 << 1 | 1 << 8,
    "OFM_BASE0": 64, "OFM_SCALE": 1, "IFM_STRIDE_X": 8, "OFM_STRIDE_X": 4, "ACTIVATION_MIN": 0x8000,
    "ACTIVATION_MAX": 0x7FFF, "DMA0_LEN": 16,
}  # fmt: skip


def payload(words: list[int]) -> bytes:
    """The container around command words."""
    length = (len(words) & 0xFFFF) << 16 | len(words) >> 16 << 8
    return struct.pack(f"<{5 + len(words)}I", 0x31504F43, *CONFIG, 2 | length, *words)


def cop2(words: list[int], version: int = 1, kind: int = 1, more: int = 0) -> bytes:
    """The other container around command words; ``more``: bytes by which the length of its entry is wrong."""
    metadata = [0x4D554556, 1, 20, 0, 0, 1, 0, 0]
    entry = [kind, 4 * (1 + len(metadata) + len(words)) + more, 4 * len(metadata), *metadata, *words]
    return struct.pack(f"<{4 + len(entry)}I", 0x32504F43, version, 4 * len(entry), 0, *entry)


def program(op: str, parameter: int, changes: dict[str, int | Long | None], end: bool = True) -> bytes:
    """One operation on ``REDUCE_SUM``'s registers with ``changes``; None leaves a register unset."""
    words = []
    for name, value in (REDUCE_SUM | changes).items():
        if value is None:
            continue
        if name in SHORT:
            assert isinstance(value, int)
            words.append(SHORT[name] | value << 16)
        else:
            long = value if isinstance(value, Long) else Long(value)
            words += [LONG[name] | 1 << 14 | long.parameter << 16, long.value & 0xFFFFFFFF]
    words.append(OPS[op] | parameter << 16)
    return payload(words + ([OPS["STOP"]] if end else []))


def _short_commands(words: np.ndarray[Any, Any]) -> Iterator[tuple[int, int]]:
    """The commands of one word: where each is, and its number."""
    at = 5
    while at < len(words):
        kind = words[at] >> 14 & 3
        if kind == 0:
            yield at, int(words[at] & 0x3FF)
        at += 2 if kind == 1 else 1


def without_waits(data: bytes) -> bytes:
    """A payload whose DMA_WAIT and KERNEL_WAIT commands are replaced by commands that do nothing."""
    words = np.frombuffer(data, "<u4").copy()
    for at, code in _short_commands(words):
        if code in WAITS.values():
            words[at] = _PMU_MASK
    return words.tobytes()


def with_later_blockdeps(data: bytes, most: int) -> Iterator[bytes]:
    """The payload with one BLOCKDEP raised by 1, for each that is less than ``most``."""
    words = np.frombuffer(data, "<u4")
    places = [at for at, code in _short_commands(words) if code == SHORT["BLOCKDEP"]]
    for at in places:
        if words[at] >> 16 < most:
            raised = words.copy()
            raised[at] += 1 << 16
            yield raised.tobytes()


def flip_bits(rng: np.random.Generator, data: bytes) -> bytes:
    """A few bits of the stream, not of the container."""
    spoiled = np.frombuffer(data, np.uint8).copy()
    for _ in range(int(rng.integers(1, 5))):
        spoiled[int(rng.integers(20, spoiled.size))] ^= 1 << int(rng.integers(8))
    return spoiled.tobytes()


def cut(rng: np.random.Generator, data: bytes) -> bytes:
    """The beginning only."""
    return data[: int(rng.integers(len(data)))]
