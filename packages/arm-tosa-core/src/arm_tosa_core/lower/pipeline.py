"""A program to the target's payload: the stages after partitioning, in order."""

from __future__ import annotations

from torch.export import ExportedProgram

from ..plugin.target import Target
from ..rewrites import REWRITES
from ..support.errors import LoweringError
from ..tosa.graph import Graph
from ..tosa.rewrite import Rewrite, Stage
from ..tosa.verifier import verify
from .lowering import Lowering


def lower(program: ExportedProgram, target: Target) -> Graph:
    """Lowers a program, all of it, to a verified TOSA graph.

    Raises:
        LoweringError: an operator does not lower, or a rewrite broke the graph.
    """
    graph = Lowering(program, target).run()
    return legalize(graph, target)


#: Rounds over all operators: networks need two or three.
_MOST_ROUNDS = 1000


def legalize(graph: Graph, target: Target) -> Graph:
    """Runs the stages that work on TOSA: OPTIMIZE, LEGALIZE, VERIFY. Changes the graph in place.

    The rewrites of OPTIMIZE run again beside those of LEGALIZE, over what these make.
    """
    for op in graph.ops:
        for nested in (value for value in op.attrs.values() if isinstance(value, Graph)):
            legalize(nested, target)
    rewrites = [*REWRITES, *target.rewrites]
    for stage in (Stage.OPTIMIZE, Stage.LEGALIZE):
        run_rewrites(graph, [r for r in rewrites if r.stage <= stage])
    verify(graph, target.tosa_spec, target.checks)
    return graph


def run_rewrites(graph: Graph, rewrites: list[Rewrite]) -> None:
    """Tries the rewrites at every operator until none changes anything, then removes what is dead.

    Raises:
        LoweringError: they undo one another, or feed one another, without end.
    """
    graph.sweep()
    by_op: dict[str, list[Rewrite]] = {}
    for rewrite in sorted(rewrites, key=lambda r: r.name):
        for name in rewrite.ops or ("",):
            by_op.setdefault(name, []).append(rewrite)
    for _ in range(_MOST_ROUNDS):
        changed = {
            rewrite.name
            for op in list(graph.ops)
            for rewrite in [*by_op.get(op.name, ()), *by_op.get("", ())]
            if any(t.uses or t in graph.outputs for t in op.outputs) and rewrite.apply(graph, op)
        }
        if not changed:
            return
        graph.sweep()
    raise LoweringError(
        f"rewrites still change the graph after {_MOST_ROUNDS} rounds: {', '.join(sorted(changed))} "
        "(they undo or feed one another, which is a fault of theirs: report it, with the model)"
    )
