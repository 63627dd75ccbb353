"""Runs rewrites: a worklist of the operators around which something changed, a log of what applied, and statistics.

All operators are looked at once. After that only those whose surroundings changed are, in data-flow order: so work is
proportional to the size of the graph and to what is rewritten in it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache

from ..support.errors import ArmTosaError, LoweringError, Rejected
from .graph import Graph
from .ir import Op
from .rewrite import Rewrite, Stage

logger = logging.getLogger("arm_tosa_core.rewrites")

#: Operators between a change and an operator that is looked at again, besides those that a rewrite looks through.
_NEAR = 2
#: Applications for each operator that a graph began with, and at least: networks need two or three.
_MOST_APPLICATIONS = 1000


@dataclass(frozen=True)
class Application:
    """One application of a rewrite.

    Args:
        op: the operator that it looked at. It may be dead now.
    """

    rewrite: Rewrite
    op: Op
    reason: str

    def __str__(self) -> str:
        origin = self.op.origin
        where = "" if origin is None else f" of {origin.node}" + (f", {origin.source}" if origin.source else "")
        return f"{self.rewrite.name} at {self.op.name}{where}: {self.reason}"


@dataclass
class Counts:
    """Of one rewrite: how often it was tried and how often it applied, and the CPU time of both in seconds.

    The time is 0 unless somebody observes, or logs at level DEBUG.
    """

    tried: int = 0
    applied: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        took = f", {self.seconds * 1e3:.1f} ms" if self.seconds else ""
        return f"applied {self.applied} times of {self.tried} tried{took}"


@dataclass
class Statistics:
    """Of one run: the operators that were looked at, each time counted, and counts by the name of the rewrite."""

    visited: int = 0
    rewrites: dict[str, Counts] = field(default_factory=dict)

    def __str__(self) -> str:
        """One line for each rewrite that applied, and one of the sum of all."""
        lines = [f"{name}: {counts}" for name, counts in sorted(self.rewrites.items()) if counts.applied]
        total = Counts()
        for counts in self.rewrites.values():
            total.tried += counts.tried
            total.applied += counts.applied
            total.seconds += counts.seconds
        return "\n".join([*lines, f"all: {total}; {self.visited} operators visited"])


class Observer:
    """What is told of the stages that work on TOSA graphs, within ``observed``."""

    def applied(self, graph: Graph, application: Application) -> None:
        """A rewrite was applied; operators that are dead now are still in the graph."""

    def finished(self, graph: Graph, stage: Stage, statistics: Statistics | None) -> None:
        """A stage is over. A stage without rewrites has no statistics."""


_observers: ContextVar[tuple[Observer, ...]] = ContextVar("observers", default=())


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Within it, ``observer`` is told of what this thread does to graphs."""
    token = _observers.set((*_observers.get(), observer))
    try:
        yield
    finally:
        _observers.reset(token)


def finish(graph: Graph, stage: Stage, statistics: Statistics | None = None) -> None:
    """Tells the observers that a stage is over."""
    for observer in _observers.get():
        observer.finished(graph, stage, statistics)


def run_rewrites(graph: Graph, rewrites: Sequence[Rewrite]) -> Statistics:
    """Tries the rewrites until none changes anything any more, and removes what is dead.

    Raises:
        LoweringError: one fails; or they undo one another, feed one another, or change the graph and deny it, without
            end.
    """
    graph.sweep()
    run = _Run(graph, sorted(rewrites, key=lambda r: r.name))
    graph.changes.recording = True
    try:
        run.until_nothing_changes()
    finally:
        graph.changes.take()
        graph.changes.recording = False
    logger.debug("%s", run.statistics)
    return run.statistics


class _Run:
    def __init__(self, graph: Graph, rewrites: Sequence[Rewrite]) -> None:
        self.graph = graph
        self.statistics = Statistics(rewrites={rewrite.name: Counts() for rewrite in rewrites})
        self.rewrites = rewrites
        self.rewrites_at = cache(self._rewrites_at)
        self.through = {rewrite.through for rewrite in rewrites}
        self.left = _MOST_APPLICATIONS * max(1, len(graph.ops))
        self.silent = 0  # generations in a row in which the graph changed and no rewrite said so
        self.observers = _observers.get()
        self.timed = bool(self.observers) or logger.isEnabledFor(logging.DEBUG)  # the clock costs as much as a try

    def _rewrites_at(self, name: str) -> list[Rewrite]:
        """Those of an operator, before those of all."""
        return sorted((r for r in self.rewrites if not r.ops or name in r.ops), key=lambda r: not r.ops)

    def until_nothing_changes(self) -> None:
        """One generation after the other: the operators around which the one before changed something."""
        waiting: dict[Op, set[frozenset[str]]] = dict.fromkeys(self.graph.ops, self.through)
        while waiting:
            left = self.left
            for op in sorted(waiting, key=lambda op: op.position):
                self._visit(op, waiting[op])
            changed = self.graph.changes.take()
            self.graph.sweep(sorted(changed, key=lambda op: op.position))
            changed |= self.graph.changes.take()
            waiting = {}
            if not changed:
                return
            self.silent = self.silent + 1 if self.left == left else 0
            for through in self.through:
                for op in filter(self.graph.is_read, _surroundings(changed, through)):
                    waiting.setdefault(op, set()).add(through)

    def _visit(self, op: Op, through: set[frozenset[str]]) -> None:
        """Tries the rewrites that look through the one or the other of these."""
        self.statistics.visited += 1
        for rewrite in self.rewrites_at(op.name):
            if rewrite.through in through and self.graph.is_read(op):
                self._try(rewrite, op)

    def _apply(self, rewrite: Rewrite, op: Op) -> bool | str:
        """What the rewrite says; an error says which rewrite it was, and where."""
        try:
            return rewrite.apply(self.graph, op)
        except (LoweringError, Rejected) as error:
            raise LoweringError(str(Application(rewrite, op, f"the rewrite fails: {error}"))) from error
        except (ArmTosaError, MemoryError):
            raise
        except Exception as error:
            text = f"the rewrite raised {type(error).__name__}: {error}"
            raise LoweringError(str(Application(rewrite, op, text))) from error

    def _try(self, rewrite: Rewrite, op: Op) -> None:
        counts = self.statistics.rewrites[rewrite.name]
        counts.tried += 1
        if self.timed:
            began = time.process_time()
            said = self._apply(rewrite, op)
            counts.seconds += time.process_time() - began
        else:
            said = self._apply(rewrite, op)
        if not said:
            if self.silent > 1 and self.graph.changes.take():
                problem = (
                    "it changed the graph and returned False, or a check of its pattern did, which would never end"
                )
                raise LoweringError(str(Application(rewrite, op, problem)))
            return
        self.silent = 0
        counts.applied += 1
        self.graph.changes.note(op, *op.outputs)
        application = Application(rewrite, op, said if isinstance(said, str) else rewrite.reason)
        if self.timed:
            logger.debug("%s", application)
        for observer in self.observers:
            observer.applied(self.graph, application)
        self.left -= 1
        if self.left == 0:
            self._raise_endless()

    def _raise_endless(self) -> None:
        applied = sorted(name for name, counts in self.statistics.rewrites.items() if counts.applied)
        count = sum(counts.applied for counts in self.statistics.rewrites.values())
        raise LoweringError(
            f"rewrites still change the graph after {count} applications: {', '.join(applied)} "
            "(they undo or feed one another, which is a fault of theirs: report it, with the model)"
        )


def _surroundings(ops: dict[Op, None], through: frozenset[str]) -> dict[Op, None]:
    """Operators that are ``_NEAR`` those given; operators of the names ``through`` do not count on the way."""
    found = dict(ops)
    border = list(ops)
    for _ in range(_NEAR):
        reached: list[Op] = []
        while border:
            op = border.pop()
            for neighbour in _neighbours(op):
                if neighbour not in found:
                    found[neighbour] = None
                    (border if neighbour.name in through else reached).append(neighbour)
        border = reached
    return found


def _neighbours(op: Op) -> Iterator[Op]:
    for tensor in op.inputs:
        if tensor.producer is not None:
            yield tensor.producer
        elif not tensor.is_constant:  # an input of the graph, which has no operator to go through
            yield from tensor.uses.operators()
    for tensor in op.outputs:
        yield from tensor.uses.operators()
