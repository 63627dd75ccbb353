"""Rewrites that are made only where the estimate of the operators around is lower with them."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from ..support import kept_figures
from ..support.cache_folder import digest_of_sources
from ..support.errors import LoweringError
from ..tosa.graph import Graph
from ..tosa.ir import Op
from ..tosa.pattern import AnyOf, Match, Pattern, Replacement, pattern_rewrite
from ..tosa.rewrite import Rewrite, Stage
from ..tosa.rewrite_engine import run_rewrites
from ..tosa.serializer import serialize
from ..tosa.specification import TosaSpecification
from ..tosa.verifier import Check, verify
from . import REWRITES
from .cycle_estimate import CycleEstimate
from .graph_parts import Surroundings

_NONE = -1
Around = Callable[[Graph, Op], list[Op]]


@dataclass(frozen=True)
class Choice:
    """A rewrite for the estimate to choose, as pattern, replacement and check.

    The check must leave few matches: about each that is new the estimate is asked twice, which may take a third of a
    second of CPU time.

    Args:
        around: the operators that the estimate is asked about, in order: all that the rewrite changes are among them.
            None: as of ``Surroundings.around``.
        stage: before LEGALIZE gives operators other forms, in which most patterns are not found.
        margin: what must be gained at least, as a part of the cycles, where the operators around tell the whole's
            schedule only roughly.
        together: whether it is rated as made at all operators around where it is possible.
    """

    name: str
    pattern: Pattern | AnyOf
    replacement: Replacement
    check: Callable[[Match], str | None]
    around: Around | None = None
    stage: Stage = Stage.OPTIMIZE
    margin: float = 0.0
    together: bool = False

    @property
    def always(self) -> Rewrite:
        """The rewrite wherever it is possible."""
        return pattern_rewrite(self.name, self.stage, self.pattern, self.replacement, self.check)

    def if_cheaper(self, estimator: Estimator, choices: Sequence[Choice]) -> Rewrite:
        """The rewrite where the estimate is lower with it than without, and with what else may be chosen there.

        Args:
            choices: all of the accelerator. Those of the same pattern and operators around are alternatives: one
                may help less than another, or only before another.
        """
        alternatives = [choice for choice in choices if (choice.pattern, choice.around) == (self.pattern, self.around)]

        def check(match: Match) -> str | None:
            if (reason := self.check(match)) is not None:
                return reason
            return None if estimator.cheapest(match.graph, match.op, alternatives) is self else "it is not faster"

        return pattern_rewrite(self.name, self.stage, self.pattern, self.replacement, check, estimator.seen.between)


@dataclass(frozen=True)
class Estimator:
    """What a device takes for an operator and those around it, by an estimate.

    Args:
        estimate: the tool.
        spec, checks: of the target.
        others: rewrites without a choice, which all forms undergo before the tool is asked.
        seen: what the tool must see of the operators around.
    """

    estimate: CycleEstimate
    spec: TosaSpecification
    checks: Sequence[Check]
    others: Sequence[Rewrite]
    seen: Surroundings
    _known: dict[str, Choice | None] = field(default_factory=dict, compare=False, repr=False)

    def cheapest(self, graph: Graph, op: Op, alternatives: Sequence[Choice]) -> Choice | None:
        """Of the choices that are best made at an operator the one to begin with; None: none is faster.

        Layers of equal shapes have the same answer, which is looked for once, and kept on disk.
        """
        small, copies = self._part(graph, op, alternatives[0])
        names = [*(choice.name for choice in alternatives), *(rewrite.name for rewrite in self.others)]
        sources = digest_of_sources(*self.estimate.packages, "arm_tosa_core")
        depends = {"at": list(copies).index(op), "of": names, "by": sources}
        key = self.estimate.key(serialize(small, self.spec), depends)
        if key is None:
            return None  # there is no tool to ask
        if key not in self._known:
            self._known[key] = self._kept(key, graph, op, alternatives)
        return self._known[key]

    def _part(self, graph: Graph, op: Op, choice: Choice) -> tuple[Graph, dict[Op, Op]]:
        """What the tool is asked about."""
        return self.seen.part(graph, (choice.around or self.seen.around)(graph, op))

    def _kept(self, key: str, graph: Graph, op: Op, alternatives: Sequence[Choice]) -> Choice | None:
        """The answer that is kept on disk, or is found. It is kept unless a form is refused, or takes too long."""
        kind = f"{self.estimate.name}-choices"
        number = kept_figures.read(kind, key)
        if number is not None and number in range(_NONE, len(alternatives)):
            return None if number == _NONE else alternatives[int(number)]
        forms = [(first, tosa) for first, tosa in self._forms(graph, op, alternatives) if tosa is not None]
        cycles = self.estimate.cycles([tosa for _, tosa in forms])
        best = _best([first for first, _ in forms], cycles)
        if None not in cycles:
            kept_figures.keep(kind, key, _NONE if best is None else alternatives.index(best))
        return best

    def _forms(
        self, graph: Graph, op: Op, alternatives: Sequence[Choice]
    ) -> Iterator[tuple[Choice | None, bytes | None]]:
        """The operators as they are, and as each choice leaves them, alone and with others behind it."""
        yield None, self._form(graph, op, alternatives[0], None, ())
        for first in alternatives:
            others = [choice for choice in alternatives if choice is not first]
            for count in range(len(others) + 1):
                for behind in combinations(others, count):
                    everywhere = (first,) if first.together else ()
                    yield first, self._form(graph, op, first, first, (*everywhere, *behind))

    def _form(
        self, graph: Graph, op: Op, alternative: Choice, first: Choice | None, behind: Sequence[Choice]
    ) -> bytes | None:
        """One form as a flatbuffer; None where the choice is not possible, or the operators do not stand alone."""
        small, copies = self._part(graph, op, alternative)
        if first is not None and not first.always.apply(small, copies[op]):
            return None

        def run() -> None:
            run_rewrites(small, [*REWRITES, *(choice.always for choice in behind)])
            run_rewrites(small, [*REWRITES, *self.others])

        try:
            contextvars.Context().run(run)  # of its own: who observes the rewrites of a program is not told
            verify(small, self.spec, self.checks)
        except LoweringError:
            return None
        return serialize(small, self.spec)


def _best(firsts: Sequence[Choice | None], cycles: Sequence[float | None]) -> Choice | None:
    """What the form with the fewest cycles begins with; None: it is the operators as they are, or nothing is known."""
    if not firsts or firsts[0] is not None or (unchanged := cycles[0]) is None:
        return None  # nothing is known of the operators as they are
    rated = [
        (figure, first)
        for figure, first in zip(cycles, firsts, strict=True)
        if figure is not None and (first is None or figure < unchanged * (1 - first.margin))
    ]
    return min(rated, key=lambda row: row[0])[1]  # of equal ones the first
