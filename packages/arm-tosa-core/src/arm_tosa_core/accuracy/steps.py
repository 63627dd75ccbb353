"""The steps from plain int8 to what costs more, in their order; the first recipe that keeps ends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .recipe import Recipe
from .search import search
from .search_result import Goal
from .trials import Trials
from .units import WIDE


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


def _int8(_trials: Trials) -> Iterator[Recipe]:
    yield Recipe()


def _int16x8(_trials: Trials) -> Iterator[Recipe]:
    yield Recipe(WIDE)


def _parts(trials: Trials) -> Iterator[Recipe]:
    yield from trials.remembered(_Found, "parts in 16 bits", lambda: _search(trials)).recipes


def _search(trials: Trials) -> _Found:
    model = trials.model
    int8 = trials.quantized(Recipe())
    found = search(model, int8, model.compare(int8), Goal(least=trials.least))
    points = [point for point in found.points if point.units and point.scheme.scheme != WIDE]
    best = found.chosen or max(points, key=lambda point: (point.value, -point.cost), default=None)
    # Where all in 16 bits is cheaper than parts, that is the next step.
    return _Found([] if best is None or best not in points else [Recipe.of(best.scheme)])


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
    Step("parts in 16 bits", "cycles and memory of these parts", _parts, _no_search, share=0.9),
    Step("int16x8", "1.2 to 16 times the cycles", _int16x8, _no_int16),
)
