"""Lowers the delegable regions of a program directly, without a round trip through ExecuTorch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch.export import ExportedProgram
from torch.fx import Node

from ..plugin.target import Target
from ..tosa.graph import Graph
from .exported_program import is_graph
from .lowering import Lowering
from .pipeline import legalize
from .support_analysis import Analysis


@dataclass
class Region:
    """One delegate: a verified TOSA graph, and the nodes of the program that it reads and makes."""

    graph: Graph
    inputs: list[Node]
    outputs: list[Node]


def lower_regions(program: ExportedProgram, target: Target, analysis: Analysis) -> list[Region]:
    """Lowers every region that an analysis of the same program found, in data-flow order.

    Raises:
        LoweringError: a rewrite broke a graph.
    """
    return list(each_region(program, target, analysis))


def each_region(program: ExportedProgram, target: Target, analysis: Analysis) -> Iterator[Region]:
    """``lower_regions``, one at a time: who does not keep a graph has room for the next."""
    for number in sorted(set(analysis.accepted.values())):
        yield _lower_region(program, target, analysis, number)


def _lower_region(program: ExportedProgram, target: Target, analysis: Analysis, number: int) -> Region:
    lowering = Lowering(program, target)
    inside = {node for node, region in analysis.accepted.items() if region == number}
    known = _constants_of(inside, analysis)
    inputs, outputs = [], []
    for node in program.graph.nodes:
        if node in inside or node in known:
            lowering.values[node] = lowering.lower(node)
            if node not in known and any(u not in inside for u in node.users):
                outputs.append(node)
        elif any(u in inside for u in node.users):
            if is_graph(node):
                lowering.values[node] = lowering.lower(node)
                continue
            inputs.append(node)
            lowering.values[node] = lowering.input(node.name, node.meta["val"])
    for node in outputs:
        lowering.output(node)
    return Region(legalize(lowering.graph, target), inputs, outputs)


def _constants_of(inside: set[Node], analysis: Analysis) -> set[Node]:
    """The nodes known at compile time from which those of a region are computed."""
    found: set[Node] = set()
    waiting = list(inside)
    while waiting:
        node = waiting.pop()
        for n in [node, *node.all_input_nodes]:
            if n in analysis.constant and n not in found:
                found.add(n)
                waiting.append(n)
    return found
