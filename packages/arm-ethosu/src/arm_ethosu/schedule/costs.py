"""What a plan asks about time: how long each kernel takes, and for how much of that the constants' memory is idle.

``velas_costs`` answers with the figures of Vela's estimate. Whatever else gives a ``Cost`` for each operation may stand
in for it.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import registers as r
from .memories import Memories
from .operations import Operation


@dataclass(frozen=True)
class Cost:
    """The time of one kernel, in cycles of the accelerator.

    Args:
        cycles: as it is, its constants read from their own memory.
        fetched: with its constants in SRAM.
        constants: for how long it reads constants from their own memory.
        maps: for how long it uses that memory for feature maps.
    """

    cycles: float
    fetched: float
    constants: float
    maps: float = 0.0


#: Costs of operations by their index; those that are no kernels have none.
Costs = Mapping[int, Cost]


def velas_costs(debug_db: str, operations: Sequence[Operation], memories: Memories) -> Costs:
    """The figures of Vela's estimate, those of a layer divided among its kernels by the elements that they write.

    Args:
        debug_db: the XML file that Vela writes with ``--enable-debug-db``.

    Raises:
        ValueError: it is not as Vela 5.2 writes it; says what is wrong.
    """
    layers = _Layers(debug_db, memories)
    kernels = [(i, op) for i, op in enumerate(operations) if op.is_kernel]
    owners = {i: layers.of(op) for i, op in kernels}
    elements = {i: op.size(r.OFM_HEIGHT_M1) * op.size(r.OFM_WIDTH_M1) * op.size(r.OFM_DEPTH_M1) for i, op in kernels}
    totals: dict[str, int] = {}
    for i, layer in owners.items():
        totals[layer] = totals.get(layer, 0) + elements[i]
    return {i: layers.share(layer, elements[i] / totals[layer]) for i, layer in owners.items()}


class _Layers:
    """The layers of a debug database, by Vela's number of them."""

    def __init__(self, debug_db: str, memories: Memories) -> None:
        tables = {
            name: list(csv.DictReader(io.StringIO(text.strip())))
            for name, text in re.findall(r'<table name="(\w+)">\s*<!\[CDATA\[(.*?)\]\]>', debug_db, re.DOTALL)
        }
        if missing := [name for name in ("perf", "perf_debug", "queue") if name not in tables]:
            raise ValueError(f"lacks table {missing[0]!r}")
        try:
            queue = sorted((int(row["offset"]), row["scheduled_id"]) for row in tables["queue"])
            details = {row["id"]: row for row in tables["perf_debug"]}
            self.costs = {row["id"]: _cost(row, details.get(row["id"], {}), memories) for row in tables["perf"]}
        except (KeyError, ValueError, TypeError) as error:
            raise ValueError(f"has a table of another form ({error})") from error
        self.offsets, self.ids = [offset for offset, _ in queue], [number for _, number in queue]

    def of(self, operation: Operation) -> str:
        """The layer of a kernel. Offsets of the database, in bytes, are those of the last kernel of each entry."""
        at = bisect_left(self.offsets, 4 * operation.at)
        if at == len(self.ids) or self.ids[at] not in self.costs:
            raise ValueError(f"says nothing of the kernel at byte {4 * operation.at}")
        return self.ids[at]

    def share(self, layer: str, part: float) -> Cost:
        cost = self.costs[layer]
        return Cost(cost.cycles * part, cost.fetched * part, cost.constants * part, cost.maps * part)


def _cost(row: Mapping[str, Any], detail: Mapping[str, Any], memories: Memories) -> Cost:
    name = memories.constants
    constants = sum(_number(detail, f"{name}{what}_ac") for what in ("Weights", "Scales"))
    # Of constants that are copied to SRAM first Vela counts some here as well, and their transfer elsewhere.
    direct = constants if not detail.get("weight_buffering") else 0.0
    read = sum(_number(detail, f"{name}{what}_read") for what in ("Weights", "Scales"))
    others = [_number(row, key) for key in row if key.endswith("_ac") and key != f"{name}_ac" and key != "Sram_ac"]
    maps = _number(detail, f"{name}FeatureMap_ac")
    sram = _number(row, "Sram_ac") + read / memories.sram_speed
    fetched = max(_number(row, "npu_cycles"), sram, maps, *others)
    cycles = float(row["op_cycles"])
    return Cost(cycles, min(cycles, fetched), direct, maps)


def _number(row: Mapping[str, Any], key: str) -> float:
    return float(row.get(key) or 0)
