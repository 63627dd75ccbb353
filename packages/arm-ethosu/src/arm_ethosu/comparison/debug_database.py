"""What Vela's debug database says: which operator of a graph each kernel is for, and when tensors end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arm_tosa_core.support.database_tables import Rows
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.loader import listed_operators

from ..command_stream.operations import Operation
from ..vela_layers import garbage, scheduled


@dataclass(frozen=True, slots=True)
class Owned:
    """A kernel and the operators that it is for.

    Args:
        row: number of the operator in Vela's schedule.
        kind: what Vela calls that one, such as ``"Conv2D"``.
        op: the operator of the graph that it comes from; None: Vela made it up.
        last: the operator whose result it writes, which may be a later one; None: one of Vela's own.
    """

    command: Operation
    row: str
    kind: str
    op: Op | None
    last: Op | None


def owned(tables: Mapping[str, Rows], commands: Sequence[Operation], tosa: bytes, graph: Graph) -> list[Owned]:
    """The kernels among commands, each with its operators.

    Raises:
        ToolError: it lacks the tables that Vela 5.2 writes.
    """
    makers = {tensor.name: op for op in graph.ops for tensor in op.outputs}
    listed = [each.tensor for each in listed_operators(tosa)]
    kernels = [command for command in commands if command.is_kernel]
    try:
        sources = {row["id"]: int(row["ext_key"]) for row in tables["source"]}
        rows = {row["id"]: row for row in tables["perf"]}
        owners = []
        for command, number in zip(kernels, scheduled(tables, kernels), strict=True):
            row = rows.get(number, {"operator": "", "name": "", "source_id": ""})
            source = sources.get(row["source_id"])
            op = makers.get(listed[source]) if source is not None and source < len(listed) else None
            owners.append(Owned(command, number, row["operator"], op, makers.get(row["name"])))
    except (KeyError, ValueError, TypeError) as error:
        raise garbage(error) from error
    return owners


@dataclass(frozen=True)
class _Life:
    """A tensor: the steps of the schedule in which it is there, both included, and its first byte and end."""

    born: int
    last: int
    first: int
    end: int


class Lifetimes:
    """The tensors in the memory of the graph's outputs, as the commands go through the schedule.

    What lies at the place of one that ended is nobody's, until it is written again.
    """

    def __init__(self, tables: Mapping[str, Rows], graph: Graph, kernels: Sequence[Owned]) -> None:
        """Reads tables of the debug database.

        Raises:
            ToolError: they are not those that Vela 5.2 writes.
        """
        try:
            steps = {row["id"]: int(row["time_index"]) for row in tables["perf_debug"] if row["time_index"]}
            outputs = {tensor.name for tensor in graph.outputs}
            memories = {row["memory"] for row in tables["tensors"] if row["name"] in outputs}
            lives = [_life(row) for row in tables["tensors"] if memories == {row["memory"]}]
        except (KeyError, ValueError, TypeError) as error:
            raise garbage(error) from error
        self._steps = {id(each.command): steps[each.row] for each in kernels if each.row in steps}
        self._coming = sorted(lives, key=lambda life: life.born, reverse=True)
        self._there: list[_Life] = []
        self._now = -1

    def ended_before(self, command: object) -> Iterator[tuple[int, int]]:
        """Where tensors were that have ended when a command begins: first byte and end of what no other one has."""
        step = self._steps.get(id(command), -1)
        if step <= self._now:
            return
        self._now = step
        while self._coming and self._coming[-1].born <= step:
            self._there.append(self._coming.pop())
        ended = [life for life in self._there if life.last < step]
        self._there = sorted((life for life in self._there if life.last >= step), key=lambda life: life.first)
        for life in ended:
            yield from self._left(life)

    def _left(self, ended: _Life) -> Iterator[tuple[int, int]]:
        """What of the place of a tensor no other one has now."""
        first = ended.first
        for other in self._there:
            if other.end > first and other.first < ended.end:
                if other.first > first:
                    yield first, other.first
                first = max(first, other.end)
        if first < ended.end:
            yield first, ended.end


def _life(row: Mapping[str, str]) -> _Life:
    places = (int(row[key], 16) for key in ("start_address", "end_address"))
    return _Life(int(row["start_time"]), int(row["end_time"]), *places)
