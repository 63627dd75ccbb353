"""Pools right behind a convolution, which Vela may compute together in stripes."""

from __future__ import annotations

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern

from .beyond_registers import padded_before
from .by_estimate import WORTH_ASKING, Choice
from .graph_parts import around


def _small(match: Match) -> str | None:
    if not any(match.op.attrs["pad"]):
        return "it pads nothing"
    return "it is too small to ask about" if match.op.output.size < WORTH_ASKING else None


def _apart(match: Match) -> Tensor:
    """The padding of a pool behind a convolution becomes a PAD between them.

    It ends the stripes in which Vela computes both, for which the convolution reads rows of its image several times.
    """
    return padded_before(match)


def _with_convolution(graph: Graph, op: Op) -> list[Op]:
    rescale = op.inputs[0].producer
    assert rescale is not None
    convolution = rescale.inputs[0].producer
    assert convolution is not None
    return [*around(graph, convolution), *around(graph, op)]


POOL_APART = Choice(
    "pool_apart",
    Pattern("MAX_POOL2D", {0: Pattern("RESCALE", {0: Pattern("CONV2D")}, alone=True)}),
    _apart,
    _small,
    around=_with_convolution,
)
