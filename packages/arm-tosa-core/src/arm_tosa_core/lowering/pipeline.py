"""A program to the target's payload: the stages after partitioning, in order."""

from __future__ import annotations

from torch.export import ExportedProgram

from ..plugin.target import Target
from ..rewrites import REWRITES
from ..tosa.graph import Graph
from ..tosa.rewrite import Stage
from ..tosa.rewrite_engine import finish, run_rewrites
from ..tosa.verifier import verify
from .lowering import Lowering


def lower(program: ExportedProgram, target: Target) -> Graph:
    """Lowers a program, all of it, to a verified TOSA graph.

    Raises:
        LoweringError: an operator does not lower, or a rewrite broke the graph.
    """
    graph = Lowering(program, target).run()
    return legalize(graph, target)


def legalize(graph: Graph, target: Target) -> Graph:
    """Runs the stages that work on TOSA: OPTIMIZE, LEGALIZE, VERIFY. Changes the graph in place.

    The rewrites of OPTIMIZE run again beside those of LEGALIZE, over what these make.
    """
    for op in graph.ops:
        for nested in (value for value in op.attrs.values() if isinstance(value, Graph)):
            legalize(nested, target)
    rewrites = [*REWRITES, *target.rewrites]
    finish(graph, Stage.LOWER)
    for stage in (Stage.OPTIMIZE, Stage.LEGALIZE):
        finish(graph, stage, run_rewrites(graph, [r for r in rewrites if r.stage <= stage]))
    verify(graph, target.tosa_spec, target.checks)
    return graph
