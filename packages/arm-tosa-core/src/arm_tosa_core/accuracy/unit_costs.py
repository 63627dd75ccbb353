"""What 16 bits cost per unit, by the estimate of the target."""

from __future__ import annotations

import numpy as np

from .model import Model
from .plans import Costs
from .roundings import Noise
from .scheme import Scheme
from .units import Units

#: In models of more units, what all cost together is shared out by the numbers that are rounded: an estimate takes
#: about a second.
_ESTIMATED = 40


def unit_costs(model: Model, units: Units, noise: Noise, scheme: Scheme, figure: str) -> Costs:
    """The cost of each unit, and what neighbours save: so that none and all cost what the target estimates of them."""
    count = len(units.all)
    base = model.quick_cost(scheme)[figure]
    together = model.quick_cost(units.scheme(scheme, range(count)))[figure] - base
    read = noise.elements @ noise.needs
    if count > _ESTIMATED:
        return Costs(max(together, 0.0) * read / max(read.sum(), 1.0), np.zeros((0, 2), np.int64), np.zeros(0))
    alone = np.zeros(count)
    for i in range(count):
        model.progress("estimating layers", i, count)
        alone[i] = max(model.quick_cost(units.scheme(scheme, [i]))[figure] - base, 0.0)
    shared = np.flatnonzero(noise.needs.sum(1) == 2)
    pairs = np.array([np.flatnonzero(noise.needs[r]) for r in shared], np.int64).reshape(-1, 2)
    moved = noise.elements[shared]
    excess = alone.sum() - together
    return Costs(alone, pairs, excess * moved / moved.sum() if len(shared) else np.zeros(0))
