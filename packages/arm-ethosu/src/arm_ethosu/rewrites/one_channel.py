"""Copies of images with one channel: Vela moves them an element at a time, where a row of them moves at once."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from .by_estimate import Choice

#: Elements from which on a copy of them is worth asking about.
_MANY = 4096


def _not_plane(match: Match) -> str | None:
    x, made = match.op.inputs[0], match.op.output
    if x.rank != 4 or x.shape[3] != 1 or made.shape[3] != 1 or x.shape[0] != 1 or made.shape[0] != 1:
        return "it is not one image with one channel"
    if not all(shape.is_constant for shape in match.op.inputs[1:]):
        return "it is computed at run time"
    return "it moves little" if max(x.size, made.size) < _MANY else None


def _as_plane(match: Match) -> Tensor:
    """A PAD or SLICE of an image with one channel takes its columns for channels: rows lie in memory as they were."""
    op, insert, graph = match.op, match.insert, match.graph
    image, *rest = op.inputs
    plane = insert.reshape(image, 1, 1, *image.shape[1:3])
    each = 2 if op.name == "PAD" else 1

    def moved(shape: Tensor) -> Tensor:
        data = shape.data
        assert data is not None
        numbers = [int(n) for n in data]
        return graph.shape([*numbers[:each], *numbers[3 * each :], *numbers[each : 3 * each]])

    arguments = [moved(rest[0]), rest[1]] if op.name == "PAD" else [moved(shape) for shape in rest]
    return insert.reshape(insert.like(op, plane, *arguments), *op.output.shape)


def _not_planes(match: Match) -> str | None:
    op = match.op
    if op.output.rank != 4 or op.attrs["axis"] != 3 or op.output.shape[0] != 1 or len(op.inputs) < 2:
        return "it does not join the channels of an image"
    if any(part.shape[3] != 1 for part in op.inputs):
        return "not all parts have one channel"
    planes = [part for part in op.inputs if part.producer is not None and part.producer.name == "RESHAPE"]
    if not planes or any(part.producer is not None and part not in planes for part in op.inputs):
        return "not all parts are planes before"
    return "it moves little" if op.inputs[0].size < _MANY else None


def _joined_planes(match: Match) -> Tensor:
    """A CONCAT of images with one channel each joins them one behind the other, and a TRANSPOSE makes them channels."""
    insert = match.insert
    planes = [insert.reshape(part, 1, 1, *part.shape[1:3]) for part in match.op.inputs]
    return insert("TRANSPOSE", insert("CONCAT", *planes, axis=1), perms=(0, 2, 3, 1))


PLANE_MOVED = Choice("plane_moved", Pattern("PAD|SLICE"), _as_plane, _not_plane)
#: Without asking: of the parts alone, before they are planes, the estimate would be another.
PLANES_JOINED = pattern_rewrite("planes_joined", Stage.OPTIMIZE, Pattern("CONCAT"), _joined_planes, _not_planes)
