"""Vela's own account of a compilation: its operators, its estimate of each, and the commands of each.

Vela writes it as tables of comma-separated values in an XML file when it is asked with ``--enable-debug-db``: ``perf``
has a row for each operator of its schedule, ``source`` the operator of the TOSA file that it comes from, and
``queue`` at which byte the last command of each part of an operator stands.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arm_tosa_core.exir.figures import moved_of
from arm_tosa_core.plugin.target import CompiledLayer, Moved
from arm_tosa_core.support.database_tables import Rows, tables
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.tosa.loader import listed_operators

from .command_stream.container import Bytes
from .command_stream.operations import Operation, decode

FLAG = "--enable-debug-db"

#: Operators that multiply and accumulate.
_MULTIPLY = {
    "AvgPool",
    "Conv2D",
    "Conv3D",
    "DepthwiseConv2D",
    "FullyConnected",
    "MatMul",
    "ReduceSum",
    "TransposeConv2D",
}
#: Memories inside the core: Ethos-U55 and U65 keep tables and accumulators in SHRAM, U85 tables in LUTRAM.
_INSIDE = ("shram", "lutram")
#: Memories and uses in names of columns such as ``SramFeatureMap_read``.
_MEMORIES = {"Sram": "SRAM", "Dram": "DRAM", "OnChipFlash": "flash", "OffChipFlash": "flash"}
_KINDS = {"FeatureMap": "feature maps", "Weights": "weights", "Scales": "weights", "Lut": "tables"}


@dataclass(frozen=True)
class Layer:
    """An operator of Vela's schedule.

    Args:
        kind: its name in Vela, such as ``"Conv2D"``.
        result: the name of its result.
        cycles: Vela's estimate; 0 where it counts with the operator before it, or is not rated.
        tosa: the number of the TOSA operator that it comes from, constants counted too; None: Vela made it up.
    """

    kind: str
    result: str
    cycles: float
    tosa: int | None


@dataclass(frozen=True)
class Layers:
    """Vela's schedule.

    Args:
        kernels: for each kernel command of the stream in order, the number of its layer.
    """

    layers: tuple[Layer, ...]
    kernels: tuple[int | None, ...]


def compiled_layers(xml: str, tosa: bytes) -> list[CompiledLayer]:
    """The operators of Vela's schedule from its debug database; none for an empty text.

    Raises:
        ToolError: it lacks the tables that Vela 5.2 writes.
    """
    if not xml:
        return []
    database = tables(xml)
    listed = listed_operators(tosa)
    try:
        sources = {row["id"]: int(row["ext_key"]) for row in database["source"]}
        moved = {row["id"]: _bytes(row) for row in database["perf_debug"]}
        layers = []
        for row in database["perf"]:
            number = sources.get(row["source_id"])
            tensor = listed[number].tensor if number is not None and number < len(listed) else ""
            macs = int(row["mac_count"]) if row["operator"] in _MULTIPLY else 0  # Vela counts elements of the others
            moves = moved.get(row["id"], 0)
            layers.append(CompiledLayer(row["operator"], tensor, float(row["op_cycles"]), macs, moves))
    except (KeyError, ValueError, TypeError) as error:
        raise garbage(error) from error
    return layers


def moved(xml: str) -> tuple[Moved, ...]:
    """What an inference moves, by memory and kind, from the debug database; nothing for an empty text.

    Raises:
        ToolError: as ``compiled_layers``.
    """
    if not xml:
        return ()
    try:
        rows = tables(xml)["perf_debug"]
        return moved_of(
            Moved(memory, kind, int(row[f"{place}{use}_read"] or 0), int(row[f"{place}{use}_write"] or 0))
            for row in rows
            for place, memory in _MEMORIES.items()
            for use, kind in _KINDS.items()
            if f"{place}{use}_read" in row
        )
    except (KeyError, ValueError, TypeError) as error:
        raise garbage(error) from error


def _bytes(row: dict[str, str]) -> int:
    """Bytes that an operator moves between core and outer memories: columns such as ``SramFeatureMap_read``."""
    moves = (key for key in row if key.endswith(("_read", "_write")) and not key.startswith(_INSIDE))
    return sum(int(row[key] or 0) for key in moves)


def garbage(error: Exception) -> ToolError:
    """Vela's debug database is not as Vela 5.2 writes it."""
    fix = "check that ethos-u-vela is 5.2: vela --version"
    return ToolError("vela", f"wrote garbage: its debug database lacks {error}", fix=fix)


def read_layers(xml: str, cmd_data: Bytes) -> Layers:
    """The operators of Vela's schedule and the layer of each kernel command, from its debug database and commands.

    Raises:
        ToolError: it lacks the tables that Vela 5.2 writes.
    """
    database = tables(xml)
    kernels = [op for op in decode(cmd_data) if op.is_kernel]
    try:
        sources = {row["id"]: int(row["ext_key"]) for row in database["source"]}
        rows = [
            (row["id"], Layer(row["operator"], row["name"], float(row["op_cycles"]), sources.get(row["source_id"])))
            for row in database["perf"]
        ]
        numbers = {key: number for number, (key, _) in enumerate(rows)}
        layers = tuple(numbers.get(key) for key in scheduled(database, kernels))
    except (KeyError, ValueError, TypeError) as error:
        raise garbage(error) from error
    return Layers(tuple(layer for _, layer in rows), layers)


def scheduled(database: Mapping[str, Rows], operations: Sequence[Operation]) -> list[str]:
    """For each operation the ``id`` of its operator in Vela's schedule; empty: Vela does not say.

    Raises:
        KeyError, ValueError: it lacks the tables that Vela 5.2 writes.
    """
    ends = sorted((int(row["offset"]), row["scheduled_id"]) for row in database["queue"])
    if not ends:
        return [""] * len(operations)
    offsets = [offset for offset, _ in ends]
    at = (bisect_left(offsets, 4 * op.at) for op in operations)
    return [ends[min(place, len(ends) - 1)][1] for place in at]
