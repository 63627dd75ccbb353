"""Whether a stream with other addresses does what Vela's did; asks nothing of how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.footprints import footprint, reads_by_register
from ..command_stream.operations import Operation
from ..schedule.verification import Unproved

#: Registers that say where something is read.
_ADDRESSES = {
    *(base for pairs in (*r.WEIGHTS.values(), *r.SCALES.values()) for base, _ in pairs),
    *(base + tile for base in (r.IFM_BASE0, r.IFM2_BASE0) for tile in range(4)),
    r.DMA0_SRC,
    r.DMA0_IDX_U85,
}


def require_equal(
    old: Sequence[Operation], new: Sequence[Operation], family: Family, block: bytes, pool: bytes
) -> None:
    """Compares a stream that reads a block of constants with one that reads a pool.

    Operations are the same, in the same order and with the same registers, but for addresses. What they read of the
    constants is the same, byte for byte; what they read and write of other memory is at the same place.

    Raises:
        Unproved: they differ.
        UnreadableStream: an operation reads in a way that is not known.
    """
    of_block, of_pool = (np.frombuffer(each, np.uint8) for each in (block, pool))
    for was, now in zip_longest(old, new):
        if was is None or now is None or (was.code, was.parameter) != (now.code, now.parameter):
            raise Unproved(f"operations differ from word {was.at if was else now.at} on")
        where = f"the operation at word {now.at}"
        names = was.registers.keys() | now.registers.keys()
        differing = {name for name in names if was.registers.get(name) != now.registers.get(name)}
        if others := differing - _ADDRESSES:
            raise Unproved(f"{where} finds another value in register {min(others) & 0x3FF:#x}")
        if footprint(was, family).written != footprint(now, family).written:
            raise Unproved(f"{where} writes another part of memory")
        reads, other_reads = (reads_by_register(operation, family) for operation in (was, now))
        for (_, one), (_, other) in zip(reads, other_reads, strict=True):
            same = one == other
            if one.region == other.region == r.CONSTANTS:
                same = (one.counts, one.steps) == (other.counts, other.steps)
                same = same and np.array_equal(one.of(of_block), other.of(of_pool))
            if not same:
                raise Unproved(f"{where} reads another part of memory")
