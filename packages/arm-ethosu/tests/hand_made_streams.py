"""Command streams made by hand: kernels on maps of 4x4 with 16 channels of 8 bits, 256 bytes each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arm_ethosu.command_stream import registers as r
from arm_ethosu.command_stream.footprints import footprint
from arm_ethosu.command_stream.operations import Operation, operations_of
from arm_ethosu.command_stream.registers import LONG
from arm_ethosu.schedule.costs import Cost, Memories
from arm_ethosu.schedule.lives import Lives
from arm_ethosu.schedule.problem import Problem

MAP = 256
SRAM = 1
FLASH = Memories("OffChipFlash", speed=1.0, latency=64.0, sram_speed=8.0, region=SRAM)

_SHAPE = {
    **dict.fromkeys((r.IFM_PAD_TOP, r.IFM_PAD_LEFT, r.IFM_PAD_RIGHT, r.IFM_PAD_BOTTOM), 0),
    **dict.fromkeys((r.OFM_WIDTH_M1, r.OFM_HEIGHT_M1), 3),
    **dict.fromkeys((r.KERNEL_WIDTH_M1, r.KERNEL_HEIGHT_M1, r.KERNEL_STRIDE, r.ACC_FORMAT), 0),
    r.IFM_DEPTH_M1: 15,
    r.OFM_DEPTH_M1: 15,
    r.IFM_PRECISION: 1,
    r.OFM_PRECISION: 1,
}


def _map(base: int, region: int, height0: int, at: int, bytes_of_element: int = 1) -> dict[int, int]:
    """Registers of a map in one tile: those of IFM, IFM2 and OFM have their distances to each other in common."""
    return {
        **dict.fromkeys((height0, height0 + 1, height0 - 1), 3),
        region: SRAM,
        base: at,
        **dict.fromkeys((base + 1, base + 2, base + 3), 0),
        base + 4: 16 * bytes_of_element,
        base + 5: 64 * bytes_of_element,
        base + 6: 1,
    }


@dataclass(frozen=True)
class Do:
    """An operation of a stream, and the registers that it needs."""

    code: int
    parameter: int = 0
    registers: Mapping[int, int] = field(default_factory=dict)


def pool(reads: int, writes: int, **changes: int) -> Do:
    """A kernel without constants, from one address of SRAM to another; ``changes`` are registers by name."""
    values = _SHAPE | _map(r.IFM_BASE0, r.IFM_REGION, r.IFM_HEIGHT0_M1, reads)
    values |= _map(r.OFM_BASE0, r.OFM_REGION, r.OFM_HEIGHT0_M1, writes) | {r.OFM_PRECISION: 1 | 1 << 8}
    return Do(r.POOL, 0, values | {getattr(r, name): value for name, value in changes.items()})


def conv(reads: int, writes: int, weights: int, size: int, scales: int, *, region: int = 0, **changes: int) -> Do:
    """A kernel with ``size`` bytes of weights and 160 of scales."""
    constants = {
        r.WEIGHT_REGION: region, r.WEIGHT_BASE: weights, r.WEIGHT_LENGTH: size,
        r.SCALE_REGION: region, r.SCALE_BASE: scales, r.SCALE_LENGTH: 160,
    }  # fmt: skip
    return Do(r.CONV, 0, dict(pool(reads, writes, **changes).registers) | constants)


def transfer(source: int, target: int, size: int) -> Do:
    """From the constants to SRAM."""
    return Do(r.DMA_START, 0, dict(zip(r.TRANSFER, (0, source, SRAM, target, size), strict=True)))


WAIT, END = Do(r.DMA_WAIT), Do(r.STOP, 0xFFFF)


def words_of(operations: Sequence[Do]) -> list[int]:
    """The stream: registers are set where they change, as Vela does."""
    out: list[int] = []
    state: dict[int, int] = {}
    for operation in operations:
        for name, value in operation.registers.items():
            if state.get(name) != value:
                state[name] = value
                out += [name, value] if name & LONG else [name | value << 16]
        out.append(operation.code | operation.parameter << 16)
    return out


@dataclass
class Program:
    """A stream, its operations, and the problem of planning it, where every kernel takes 3000 cycles.

    Args:
        do: the operations.
        waiting: indices of kernels that take 3000 cycles more than they would with their constants in SRAM.
        size: bytes of SRAM.
    """

    do: Sequence[Do]
    waiting: Sequence[int] = ()
    size: int = 4096

    @property
    def words(self) -> list[int]:
        return words_of(self.do)

    @property
    def operations(self) -> list[Operation]:
        return operations_of(self.words)

    def problem(self, cycles: float = 3000.0) -> Problem:
        operations = self.operations
        footprints = [footprint(operation, "u55") for operation in operations]
        costs = {i: Cost(cycles, cycles, 0.0) for i, op in enumerate(operations) if op.is_kernel}
        costs |= {i: Cost(cycles + 3000.0, cycles, cycles + 3000.0) for i in self.waiting}
        return Problem(operations, costs, Lives(footprints, SRAM, self.size), FLASH, "u55", 1 << 20)


#: Eight kernels to and fro between addresses 0 and 256; the seventh reads 2048 bytes of weights in flash.
WEIGHTS, SCALES, SIZE = 0x10A0, 0x1000, 2048
LATE_WEIGHTS = Program(
    [
        *(pool(MAP * (i % 2), MAP * ((i + 1) % 2)) for i in range(6)),
        conv(0, MAP, WEIGHTS, SIZE, SCALES),
        pool(MAP, 0),
        END,
    ],
    waiting=[6],
)
