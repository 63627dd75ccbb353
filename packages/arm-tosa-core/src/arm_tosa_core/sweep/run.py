"""A sweep: points are taken in order, given to an engine, and noted, until there are enough."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from ..exir.provenance import of_installation
from ..support.errors import UsageError
from .engine import Done, Engine
from .evaluate import evaluate, guarded, identify
from .journal import Journal, Trial
from .limits import Limits
from .point import Evaluation, Failure, Group, Outcome, Parameters, Point, Result
from .sources import Sources
from .space import Space
from .study_folder import QUANTIZED

#: So many points that fail alike, and none that does not, are enough.
_ALIKE = 5

#: Called with how many points are done, and how many are wanted.
Progress = Callable[[int, int], None]


def silent(_count: int, _total: int) -> None:
    """No progress."""


def compare(space: Space, sources: Sources, folder: Path, progress: Progress = silent) -> list[Result]:
    """Every point of a space, in this process, in order; only quantized programs are kept, in ``folder``.

    Raises:
        UsageError: the first points all fail alike.
    """
    results: list[Result] = []
    failures = _Failures(len(space))
    for point in space:
        progress(len(results), len(space))
        outcome: Outcome = guarded(evaluate, sources, str(folder), point)
        results.append(Result(point, outcome))
        failures.note(point, outcome)
    progress(len(results), len(space))
    return results


def sweep(
    space: Space,
    sources: Sources,
    folder: Path,
    engine: Engine,
    *,
    limits: Limits,
    judged: bool,
    most: int,
    progress: Progress = silent,
) -> list[Result]:
    """As many points of a space as asked for, or the whole space if it has no more.

    Args:
        folder: keeps the results; a point with a result there is skipped.
        engine: does the work; it is closed at the end.
        judged: the sources have data to judge the accuracy with.

    Raises:
        UsageError: as ``Journal``; the model is no longer that of earlier results; or the first points fail alike.
    """
    origin = hashlib.sha256("\n".join([sources.digest(), *of_installation()]).encode()).hexdigest()
    try:
        journal = Journal(folder, space, origin, limits, judged=judged)
        try:
            order: Order = All(space) if len(space) <= most else Proposed(space, journal, most)
            return _Run(space, sources, folder, engine, journal, origin).through(order, progress)
        finally:
            journal.close()
    finally:
        engine.close()


class _Run:
    """One run of a sweep; results and running points by the digests of points."""

    def __init__(
        self, space: Space, sources: Sources, folder: Path, engine: Engine, notes: Journal, origin: str
    ) -> None:
        self._space, self._sources, self._folder = space, sources, str(folder / QUANTIZED)
        self._engine, self._notes, self._origin = engine, notes, origin
        self._results: dict[str, Result] = {}
        self._running: dict[str, Trial] = {}
        #: Parameters of programs that are being looked at, or still to be.
        self._looking: set[Parameters] = set()
        self._unseen = [parameters for parameters in space.all_parameters() if notes.program(parameters) is not None]
        self._failures = _Failures(len(space))

    def through(self, order: Order, progress: Progress) -> list[Result]:
        """Works through an order; the results in the order of the points."""
        try:
            while True:
                while self._engine.free and self._start(order):
                    progress(len(self._results), order.total)
                if not (self._running or self._looking):
                    return list(self._results.values())
                self._end(self._engine.next())
                progress(len(self._results), order.total)
        finally:
            for trial in self._running.values():
                self._notes.drop(trial)

    def _start(self, order: Order) -> bool:
        """Starts the next point; False if there is none."""
        if self._unseen:
            parameters = self._unseen.pop()
            self._looking.add(parameters)
            self._engine.start(parameters, identify, self._sources, parameters)
            return True
        turn = order.next(Counter(trial.point.group for trial in self._running.values()))
        if turn is None:
            return False
        point = turn.point if isinstance(turn, Trial) else turn
        unfit = self._space.unfit.get((point.target, point.options))
        if unfit is not None:
            self._settle(turn, str(point), Failure(unfit))
            return True
        digest = point.digest(self._origin)
        if digest in self._results:  # the same in other words
            self._drop(turn)
        elif (outcome := self._notes.outcomes.get(digest)) is not None:
            self._settle(turn, digest, outcome)
        else:
            trial = turn if isinstance(turn, Trial) else self._notes.begin(point)
            self._results[digest] = Result(point, Failure("it is being worked on"))  # keeps its place
            self._running[digest] = trial
            self._engine.start(digest, evaluate, self._sources, self._folder, point)
        return True

    def _end(self, work: Done) -> None:
        if isinstance(work.name, tuple):
            self._looking.remove(work.name)
            if not isinstance(work.value, Failure):
                self._require_program(work.name, work.value)
            return
        outcome: Outcome = work.value
        trial = self._running.pop(work.name)
        self._settle(trial, work.name, outcome)
        if isinstance(outcome, Evaluation):
            self._require_program(trial.point.parameters, outcome.program)
        self._failures.note(trial.point, outcome)

    def _settle(self, turn: Point | Trial, digest: str, outcome: Outcome) -> None:
        point = turn.point if isinstance(turn, Trial) else turn
        self._results[digest] = Result(point, outcome)
        if isinstance(turn, Trial):
            self._notes.end(turn, digest, outcome)

    def _drop(self, turn: Point | Trial) -> None:
        if isinstance(turn, Trial):
            self._notes.drop(turn)

    def _require_program(self, parameters: Parameters, digest: str | None) -> None:
        """Notes a program, or makes sure that it is the one of earlier results."""
        before = self._notes.program(parameters)
        if before is None and digest is not None:
            self._notes.remember_program(parameters, digest)
        elif before != digest:
            raise UsageError(
                f"the model is not the one whose results are in {Path(self._folder).parent}, though its file is: "
                "its weights may come from another file: give another --study, or delete that folder"
            )


class _Failures:
    """Why points failed, as long as none has been worked out."""

    def __init__(self, points: int) -> None:
        self._enough, self._worked = min(_ALIKE, points), False
        #: By the work of a point: of many chips that are alike, one says as much as all.
        self._reasons: dict[object, str] = {}

    def note(self, point: Point, outcome: Outcome) -> None:
        """Gives up if all points fail alike: the fault is then in their common model or data."""
        if self._worked or isinstance(outcome, Evaluation):
            self._worked = True
            return
        self._reasons[point.work] = outcome.reason
        if len(self._reasons) >= self._enough and len(set(self._reasons.values())) == 1:
            raise UsageError(f"every point that was tried fails alike: {outcome.reason}")


class Order(Protocol):
    """Chooses the next point.

    Args:
        total: how many there will be.
    """

    total: int

    def next(self, running: Counter[Group]) -> Point | Trial | None:
        """The next point, with its trial if it has one; None at the end.

        Args:
            running: how many points of each group are being worked on.
        """


class All:
    """Every point; workers run points of different quantized programs, so that no two quantize the same one."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._waiting: dict[Group, deque[Point]] = {}
        for point in points:
            self._waiting.setdefault(point.group, deque()).append(point)
        self.total = sum(map(len, self._waiting.values()))

    def next(self, running: Counter[Group]) -> Point | None:
        """The first point of the group that is worked on least."""
        if not self._waiting:
            return None
        group = min(self._waiting, key=running.__getitem__)
        point = self._waiting[group].popleft()
        if not self._waiting[group]:
            del self._waiting[group]
        return point


class Proposed:
    """The sampler's proposals up to a count; any other point replaces a proposal that was tried already."""

    def __init__(self, space: Space, journal: Journal, count: int) -> None:
        self._journal, self.total, self._remaining = journal, count, count
        self._seen: set[Point] = set()
        self._space = space
        self._random = random.Random(0)

    def next(self, running: Counter[Group]) -> Point | Trial | None:
        """The next proposal."""
        if self._remaining == 0:
            return None
        self._remaining -= 1
        trial = self._journal.propose()
        if trial.point not in self._seen:
            self._seen.add(trial.point)
            return trial
        self._journal.drop(trial)
        point = next(point for point in iter(self._any, None) if point not in self._seen)
        self._seen.add(point)
        return point

    def _any(self) -> Point:
        return self._space.any(self._random)
