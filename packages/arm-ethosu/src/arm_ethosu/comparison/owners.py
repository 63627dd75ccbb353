"""Which operator of a graph each kernel of a command stream is for, by Vela's debug database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.operator_list import listed_operators

from ..command_stream.operations import Operation
from ..vela_layers import Rows, garbage, scheduled


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
    made = {tensor.name: op for op in graph.ops for tensor in op.outputs}
    listed = [each.tensor for each in listed_operators(tosa)]
    kernels = [command for command in commands if command.is_kernel]
    try:
        sources = {row["id"]: int(row["ext_key"]) for row in tables["source"]}
        rows = {row["id"]: row for row in tables["perf"]}
        found = []
        for command, number in zip(kernels, scheduled(tables, kernels), strict=True):
            row = rows.get(number, {"operator": "", "name": "", "source_id": ""})
            source = sources.get(row["source_id"])
            op = made.get(listed[source]) if source is not None and source < len(listed) else None
            found.append(Owned(command, number, row["operator"], op, made.get(row["name"])))
    except (KeyError, ValueError, TypeError) as error:
        raise garbage(error) from error
    return found
