"""Recipes that are tried: quantized, judged, their cost estimated; what was measured is kept on disk by its content."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..exir.provenance import of_installation, of_spec
from ..flow.fingerprint import program_fingerprint
from ..support.errors import UsageError
from .memory import Memory
from .model import Model, OutOfTime, Progress, Quantized
from .recipe import Recipe, digest_of
from .verdict import Verdict, judged, least_of

#: What a target's estimate calls the figure that decides which is cheaper.
CYCLES = "cycles"


@dataclass(frozen=True)
class Attempt:
    """A recipe that was tried.

    Args:
        step: which brought it.
        recipe: how the model was quantized.
        verdict: what the judge says.
        sqnr_db: of the worst output that is real numbers; None if there is none.
        cost: what the target estimates, such as ``cycles`` and ``sram_kib``; None if it estimates nothing.
        seconds: that its step took until then, by the search's ``Clock``.
    """

    step: str
    recipe: Recipe
    verdict: Verdict
    sqnr_db: float | None
    cost: dict[str, float] | None
    seconds: float

    @property
    def cycles(self) -> float:
        """By the target's estimate; infinite without one."""
        return math.inf if self.cost is None else self.cost.get(CYCLES, math.inf)


class Trials:
    """What was tried of a model, and the judge of it.

    Args:
        model: with the data to judge with, and the metric.
        keep: the part of the float model's figure that must be kept.
        identity: names the metric and its labels, for the files in the cache; None: nothing is read or written there.
        tried: called with each recipe behind its trial.
    """

    def __init__(
        self, model: Model, keep: float, identity: str | None, tried: Callable[[Attempt], None] = lambda attempt: None
    ) -> None:
        self.model, self.keep, self._tried = model, keep, tried
        self.attempts: list[Attempt] = []
        self._made: tuple[Recipe, Quantized] | None = None
        self._limit = math.inf
        self._begun = model.clock.seconds()
        #: Steps whose time was over before they had tried all, and which gave the best that they had.
        self.cut_short: list[str] = []
        self._shown: Progress = model.progress
        model.progress = self._progress
        digest = program_fingerprint(model.program)
        if identity is not None and digest is not None:
            data = (digest_of(model.calibration), digest_of(model.evaluation))
            model.memory = Memory("|".join([digest, *data, identity, *of_spec(model.spec), *of_installation()]))

    def _progress(self, what: str, step: int, steps: int) -> None:
        if self.model.clock.seconds() > self._limit:
            raise OutOfTime
        self._shown(what, step, steps)

    def until(self, limit: float) -> None:
        """Lets what follows raise ``OutOfTime`` from this second of the model's clock on."""
        self._limit = limit

    @property
    def least(self) -> float:
        """What the search must reach: of the metric, or the SQNR of the worst output in dB.

        Raises:
            UsageError: nothing was tried yet.
        """
        if self.model.metric is None:
            return -10 * math.log10(1 - self.keep)
        if not self.attempts:
            raise UsageError("int8 is tried first")
        return least_of(self.attempts[0].verdict.float_value, self.keep)

    @property
    def has_cost(self) -> bool:
        """Whether the target estimates cycles."""
        return bool(self.attempts) and math.isfinite(self.attempts[0].cycles)

    @property
    def has_int16(self) -> bool:
        """Whether the target computes in 16 bits."""
        return self.model.spec.tosa_spec.support_extension("int16")

    def quantized(self, recipe: Recipe) -> Quantized:
        """The model by a recipe; the last one is kept."""
        if self._made is None or self._made[0] != recipe:
            self._made = recipe, self.model.quantize(recipe.as_scheme())
        return self._made[1]

    def try_(self, step: str, recipe: Recipe) -> Attempt:
        """Makes, judges and estimates a recipe, or finds in the cache what was measured of it."""
        name = f"attempt {self.keep} {recipe}"
        attempt = self.model.memory.of(Attempt, name, lambda: self._measured(step, recipe))
        self.attempts.append(attempt)
        self._begun = self.model.clock.seconds()
        self._tried(attempt)
        return attempt

    def _measured(self, step: str, recipe: Recipe) -> Attempt:
        quantized = self.quantized(recipe)
        compared = self.model.compare(quantized, operators=False)
        cost = self._cost(quantized)
        verdict = judged(compared, self.model.metric, self.keep)
        sqnr = compared.sqnr_db
        return Attempt(step, recipe, verdict, sqnr, cost, self.model.clock.seconds() - self._begun)

    def _cost(self, quantized: Quantized) -> dict[str, float] | None:
        if self.model.spec.target().report.estimate is None:
            return None
        found: Mapping[str, float] = self.model.cost(quantized)
        return {name: float(number) for name, number in found.items()}
