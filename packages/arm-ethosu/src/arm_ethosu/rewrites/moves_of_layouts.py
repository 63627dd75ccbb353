"""SLICE, PAD and REVERSE behind a change of layout, where Vela is faster with it."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.operator_classes import MOVES_OF_IMAGES
from arm_tosa_core.tosa.pattern import Match, Pattern

from .by_estimate import WORTH_ASKING, Choice


def _few(op: Op) -> str | None:
    """The reason not to ask the estimate about a mover; None: ask."""
    sizes = op.inputs[0].size, op.output.size
    if min(sizes) < WORTH_ASKING:
        return "it moves little"
    return "it changes what is moved too much" if 2 * min(sizes) < max(sizes) else None


def moved(match: Match, move: Op, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """SLICE, PAD or REVERSE of ``x``, whose axis ``i`` was the axis ``axes[i]`` of the former operand."""
    graph, insert = match.graph, match.insert
    if move.name == "REVERSE":
        return insert.like(move, x, axis=axes.index(move.attrs["axis"]))

    def by_axis(shape: Tensor, each: int) -> Tensor:
        data = shape.data
        assert data is not None
        return graph.shape([int(n) for axis in axes for n in data[each * axis : each * (axis + 1)]])

    if move.name == "PAD":
        return insert.like(move, x, by_axis(move.inputs[1], 2), move.inputs[2])
    return insert.like(move, x, by_axis(move.inputs[1], 1), by_axis(move.inputs[2], 1))


def _not_behind(match: Match) -> str | None:
    constant = all(shape.is_constant for shape in match["move"].inputs[1:])
    return _few(match["move"]) if constant else "it is computed at run time"


def _behind(match: Match) -> Tensor:
    """SLICE, PAD or REVERSE before a TRANSPOSE comes behind it.

    What reads an image reads a part of it for nothing. Rows and columns that no window of a convolution reaches are cut
    off in PyTorch's order of axes, for which Vela copies the whole image.
    """
    move, perms = match["move"], match.op.attrs["perms"]
    return moved(match, move, match.insert.like(match.op, move.inputs[0]), perms)


MOVE_BEHIND_LAYOUT = Choice(
    "move_behind_transpose",
    Pattern("TRANSPOSE", {0: Pattern("|".join(MOVES_OF_IMAGES), name="move", alone=True)}),
    _behind,
    _not_behind,
)
