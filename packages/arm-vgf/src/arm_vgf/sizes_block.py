"""The block behind a VGF whose sizes vary: their symbols, and its graph at other sizes.

Readers of VGF see the program at its largest sizes: the block is in none of the file's sections. Our runtime reads the
same numbers in ``sizes_block.hpp``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from arm_tosa_core.plugin.target import Symbol

from .graph_code import module_table_of

_MAGIC = b"ARMSIZE1"


def with_sizes(vgf: bytes, symbols: Sequence[Symbol], samples: Sequence[tuple[Mapping[str, int], bytes]]) -> bytes:
    """The VGF with the block behind it.

    Args:
        vgf: the program at the most of every symbol.
        symbols: that sizes depend on.
        samples: values of the symbols, and the VGF of the same program for them.

    Raises:
        UsageError: the model converter made other operators for a sample.
    """
    block = struct.pack("<I", len(symbols))
    for symbol in symbols:
        name = symbol.name.encode()
        block += struct.pack("<III", symbol.least, symbol.most, len(name)) + _padded(name)
    block += struct.pack("<I", len(samples))
    for values, sample in samples:
        table = module_table_of(sample, vgf)
        block += struct.pack(f"<{len(symbols)}I", *(values[symbol.name] for symbol in symbols))
        block += struct.pack("<I", len(table)) + _padded(table)
    return vgf + block + struct.pack("<Q", len(block)) + _MAGIC


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
