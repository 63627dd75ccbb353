"""Which memory holds what, and what a plan asks about time: of each kernel, and of the constants' memory beside it.

``velas_costs`` answers with the figures of Vela's estimate. Whatever else gives a ``Cost`` for each operation may stand
in for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from arm_tosa_core.support.database_tables import tables

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.feature_maps import computed
from ..command_stream.hardware import PORT
from ..command_stream.operations import Operation
from ..vela_ini import VelaIni
from ..vela_layers import scheduled


@dataclass(frozen=True)
class Memories:
    """What a schedule asks of a system.

    Args:
        constants: the memory that holds the constants, ``OffChipFlash``, ``OnChipFlash`` or ``Dram``.
        speed: its bytes per cycle of the accelerator.
        latency: cycles until the first byte of a transfer from it.
        sram_speed: bytes per cycle of the SRAM.
        region: the region that lies in SRAM: scratch (1), or fast scratch (2) where that is another memory.
    """

    constants: str
    speed: float
    latency: float
    sram_speed: float
    region: int

    @property
    def sram_is_scratch(self) -> bool:
        """Whether inputs and outputs are in SRAM, and its size is in the payload."""
        return self.region == r.SCRATCH


def memories(ini: VelaIni, system_config: str, memory_mode: str, family: Family) -> Memories | None:
    """The memories of a configuration; None: constants are in SRAM, or the file does not say where they are."""
    ports = {key: ini.area(memory_mode, key) for key in ("const", "arena", "cache")}
    names = {key: port and ini.memory_at(system_config, port) for key, port in ports.items()}
    constants, sram = names["const"], names["cache"]
    if not constants or sram != "Sram" or constants == sram:
        return None

    def speed(memory: str) -> float:
        scale, used = (ini.figure(system_config, memory, key) for key in ("clock_scale", "ports_used"))
        return PORT[family] * (1.0 if scale is None else scale) * (used or 1.0)

    latency = ini.figure(system_config, constants, "read_latency") or 0.0
    region = r.SCRATCH if ports["arena"] == ports["cache"] else r.FAST_SCRATCH
    return Memories(constants, speed(constants), latency, speed(sram), region)


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
    database = tables(debug_db)
    if missing := [name for name in ("perf", "perf_debug", "queue") if name not in database]:
        raise ValueError(f"lacks table {missing[0]!r}")
    try:
        details = {row["id"]: row for row in database["perf_debug"]}
        costs = {row["id"]: _cost(row, details.get(row["id"], {}), memories) for row in database["perf"]}
        layers = scheduled(database, kernels)
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
