"""Cuts the delegable regions of a program out of what was lowered, without a round trip through ExecuTorch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from torch.export import ExportedProgram
from torch.fx import Node

from ..plugin.target import Target
from ..tosa.graph import Graph
from ..tosa.ir import Op, Tensor
from .analysis_result import Analysis
from .cut import NotApartError, cut
from .exported_program import is_graph, is_size
from .lowering import Lowering
from .pipeline import Network, legalize
from .program_facts import Facts


@dataclass(kw_only=True)
class Region(Network):
    """One delegate, and the nodes of the program that it reads and makes."""

    inputs: list[Node]
    outputs: list[Node]


@dataclass
class _Part:
    """What of a program is a region."""

    number: int
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    results: list[Tensor] = field(default_factory=list)


def each_region(program: ExportedProgram, target: Target, analysis: Analysis) -> Iterator[Region]:
    """Every region that an analysis of the same program found, in data-flow order. An analysis can be cut once.

    They are made one at a time: who does not keep a graph has room for the next.

    Raises:
        LoweringError: a rewrite broke a graph.
    """
    facts = None
    for part in _parts(program, analysis):
        try:
            graph = _cut(part, analysis.lowering)
        except NotApartError:
            facts = facts or Facts(program, target)
            graph = _lowered_again(part, Lowering(program, target, facts), analysis)
        yield Region(graph=legalize(graph, target), inputs=part.inputs, outputs=part.outputs)


def _parts(program: ExportedProgram, analysis: Analysis) -> list[_Part]:
    lowering = analysis.lowering
    parts = {number: _Part(number) for number in sorted(set(analysis.accepted.values()))}
    for node in program.graph.nodes:
        home = analysis.accepted.get(node)
        users = [user for user in node.users if not (is_size(user) and user in analysis.accepted)]  # its size is known
        readers = dict.fromkeys(analysis.accepted.get(user) for user in users)
        if home is not None:
            parts[home].ops += lowering.emitted[node]
        if node in analysis.constant or is_graph(node) or is_size(node):  # every region has its own
            continue
        if home is not None and readers.keys() - {home}:
            parts[home].outputs.append(node)
        for reader in readers:
            if reader is not None and reader != home:
                parts[reader].inputs.append(node)
    for part in parts.values():
        if lowering.inputs.issuperset(part.inputs):
            last = len(lowering.graph.ops)
            part.results = [lowering.output(node) for node in part.outputs]
            part.ops += lowering.graph.ops[last:]
    return list(parts.values())


def _cut(part: _Part, lowering: Lowering) -> Graph:
    """The graph of a region that reads nothing of another.

    Raises:
        NotApartError: it reads what another makes, or has made of the same input.
    """
    if not lowering.inputs.issuperset(part.inputs):
        raise NotApartError
    inputs: dict[Tensor, Tensor] = {}
    for node in part.inputs:
        old: Tensor = lowering.values[node].tensor
        if old in inputs:
            raise NotApartError
        inputs[old] = Tensor(old.shape, old.dtype, name=node.name)
    return cut(part.ops, inputs, part.results)


def _lowered_again(part: _Part, lowering: Lowering, analysis: Analysis) -> Graph:
    """The graph of a region that reads what others make: it gets that as PyTorch has it, not as they have it."""
    inside = {node for node, region in analysis.accepted.items() if region == part.number}
    inside |= _constants_of(inside, analysis)
    given = set(part.inputs)
    for node in lowering.program.graph.nodes:
        if node in given:
            lowering.take(node)
        elif node in inside or is_size(node) or (is_graph(node) and any(user in inside for user in node.users)):
            lowering.lower(node)
    lowering.graph.outputs += map(lowering.output, part.outputs)
    return cut(lowering.graph.ops, {t: t for t in lowering.graph.inputs}, lowering.graph.outputs)


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
