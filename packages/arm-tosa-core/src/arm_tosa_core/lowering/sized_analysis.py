"""What of a program whose sizes vary a target takes, and its regions: lowered at several sizes, and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.torch_sizes import size_symbol, size_symbols, symbolic_sizes
from ..plugin.target import Target
from ..support.errors import LoweringError, Rejected
from ..tosa.graph import Graph
from .analysis_result import Analysis, NodeCheck
from .exported_program import NOTHING, Known
from .pipeline import Network, lower
from .regions import Region, each_region
from .size_dependence import Dependence, Differs
from .support_analysis import analyse
from .varying_sizes import Point, Sizes, kept_varying

#: Gives the reasons of a caller to keep nodes of a program on the CPU.
Checks = Callable[[ExportedProgram], Sequence[NodeCheck]]

_OUTSIDE = Rejected("stays on the CPU at other sizes")
_FIX = "export with this size fixed, or pad to it"
_NOTHING_TO_DO = Rejected("depends on a dynamic size, and is what its delegate is given: there is nothing to compute")


def analyse_sizes(
    program: ExportedProgram, target: Target, checks: Checks, sizes: Sizes, *, known: Known, editable: bool
) -> Analysis:
    """As ``analyse``: of the nodes that the target takes at every size, and lowers to the same operators.

    The result has what was lowered at the largest sizes.
    """
    varying = _Varying(program, _for_sizes(target), sizes, known)
    refused: dict[Node, Rejected] = {}
    earlier: list[Analysis | None] = [None] * len(varying.points)
    while True:
        made: list[Analysis] = []
        for point, before in zip(varying.points, earlier, strict=True):
            accepted = made[0].accepted if made else None
            made.append(varying.analysis(point, checks, refused, accepted, editable=editable, earlier=before)[1])
        earlier[:] = made
        found = _different(made, varying.points, sizes.least) or _unsaid(made[0]) or varying.unlike(made[0])
        if not found:
            return made[0]
        refused.update(found)


def sized_regions(
    program: ExportedProgram, target: Target, analysis: Analysis, sizes: Sizes, *, known: Known = NOTHING
) -> Iterator[Region]:
    """As ``each_region``, with the graph of each region at other sizes.

    Raises:
        LoweringError: a rewrite broke a graph, or makes another of it at another size.
    """
    varying = _Varying(program, _for_sizes(target), sizes, known)
    for same in varying.regions(analysis):
        try:
            network = varying.network(same[0].inputs, [region.graph for region in same])
        except Differs as why:
            raise LoweringError(f"a part whose sizes vary {why}") from why
        yield replace(same[0], symbols=network.symbols, samples=network.samples)


def lower_sizes(program: ExportedProgram, target: Target) -> Network:
    """As ``lower``: the graph at the largest sizes, and at others if sizes vary.

    Raises:
        LoweringError: as ``lower``; or it becomes another graph at another size.
    """
    sizes = Sizes.of(program) if target.compiler.sizes else None
    if sizes is None:
        return Network(lower(program, target))
    varying = _Varying(program, _for_sizes(target), sizes, NOTHING)
    graphs = [lower(sizes.at(program, point)[0], varying.target) for point in varying.points]
    try:
        return varying.network(program.graph.find_nodes(op="placeholder"), graphs)
    except Differs as why:
        raise LoweringError(f"a part whose sizes vary {why}") from why


def _for_sizes(target: Target) -> Target:
    """The target, when graphs must be the same at all sizes."""
    return replace(target, preferences=replace(target.preferences, square_images=False))


@dataclass(frozen=True)
class _Varying:
    """A program whose sizes vary, for a target (``_for_sizes``)."""

    program: ExportedProgram
    target: Target
    sizes: Sizes
    known: Known

    @property
    def points(self) -> list[Point]:
        """Where it is lowered, the largest sizes first."""
        return [self.sizes.bound, *self.sizes.samples()]

    def analysis(
        self,
        point: Point,
        checks: Checks,
        refused: Mapping[Node, Rejected],
        accepted: Mapping[Node, int] | None,
        *,
        editable: bool = False,
        own: bool = False,
        earlier: Analysis | None = None,
    ) -> tuple[dict[Node, Node], Analysis]:
        """The analysis at one point, of the program, or of the copy (``own``); and the node of each copy.

        Args:
            refused: nodes to refuse.
            accepted: refuse all but these; None: none for that.
            earlier: the analysis at this point of which some nodes were refused then; not to be used any more.
        """
        twin, twins = self.sizes.at(self.program, point)
        back = {new: old for old, new in twins.items()}

        def check(node: Node) -> Rejected | None:
            old = back[node]
            return refused.get(old) or (None if accepted is None or old in accepted else _OUTSIDE)

        all_checks = [*checks(twin), check]
        made = analyse(twin, self.target, all_checks, known=self.known, editable=editable, earlier=earlier)
        return back, made if own else made.of_copy(self.program, back)

    def regions(self, analysis: Analysis) -> Iterator[tuple[Region, ...]]:
        """Each region as it is at every point, the largest first."""
        regions: list[list[Region]] = []
        with kept_varying(self.program):
            for point in self.points:
                back, made = self.analysis(point, lambda program: (), {}, analysis.accepted, own=True)
                found = list(each_region(made.lowering.program, self.target, made))
                regions.append([r.of_program(back) for r in found])
        return zip(*regions, strict=True)

    def unlike(self, analysis: Analysis) -> dict[Node, Rejected]:
        """Nodes that become others at other sizes where a region ends, and by rewrites, or nothing at any size."""
        names = {node.name: node for node in analysis.accepted}
        found: dict[Node, Rejected] = {}
        for same in self.regions(analysis):
            results = zip(same[0].graph.outputs, same[0].outputs, strict=True)
            found |= {node: _NOTHING_TO_DO for tensor, node in results if tensor in same[0].graph.inputs}
            try:
                self.network(same[0].inputs, [region.graph for region in same])
            except Differs as why:
                if why.node in names:
                    found[names[why.node]] = Rejected(f"depends on a dynamic size: it {why.reason}", _FIX)
        return found

    def network(self, inputs: Sequence[Node], graphs: Sequence[Graph]) -> Network:
        """Of what a network's inputs say of the symbols, the graphs at the points.

        Raises:
            Differs: the graphs differ in more than sizes.
        """
        said = {size_symbol(size) for node in inputs for size in symbolic_sizes(node)}
        symbols = tuple(symbol for symbol in self.sizes.symbols if symbol.name in said)
        own: list[Point] = [{symbol.name: point[symbol.name] for symbol in symbols} for point in self.points]
        Dependence(own, self.sizes.least).check(graphs)
        different = [i for i, point in enumerate(own) if point not in own[:i]]
        return Network(graphs[0], symbols, [(own[i], graphs[i]) for i in different[1:]])


def _unsaid(analysis: Analysis) -> dict[Node, Rejected]:
    """Nodes with a symbol in their sizes that no input of their region has as a dimension: a run could not know it."""
    said: dict[int, set[str | None]] = {region: set() for region in analysis.accepted.values()}
    for node, region in analysis.accepted.items():
        outside = [n for n in node.all_input_nodes if analysis.accepted.get(n) != region]
        said[region].update(size_symbol(size) for given in outside for size in symbolic_sizes(given))
    found: dict[Node, Rejected] = {}
    for node, region in analysis.accepted.items():
        if hidden := set().union(*map(size_symbols, symbolic_sizes(node))) - said[region]:
            names = ", ".join(sorted(hidden))
            found[node] = Rejected(f"depends on a dynamic size: no input of its delegate has {names} by itself", _FIX)
    return found


def _different(made: Sequence[Analysis], points: Sequence[Point], least: Point) -> dict[Node, Rejected]:
    """Nodes that the target takes at the largest sizes, and otherwise or not at all at others."""
    dependence = Dependence(points, least)
    found: dict[Node, Rejected] = {}
    for node in made[0].accepted:
        for analysis, point in zip(made[1:], points[1:], strict=True):
            if node not in analysis.accepted:
                why = analysis.rejected.get(node, _OUTSIDE)
                at = ", ".join(f"{name} = {value}" for name, value in point.items())
                found.setdefault(node, Rejected(f"is not taken where {at}: {why.reason}", _FIX))
        if node in found:
            continue
        emitted = [analysis.lowering.emitted[node] for analysis in made]
        if len({len(ops) for ops in emitted}) != 1:
            counts = " or ".join(dict.fromkeys(str(len(ops)) for ops in emitted))
            found[node] = Rejected(f"depends on a dynamic size: it becomes {counts} operators", _FIX)
            continue
        for ops in zip(*emitted, strict=True):
            if (what := dependence.difference(ops)) is not None:
                found[node] = Rejected(f"depends on a dynamic size: it {what}", _FIX)
                break
    return found
