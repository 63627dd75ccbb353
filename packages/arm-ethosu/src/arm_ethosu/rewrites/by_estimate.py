"""Rewrites that are made only where Vela's estimate of the operators around is lower with them."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from arm_tosa_core.rewrites import REWRITES
from arm_tosa_core.support.errors import LoweringError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.pattern import Match, Pattern, Replacement, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Rewrite, Stage
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.verifier import Check, verify

from .. import estimate_cache
from ..estimate_cache import Estimate
from .graph_parts import BETWEEN, around, part

#: Elements from which on moving them in another way is worth asking Vela about.
WORTH_ASKING = 4096

_KIND, _NONE = "ethos-u-choices", -1


@dataclass(frozen=True)
class Choice:
    """A rewrite for the estimate to choose, as pattern, replacement and check.

    The check must leave few matches: about each that is new Vela is asked twice, for a third of a second of CPU time.

    Args:
        around: the operators that Vela is asked about, in order: all that the rewrite changes are among them.
        stage: before LEGALIZE gives operators other forms, in which most patterns are not found.
        margin: what must be gained at least, as a part of the cycles, where the operators around tell the whole's
            schedule only roughly.
        together: whether it is rated as made at all operators around where it is possible.
    """

    name: str
    pattern: Pattern
    replacement: Replacement
    check: Callable[[Match], str | None]
    around: Callable[[Graph, Op], list[Op]] = around
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

        return pattern_rewrite(self.name, self.stage, self.pattern, self.replacement, check, BETWEEN)


@dataclass(frozen=True)
class Estimator:
    """What an accelerator takes of an operator and those around it, by the estimate.

    Args:
        others: rewrites without a choice, which all forms undergo before Vela is asked.
    """

    estimate: Estimate
    spec: TosaSpecification
    checks: Sequence[Check]
    others: Sequence[Rewrite]
    _known: dict[str, Choice | None] = field(default_factory=dict, compare=False, repr=False)

    def cheapest(self, graph: Graph, op: Op, alternatives: Sequence[Choice]) -> Choice | None:
        """Of the choices that are best made at an operator the one to begin with; None: none is faster.

        Layers of equal shapes have the same answer, which is looked for once, and kept on disk.
        """
        small, copies = part(graph, alternatives[0].around(graph, op))
        names = [*(choice.name for choice in alternatives), *(rewrite.name for rewrite in self.others)]
        depends = {**self.estimate.options, "at": list(copies).index(op), "of": names, "by": estimate_cache.sources()}
        key = estimate_cache.key(serialize(small, self.spec), depends)
        if key is None:
            return None  # there is no Vela to ask
        if key not in self._known:
            self._known[key] = self._kept(key, graph, op, alternatives)
        return self._known[key]

    def _kept(self, key: str, graph: Graph, op: Op, alternatives: Sequence[Choice]) -> Choice | None:
        """The answer that is kept on disk, or is found. It is kept unless Vela refuses a form, or takes too long."""
        number = estimate_cache.read(_KIND, key)
        if number is not None and number in range(_NONE, len(alternatives)):
            return None if number == _NONE else alternatives[int(number)]
        forms = [(first, tosa) for first, tosa in self._forms(graph, op, alternatives) if tosa is not None]
        cycles = self.estimate.cycles([tosa for _, tosa in forms])
        best = _best([first for first, _ in forms], cycles)
        if None not in cycles:
            estimate_cache.keep(_KIND, key, _NONE if best is None else alternatives.index(best))
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
        small, copies = part(graph, alternative.around(graph, op))
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
