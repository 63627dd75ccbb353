"""Which layers to keep in 16 bits: those whose 8 bits cost most accuracy per cycle that 16 would cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from ..compat.torch import tree_leaves
from ..lowering.exported_program import is_dequantize
from ..quantize.bias_correction import Sample
from ..quantize.composites import WHOLE
from ..support.errors import UsageError
from .compare import Comparison, OperatorError
from .model import Model, Quantized, leaves
from .scheme import Scheme

_WIDE = "int16x8"
_BUDGET = re.compile(r"(?P<figure>\w+)=(?P<more>\+?)(?P<number>\d+(?:\.\d+)?)(?P<percent>%?)")


@dataclass(frozen=True)
class Budget:
    """A bound on a figure that the target estimates.

    Args:
        figure: ``cycles``, ``sram_kib``, ...
        number: the bound; with ``percent``, by how much the figure of int8 may be exceeded.
    """

    figure: str
    number: float
    percent: bool

    def limit(self, int8: float) -> float:
        """The bound as a number, given what int8 costs."""
        return int8 * (1 + self.number / 100) if self.percent else self.number


def parse_budget(text: str) -> Budget:
    """``cycles=+10%`` or ``cycles=2000000``.

    Raises:
        UsageError: it is neither.
    """
    match = _BUDGET.fullmatch(text.strip())
    if match is None or (match["more"] and not match["percent"]):
        raise UsageError(f"--budget {text!r}: write FIGURE=+N% or FIGURE=N, such as cycles=+10%")
    return Budget(match["figure"], float(match["number"]), bool(match["percent"]))


@dataclass(frozen=True)
class Unit:
    """What gets a scheme of its own: a layer, with the clamp that is merged into it.

    Args:
        name: of the node whose result is rounded.
        modules, nodes: what to set for it: names of modules, and of nodes of the exported graph.
        noise: power of the error that its 8 bits alone make in the model's outputs.
        work: elements that it makes: what 16 bits cost grows with them.
    """

    name: str
    modules: tuple[str, ...]
    nodes: tuple[str, ...]
    noise: float
    work: int


@dataclass(frozen=True)
class Point:
    """A scheme that was measured.

    Args:
        units: names of those in 16 bits.
        pareto: whether no other point is both as accurate and as cheap.
    """

    scheme: Scheme
    units: tuple[str, ...]
    sqnr_db: float
    cost: float
    pareto: bool = True


@dataclass(frozen=True)
class Search:
    """What was found.

    Args:
        points: by cost; the first is int8.
        chosen: the most accurate one within the limit.
    """

    figure: str
    limit: float
    units: list[Unit]
    points: list[Point]
    chosen: Point


def search(model: Model, int8: Quantized, comparison: Comparison, budget: Budget) -> Search:
    """Finds the units to keep in 16 bits, beside the exceptions that the scheme given has.

    The error of each unit is measured alone: the float graph, with only its results rounded as int8 rounds them. Units
    are ranked by that error per element. Then the number of units, from the top of the ranking, is bisected between
    none and all; every scheme tried is quantized, measured and estimated as a whole.

    Raises:
        UsageError: the target has no int16, or estimates no such figure, or int8 exceeds the limit.
    """
    if not model.spec.tosa_spec.support_extension("int16"):
        raise UsageError(f"--budget looks for layers to keep in 16 bits, and {model.spec.tosa_spec} has no int16")
    costs = model.cost(int8)
    if budget.figure not in costs:
        known = ", ".join(sorted(costs)) or "nothing is delegated to it"
        raise UsageError(f"the target estimates no {budget.figure!r}; it has: {known}")
    limit = budget.limit(costs[budget.figure])
    first = Point(int8.scheme, (), model.figure(comparison), costs[budget.figure])
    if first.cost > limit:
        name = int8.scheme.scheme
        raise UsageError(f"{name} as it is takes {first.cost:g} {budget.figure}, and the budget is {limit:g}")
    ranked = rank(model, int8, comparison.operators)
    points = [first]

    def try_(count: int) -> Point:
        chosen = ranked[:count]
        scheme = Scheme(
            int8.scheme.scheme,
            modules={**int8.scheme.modules, **{name: _WIDE for unit in chosen for name in unit.modules}},
            nodes={**int8.scheme.nodes, **{name: _WIDE for unit in chosen for name in unit.nodes}},
        )
        model.progress("trying schemes", len(points), 2 + len(ranked).bit_length())
        quantized = model.quantize(scheme)
        names = tuple(unit.name for unit in chosen)
        point = Point(
            scheme, names, model.figure(model.compare(quantized, operators=False)), model.cost(quantized)[budget.figure]
        )
        points.append(point)
        return point

    low, high = 0, len(ranked)
    if ranked and try_(high).cost > limit:
        while high - low > 1:
            middle = (low + high) // 2
            if try_(middle).cost <= limit:
                low = middle
            else:
                high = middle
    points = _marked(sorted(points, key=lambda p: (p.cost, -p.sqnr_db)))
    chosen = max((p for p in points if p.cost <= limit), key=lambda p: (p.sqnr_db, -p.cost))
    return Search(budget.figure, limit, ranked, points, chosen)


def _marked(points: Sequence[Point]) -> list[Point]:
    best, marked = float("-inf"), []
    for point in points:
        ahead = point.sqnr_db > best
        best = max(best, point.sqnr_db)
        marked.append(Point(point.scheme, point.units, point.sqnr_db, point.cost, ahead))
    return marked


def rank(model: Model, int8: Quantized, operators: Sequence[OperatorError]) -> list[Unit]:
    """The units whose results are quantized, the one with most error per element first."""
    sample = model.evaluation[0]
    exact = _Rounding(int8.prepared, {}).outputs(sample)
    rounding = _roundings(int8.converted)
    groups = _groups(model, int8.prepared, operators)
    units = []
    for number, ((modules, nodes), results) in enumerate(groups.items()):
        model.progress("measuring layers", number, len(groups))
        run = _Rounding(int8.prepared, {n: rounding[n] for n in results if n in rounding})
        noisy = run.outputs(sample)
        noise = sum(float((a.double() - b.double()).square().sum()) for a, b in zip(exact, noisy, strict=True))
        units.append(Unit(results[0], modules, nodes, noise, max(run.elements, 1)))
    return sorted(units, key=lambda unit: (-unit.noise / unit.work, unit.name))


def _groups(
    model: Model, prepared: GraphModule, operators: Sequence[OperatorError]
) -> dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]]:
    """Per unit, its modules and nodes, the results that are rounded."""
    rows = {row.name: row for row in operators}
    paths = {row.module for row in operators if row.module}
    inner = {path for path in paths if any(other.startswith(f"{path}.") for other in paths)}
    exported = {node.name for node in model.program.graph.nodes}
    graph = {node.name: node for node in prepared.graph.nodes}
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for row in operators:
        if row.bits != 8:
            continue
        chain, node = [row], graph[row.name]
        while node.args and isinstance(before := node.args[0], Node) and before.name in rows:
            if rows[before.name].bits is not None or len(before.users) != 1:
                break
            chain, node = [*chain, rows[before.name]], before
        named = [member for member in chain if not member.module or member.module in inner]
        modules = tuple(dict.fromkeys(member.module for member in chain if member not in named))
        nodes = tuple(dict.fromkeys(graph[member.name].meta.get(WHOLE, member.name) for member in named))
        if exported.issuperset(nodes):
            groups.setdefault((modules, nodes), []).append(row.name)
    return groups


Parameters = tuple[float, int, int, int]


def _roundings(converted: GraphModule) -> dict[str, Parameters]:
    """Scale, zero point and range of the integers that hold each node's result."""
    found: dict[str, Parameters] = {}
    for node in converted.graph.nodes:
        if is_dequantize(node) and isinstance(node.args[1], float):
            source = node.args[0].args[0] if isinstance(node.args[0], Node) and node.args[0].args else None
            if isinstance(source, Node):
                found.setdefault(source.name, tuple(node.args[1:5]))
    return found


class _Rounding(Interpreter):
    """The float graph, with the results of some nodes rounded to integers."""

    def __init__(self, module: GraphModule, rounding: dict[str, Parameters]) -> None:
        super().__init__(module)
        self.rounding = rounding
        self.elements = 0

    def outputs(self, sample: Sample) -> list[torch.Tensor]:
        args, kwargs = sample
        with torch.no_grad():
            return leaves(self.run(*tree_leaves((args, dict(kwargs))), enable_io_processing=False))

    def run_node(self, n: Node) -> Any:
        if n.op == "call_module" and n.name.startswith("activation_post_process"):
            return self.fetch_args_kwargs_from_env(n)[0][0]
        result = super().run_node(n)
        if n.name in self.rounding and isinstance(result, torch.Tensor):
            scale, zero, low, high = self.rounding[n.name]
            self.elements += result.numel()
            steps = torch.round(result / scale) + zero
            return (steps.clamp(low, high) - zero) * scale
        return result
