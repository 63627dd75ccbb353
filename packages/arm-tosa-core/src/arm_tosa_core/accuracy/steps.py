"""The steps from plain int8 to what costs more, in their order; the first recipe that keeps ends them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .model import OutOfTime
from .recipe import Recipe
from .search import search
from .search_result import Goal
from .trials import Trials
from .units import WIDE

PARTS = "parts in 16 bits"


@dataclass(frozen=True)
class Step:
    """One way to more accuracy.

    Args:
        name: as tables have it.
        costs: what it costs, in a few words.
        apply: gives the recipes to try.
        refused: why it does not apply; None if it does.
        share: of the time, the part that may be over when it ends: what follows has the rest.
    """

    name: str
    costs: str
    apply: Callable[[Trials], Iterator[Recipe]]
    refused: Callable[[Trials], str | None] = lambda trials: None
    share: float = 1.0


@dataclass(frozen=True)
class _Found:
    """What a search brought, in the cache."""

    recipes: list[Recipe] = field(default_factory=list)
    is_cut_short: bool = False


def _int8(_trials: Trials) -> Iterator[Recipe]:
    yield Recipe()


def _int16x8(_trials: Trials) -> Iterator[Recipe]:
    yield Recipe(WIDE)


def _parts(trials: Trials) -> Iterator[Recipe]:
    name = f"{PARTS} {trials.keep}"
    found = trials.model.memory.of(_Found, name, lambda: _search(trials), lambda found: not found.is_cut_short)
    if found.is_cut_short:
        trials.cut_short.append(PARTS)
        trials.until(math.inf)
    yield from found.recipes


def _search(trials: Trials) -> _Found:
    """The cheapest parts that keep it, else the best ones.

    Raises:
        OutOfTime: the time was over before any was found that keeps it.
    """
    model = trials.model
    int8 = trials.quantized(Recipe())
    found = search(model, int8, model.compare_for_search(int8), Goal(least=trials.least))
    if found.is_cut_short and found.chosen is None:
        raise OutOfTime
    points = [point for point in found.points if point.units and point.scheme.scheme != WIDE]
    best = found.chosen or max(points, key=lambda point: (point.value, -point.cost), default=None)
    # Where all in 16 bits is cheaper than parts, that is the next step.
    recipes = [] if best is None or best not in points else [Recipe.of(best.scheme)]
    return _Found(recipes, found.is_cut_short)


def _no_int16(trials: Trials) -> str | None:
    return None if trials.has_int16 else f"the target's {trials.model.spec.tosa_spec} has no int16"


def _no_search(trials: Trials) -> str | None:
    if why := _no_int16(trials):
        return why
    if not trials.has_cost:
        return f"target {trials.model.spec.target().name} estimates no cycles, by which parts are chosen"
    return None if trials.attempts[0].sqnr_db is not None else "the model has no real outputs, whose noise is measured"


STEPS = (
    Step("int8", "what int8 costs", _int8),
    Step(PARTS, "cycles and memory of these parts", _parts, _no_search, share=0.9),
    Step("int16x8", "1.2 to 16 times the cycles", _int16x8, _no_int16),
)
