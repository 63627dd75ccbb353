"""Images of one channel as planes, whose columns are channels: Vela moves their rows as they lie in memory."""

from __future__ import annotations

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern

from .graph_parts import WORTH_ASKING

_MOVES = ("PAD", "SLICE")
#: The axes of an image in the order of a plane, [1, 1, height, width], whose columns are channels.
_PLANE = (0, 3, 1, 2)


def _moved(match: Match, move: Op, plane: Tensor) -> Tensor:
    """PAD or SLICE of a plane in place of an image."""

    def by_axis(shape: Tensor, each: int) -> Tensor:
        data = shape.data
        assert data is not None
        return match.graph.shape([int(n) for axis in _PLANE for n in data[each * axis : each * (axis + 1)]])

    if move.name == "PAD":
        return match.insert.like(move, plane, by_axis(move.inputs[1], 2), move.inputs[2])
    return match.insert.like(move, plane, by_axis(move.inputs[1], 1), by_axis(move.inputs[2], 1))


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
    plane = _moved(match, match.op, match.insert.reshape(image, 1, 1, *image.shape[1:3]))
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
    if move is not None and move.name in _MOVES and len(image.uses) == 1 and _no_plane(move) is None:
        return _moved(match, move, _plane(match, move.inputs[0]))
    return match.insert.reshape(image, 1, 1, *image.shape[1:3])


PLANE_MOVED = Choice("plane_moved", Pattern("|".join(_MOVES)), _as_plane, _not_plane)
PLANES_JOINED = Choice("planes_joined", Pattern("CONCAT"), _joined_planes, _not_planes)
