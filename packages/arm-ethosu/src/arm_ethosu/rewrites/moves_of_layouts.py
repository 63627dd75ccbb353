"""SLICE, PAD and REVERSE behind a change of layout, where Vela is faster with it."""

from __future__ import annotations

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.operator_classes import MOVES_OF_IMAGES
from arm_tosa_core.tosa.pattern import Match, Pattern

from .graph_parts import WORTH_ASKING


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


_MOVES_OF_PLANES = ("PAD", "SLICE")
#: The axes of an image in the order of a plane, [1, 1, height, width], whose columns are channels.
_PLANE = (0, 3, 1, 2)


def _no_plane(op: Op) -> str | None:
    x, result = op.inputs[0], op.output
    if x.rank != 4 or x.shape[3] != 1 or result.shape[3] != 1 or x.shape[0] != 1 or result.shape[0] != 1:
        return "it is not one image with one channel"
    return None if all(shape.is_constant for shape in op.inputs[1:]) else "it is computed at run time"


def _not_plane(match: Match) -> str | None:
    small = max(match.op.inputs[0].size, match.op.output.size) < WORTH_ASKING
    return _no_plane(match.op) or ("it moves little" if small else None)


def _as_plane(match: Match) -> Tensor:
    """A PAD or SLICE of an image with one channel takes its columns for channels: rows lie in memory as they were."""
    image = match.op.inputs[0]
    plane = moved(match, match.op, match.insert.reshape(image, 1, 1, *image.shape[1:3]), _PLANE)
    return match.insert.reshape(plane, *match.op.output.shape)


def _not_planes(match: Match) -> str | None:
    op = match.op
    if op.output.rank != 4 or op.attrs["axis"] != 3 or op.output.shape[0] != 1 or len(op.inputs) < 2:
        return "it does not join the channels of an image"
    if any(part.shape[3] != 1 for part in op.inputs):
        return "not all parts have one channel"
    return "it moves little" if op.inputs[0].size < WORTH_ASKING else None


def _joined_planes(match: Match) -> Tensor:
    """A CONCAT of images with one channel each joins them one behind the other, and a TRANSPOSE makes them channels.

    What pads or cuts the images by itself does so as of planes.
    """
    insert = match.insert
    planes = [_plane(match, part) for part in match.op.inputs]
    return insert("TRANSPOSE", insert("CONCAT", *planes, axis=1), perms=(0, 2, 3, 1))


def _plane(match: Match, image: Tensor) -> Tensor:
    """An image with one channel as a plane, (1, 1, height, width)."""
    move = image.producer
    if move is not None and move.name in _MOVES_OF_PLANES and len(image.uses) == 1 and _no_plane(move) is None:
        return moved(match, move, _plane(match, move.inputs[0]), _PLANE)
    return match.insert.reshape(image, 1, 1, *image.shape[1:3])


PLANE_MOVED = Choice("plane_moved", Pattern("|".join(_MOVES_OF_PLANES)), _as_plane, _not_plane)
PLANES_JOINED = Choice("planes_joined", Pattern("CONCAT"), _joined_planes, _not_planes)
