"""Cuts the delegable regions of a program out of what was lowered, without a round trip through ExecuTorch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from torch.export import ExportedProgram
from torch.fx import Node

from ..plugin.target import Target
from ..tosa.dtypes import numpy_dtype
from ..tosa.graph import Graph
from ..tosa.ir import Op, Tensor
from .analysis_result import Analysis
from .cut import NotApartError, cut
from .exported_program import is_graph, is_size
from .lowering import Lowering
from .memory_order import memory_order
from .pipeline import Network, legalize
from .program_facts import Facts
from .values import Value


@dataclass(kw_only=True)
class Region(Network):
    """One delegate, and the nodes of the program that it reads and makes once its graph is optimized.

    Args:
        number: of the region, in the analysis.
        inputs: by the inputs of the graph.
        outputs: by the outputs of the graph; none: there is nothing to compute.
        same: results that are what the region is given, or another result, and which node that is. Compilers of
            targets join such tensors, and leave out inputs that nobody reads, so that neither is in the graph.
        unread: what the region takes and no result depends on.
    """

    number: int
    inputs: list[Node]
    outputs: list[Node]
    same: dict[Node, Node] = field(default_factory=dict)
    unread: list[Node] = field(default_factory=list)

    def of_program(self, twins: Mapping[Node, Node]) -> Region:
        """The same of another program, given the node there of each node."""
        inputs, outputs, unread = ([twins[n] for n in nodes] for nodes in (self.inputs, self.outputs, self.unread))
        same = {twins[n]: twins[twin] for n, twin in self.same.items()}
        return replace(self, inputs=inputs, outputs=outputs, unread=unread, same=same)

    def without(self, unread: Collection[int], same: Mapping[int, int]) -> bool:
        """Leaves out inputs, in whose place the graphs read zeros, and outputs; whether that is possible.

        Args:
            unread: numbers of inputs that no result depends on.
            same: numbers of outputs, and of others that they are the same as.
        """
        twins = {self.outputs[i]: self.outputs[earlier] for i, earlier in same.items()}
        if not all(_is_alike(node, twin) for node, twin in twins.items()):
            return False
        for graph in (self.graph, *(sample for _, sample in self.samples)):
            for number in unread:
                tensor = graph.inputs[number]
                zeros = graph.constant(np.zeros(tensor.shape, numpy_dtype(tensor.dtype)), tensor.dtype)
                graph.replace(tensor, zeros)
            graph.inputs = [tensor for i, tensor in enumerate(graph.inputs) if i not in unread]
            graph.outputs = [tensor for i, tensor in enumerate(graph.outputs) if i not in same]
        self.same |= twins
        self.unread += [self.inputs[i] for i in unread]
        self.inputs = [node for i, node in enumerate(self.inputs) if i not in unread]
        self.outputs = [node for i, node in enumerate(self.outputs) if i not in same]
        return True


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
        yield _trimmed(legalize(graph, target), part)


def _trimmed(graph: Graph, part: _Part) -> Region:
    """The region without inputs that nobody reads, and without results that are there already.

    A graph that hands on its one input as its one result stays: all that it does may have been found superfluous.
    """
    region = Region(graph=graph, number=part.number, inputs=part.inputs, outputs=part.outputs)
    if len(part.inputs) == len(part.outputs) == 1 and graph.inputs == graph.outputs:
        return region
    given = dict(zip(graph.inputs, part.inputs, strict=True))
    there = {tensor: [node] for tensor, node in given.items()}
    graph_outputs, graph.outputs, region.outputs = graph.outputs, [], []
    for tensor, node in zip(graph_outputs, part.outputs, strict=True):
        nodes = there.setdefault(tensor, [])
        twin = next((other for other in nodes if _is_alike(other, node)), None)
        if twin is not None:
            region.same[node] = twin
        else:
            nodes.append(node)
            graph.outputs.append(tensor)
            region.outputs.append(node)
    graph.inputs = [tensor for tensor in given if tensor.uses or tensor in graph.outputs]
    region.inputs = [given[tensor] for tensor in graph.inputs]
    region.unread = [node for node in part.inputs if node not in region.inputs]
    return region


def _is_alike(node: Node, other: Node) -> bool:
    """Whether tensors that have the same numbers in the same places of memory are the same to PyTorch."""
    one, two = node.meta["val"], other.meta["val"]
    return bool(one.dtype == two.dtype and one.shape == two.shape and memory_order(one) == memory_order(two))


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
            if isinstance(known := analysis.lowering.values[node], Value):
                lowering.values[node] = lowering.values[node].replace(bounds=known.bounds)
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
