"""A program to a verified TOSA graph: the stages of a region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch.export import ExportedProgram

from ..plugin.target import Symbol, Target
from ..rewrites import REWRITES
from ..tosa.graph import Graph
from ..tosa.rewrite import REWRITING, Stage
from ..tosa.rewrite_engine import finish, run_rewrites
from ..tosa.verifier import verify
from .lowering import Lowering


@dataclass
class Network:
    """What a payload is made of: a verified TOSA graph.

    Args:
        graph: at the largest sizes, if sizes vary.
        symbols: what sizes depend on; none if they are fixed.
        samples: at least one, where there are symbols: values of them, and the graph for these.
    """

    graph: Graph
    symbols: tuple[Symbol, ...] = ()
    samples: list[tuple[Mapping[str, int], Graph]] = field(default_factory=list)


def lower(program: ExportedProgram, target: Target) -> Graph:
    """Lowers a program, all of it, to a verified TOSA graph.

    Raises:
        LoweringError: an operator does not lower, or a rewrite broke the graph.
    """
    graph = Lowering(program, target).run()
    return legalize(graph, target)


def legalize(graph: Graph, target: Target) -> Graph:
    """Runs the stages after PARTITION on a graph, and changes it in place.

    In each stage the rewrites of earlier ones run again, over what its own make.
    """
    for op in graph.ops:
        for nested in (value for value in op.attrs.values() if isinstance(value, Graph)):
            legalize(nested, target)
    rewrites = [*REWRITES, *target.rewrites]
    finish(graph, Stage.LOWER)
    for stage in REWRITING:
        finish(graph, stage, run_rewrites(graph, [r for r in rewrites if r.stage <= stage]))
    verify(graph, target.tosa_spec, target.checks)
    return graph
