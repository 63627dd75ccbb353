"""What differs between a graph and what Vela made of it: first of all, inputs and outputs at other places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arm_tosa_core.support.database_tables import Rows
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op

from ..vela import Arrays
from ..vela_layers import garbage


@dataclass(frozen=True)
class Difference:
    """A fault of Vela.

    Args:
        op: the operator of the graph that is computed wrongly; None: it is not known which.
        what: what is wrong, as in ``"padding"``.
    """

    op: Op | None
    what: str
    written: str
    right: str

    @property
    def tensor(self) -> str:
        """The operator's result, by its name in the flatbuffer; empty: it is not known."""
        return (self.op.outputs[0].name or "") if self.op is not None else ""

    def __str__(self) -> str:
        where = f"{self.op.name} {self.tensor}" if self.op is not None else "a command of no operator"
        return f"{where}: {self.what} {self.written}, right is {self.right}"


def port_difference(tables: Mapping[str, Rows], arrays: Arrays, graph: Graph) -> Difference | None:
    """The first input or output at another place than Vela says that the tensor of its name has.

    How many there are, and how large, is compared for all targets: ``arm_tosa_core.exir.payload_ports``.

    Raises:
        ToolError: it lacks the tables that Vela 5.2 writes.
    """
    places: dict[str, list[int]] = {}
    try:
        for row in tables["tensors"]:
            places.setdefault(row["name"], []).append(int(row["start_address"], 16))
    except (KeyError, ValueError, TypeError) as error:
        raise garbage(error) from error
    for direction, tensors in (("input", graph.inputs), ("output", graph.outputs)):
        for number, (tensor, offset) in enumerate(zip(tensors, arrays[f"{direction}_offset"].tolist(), strict=False)):
            right = places.get(tensor.name or "", [])
            if right and offset not in right:
                what = f"{direction} {number}, {tensor.name}, is at byte"
                return Difference(tensor.producer, what, f"{offset}", f"{right[-1]}")
    return None
