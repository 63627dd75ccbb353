"""What a plan asks about time: how long each kernel takes, and for how much of that the constants' memory is idle.

``velas_costs`` answers with the figures of Vela's estimate. Whatever else gives a ``Cost`` for each operation may stand
in for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..command_stream.feature_maps import computed
from ..command_stream.operations import Operation
from ..vela_layers import scheduled, tables
from .memories import Memories


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

    def part(self, share: float) -> Cost:
        """Of a part of the kernel."""
        return Cost(self.cycles * share, self.fetched * share, self.constants * share, self.maps * share)


#: Costs of operations by their index; those that are no kernels have none.
Costs = Mapping[int, Cost]


def velas_costs(debug_db: str, operations: Sequence[Operation], memories: Memories) -> Costs:
    """The figures of Vela's estimate, those of a layer divided among its kernels by the elements that they write.

    Args:
        debug_db: the XML file that Vela writes with ``--enable-debug-db``.

    Raises:
        ValueError: it is not as Vela 5.2 writes it; says what is wrong.
    """
    kernels = [(i, op) for i, op in enumerate(operations) if op.is_kernel]
    layers = _layers(debug_db, [op for _, op in kernels], memories)
    elements = [prod(computed(op)) for _, op in kernels]
    totals: dict[str, int] = {}
    for (layer, _), count in zip(layers, elements, strict=True):
        totals[layer] = totals.get(layer, 0) + count
    return {
        i: cost.part(count / totals[layer])
        for (i, _), (layer, cost), count in zip(kernels, layers, elements, strict=True)
    }


def _layers(debug_db: str, kernels: Sequence[Operation], memories: Memories) -> list[tuple[str, Cost]]:
    """Of each kernel the layer, by Vela's number, and what that costs."""
    found = tables(debug_db)
    if missing := [name for name in ("perf", "perf_debug", "queue") if name not in found]:
        raise ValueError(f"lacks table {missing[0]!r}")
    try:
        details = {row["id"]: row for row in found["perf_debug"]}
        costs = {row["id"]: _cost(row, details.get(row["id"], {}), memories) for row in found["perf"]}
        layers = scheduled(found, kernels)
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(f"has a table of another form ({error})") from error
    for op, layer in zip(kernels, layers, strict=True):
        if layer not in costs:
            raise ValueError(f"says nothing of the kernel at byte {4 * op.at}")
    return [(layer, costs[layer]) for layer in layers]


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
