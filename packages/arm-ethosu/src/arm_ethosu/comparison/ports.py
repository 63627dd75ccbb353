"""Inputs and outputs in order: each lies where Vela says that the tensor of its name does.

How many there are, and how large, is compared for all targets: ``arm_tosa_core.exir.payload_ports``.
"""

from __future__ import annotations

from collections.abc import Mapping

from arm_tosa_core.tosa.graph import Graph

from ..vela import Arrays
from ..vela_layers import Rows, garbage
from .difference import Difference


def port_difference(tables: Mapping[str, Rows], arrays: Arrays, graph: Graph) -> Difference | None:
    """The first input or output at another place than its tensor.

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
