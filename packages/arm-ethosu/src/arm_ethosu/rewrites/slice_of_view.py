"""A SLICE whose result is read with more or fewer axes: Vela reads it with the axes that it had."""

from __future__ import annotations

from itertools import takewhile
from math import prod

import numpy as np

from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

_IMAGE = 4  # axes: of more, Vela takes the wrong ones


def leading_ones(shape: tuple[int, ...]) -> int:
    """How many axes of one element a shape begins with."""
    return sum(1 for _ in takewhile(lambda size: size == 1, shape))


def _check(match: Match) -> str | None:
    part, view = match["slice"].output.shape, match.op.output.shape
    if part[leading_ones(part) :] != view[leading_ones(view) :] or part == view:
        return "Vela copies the part"
    if match["slice"].inputs[1].data is None:
        return "it begins at an element that is computed"
    return None if max(len(part), len(view)) > _IMAGE else "Vela reads the right axes"


def _slice_of_view(match: Match) -> Tensor:
    """A RESHAPE behind a SLICE that adds or drops axes of one element at the start comes before it.

    Vela has the reader take the part from the whole tensor, with the axes of the whole. Axes that the SLICE takes one
    element of become one with the next.
    """
    x, start, _ = match["slice"].inputs
    view = match.op.output.shape
    assert start.data is not None
    first = [int(each) for each in start.data]
    joined = min(leading_ones(match["slice"].output.shape), x.rank - 1) + 1
    kept = x.rank - joined
    lead = len(view) - kept - 1
    at = int(np.ravel_multi_index(first[:joined], x.shape[:joined]))
    whole = match.insert.reshape(x, *[1] * lead, prod(x.shape[:joined]), *x.shape[joined:])
    begin = match.graph.shape([*[0] * lead, at, *first[joined:]])
    return match.insert("SLICE", whole, begin, match.graph.shape(view))


SLICE_OF_VIEW = pattern_rewrite(
    "slice_of_view", Stage.LEGALIZE, Pattern("RESHAPE", {0: Pattern("SLICE", name="slice")}), _slice_of_view, _check
)
