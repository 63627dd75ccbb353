"""What 16 bits cost per unit, by the estimate of the target.

An estimate takes seconds, so that only the units of small models are estimated one by one. Of others it is whole parts,
by the names of modules: the cost of a part is shared out among its units by the numbers that they round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .model import Model
from .roundings import Array, Noise
from .scheme import Scheme
from .units import Unit, Units

#: Parts that are estimated, at most.
_PARTS = 16


def unit_costs(model: Model, units: Units, noise: Noise, scheme: Scheme, figure: str) -> Array:
    """[units], of each what 16 bits cost beyond the scheme as it is."""
    base = model.quick_cost(scheme)[figure]
    parts = parts_of(units.all, _PARTS)
    read = noise.elements @ noise.needs
    costs = np.zeros(len(units.all))
    for done, part in enumerate(parts):
        model.progress("estimating layers", done, len(parts))
        cost = max(model.quick_cost(units.scheme(scheme, part))[figure] - base, 0.0)
        total = read[part].sum()
        costs[part] = cost * (read[part] / total if total else 1 / len(part))
    return costs


def parts_of(units: Sequence[Unit], most: int) -> list[list[int]]:
    """Parts of a model as positions of its units: ``most``, or as many as there are units.

    The largest part is divided by the names of its modules, again and again; where that makes too many, neighbours stay
    together. A unit in no module of its own, such as an addition, belongs to the part in front of it.
    """
    paths: list[list[str]] = []
    for unit in units:
        paths.append(unit.modules[0].split(".") if unit.modules else paths[-1] if paths else [])
    parts = [list(range(len(units)))]
    while len(parts) < min(most, len(units)):
        largest = max(range(len(parts)), key=lambda i: len(parts[i]))
        pieces = _pieces(parts[largest], paths)
        runs = np.array_split(np.arange(len(pieces)), min(len(pieces), most - len(parts) + 1))
        parts[largest : largest + 1] = [[i for piece in run for i in pieces[piece]] for run in runs]
    return parts


def _pieces(part: Sequence[int], paths: Sequence[Sequence[str]]) -> list[list[int]]:
    """A part divided by the first level of names that tells some of its units apart; by none: each unit."""
    for depth in range(1, max(len(paths[i]) for i in part) + 1):
        found: dict[tuple[str, ...], list[int]] = {}
        for i in part:
            found.setdefault(tuple(paths[i][:depth]), []).append(i)
        if len(found) > 1:
            return list(found.values())
    return [[i] for i in part]
