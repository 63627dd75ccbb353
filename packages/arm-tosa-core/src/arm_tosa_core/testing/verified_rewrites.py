"""Has the verifier judge graphs between rewrites, so that a fault names the rewrite that made it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..support.errors import LoweringError
from ..tosa.graph import Graph
from ..tosa.rewrite_engine import Application, Observer, observed
from ..tosa.verifier import verify

#: Operators of a graph for which one application is let pass unverified: a large graph is not verified each time.
_OPERATORS_PER_APPLICATION = 100


class _Verifier(Observer):
    def __init__(self) -> None:
        self.since: list[Application] = []  # the last time that the graph was sound

    def applied(self, graph: Graph, application: Application) -> None:
        self.since.append(application)
        if len(self.since) * _OPERATORS_PER_APPLICATION < len(graph.ops):
            return
        suspects, self.since = self.since, []
        try:
            verify(graph)
        except LoweringError as error:
            raise LoweringError(f"broken by {'; or '.join(map(str, suspects))}: {error}") from error


@contextmanager
def verified_rewrites() -> Iterator[None]:
    """Within it, a rewrite that leaves an unsound graph raises LoweringError, which names the rewrite and the fault.

    Graphs of up to 100 operators are verified after each application, larger ones after as many as they have hundreds.
    """
    with observed(_Verifier()):
        yield
