"""High and narrow images turned by a quarter, with all that is computed of them: for Ethos-U they are not alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern
from arm_tosa_core.tosa.rewrite import Inserter, Stage

from .graph_parts import with_movers

#: The axes of images and of weights by their operator, with height and width exchanged.
_IMAGE = (0, 2, 1, 3)
_WEIGHTS = {"CONV2D": _IMAGE, "TRANSPOSE_CONV2D": _IMAGE, "DEPTHWISE_CONV2D": (1, 0, 2, 3)}
_POOLS = ("AVG_POOL2D", "MAX_POOL2D")
_BY_AXIS = ("CONCAT", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM", "REVERSE")
_BY_SHAPE = ("PAD", "SLICE")
_ELEMENTWISE = (
    "ABS", "ADD", "ARITHMETIC_RIGHT_SHIFT", "CAST", "CLAMP", "MAXIMUM", "MINIMUM", "MUL", "NEGATE", "RESCALE",
    "SUB", "TABLE",
)  # fmt: skip
_TURNED = (*_WEIGHTS, *_POOLS, *_BY_AXIS, *_BY_SHAPE, *_ELEMENTWISE)
#: How many times as high as wide an image must be. Not a price: a turned image is at most half as high, so it is never
#: turned back and the rewrites end; the estimate says whether it is turned.
_HIGH = 2


def _high(op: Op) -> bool:
    """Whether a result is much higher than wide."""
    shape = op.output.shape
    return len(shape) == 4 and shape[1] >= _HIGH * shape[2]


def _can_turn(op: Op | None) -> bool:
    if op is None or op.name not in _TURNED or op.output.rank != 4:
        return False
    if op.name in _POOLS and op.attrs["kernel"] == (1, 1):
        return False  # a copy, or what stands for a neighbour
    varying = [x for x in op.inputs if not x.is_constant]
    return all(x.rank == 4 for x in varying) and not (op.name in _WEIGHTS and len(varying) > 1)


def _is_pixel(x: Tensor) -> bool:
    """Whether an image is the same turned."""
    return x.shape[1] == x.shape[2] == 1


def _region(graph: Graph, op: Op) -> list[Op]:
    """The operators that turn with one, because they make or read the same images, in order."""
    region, waiting = {op}, [op]
    while waiting:
        each = waiting.pop()
        images = [x for x in (*each.inputs, *each.outputs) if x.rank == 4 and not x.is_constant and not _is_pixel(x)]
        near = [other for x in images for other in (x.producer, *x.uses.operators())]
        for other in near:
            if other is not None and other not in region and _can_turn(other) and graph.is_read(other):
                region.add(other)
                waiting.append(other)
    return sorted(region, key=lambda each: each.position)


def _around(graph: Graph, op: Op) -> list[Op]:
    return with_movers(_region(graph, op))


def _stays(match: Match) -> str | None:
    op = match.op
    if not (_high(op) and _can_turn(op)) or all(_can_turn(x.producer) for x in op.inputs if not x.is_constant):
        return "it is not the first one of high images"
    region = _region(match.graph, op)
    if next(each for each in region if _high(each)) is not op:
        return "another one is the first"
    return None if any(each.name in _WEIGHTS for each in region) else "there is no convolution"


def _turned(match: Match) -> Mapping[int, Tensor]:
    """Images much higher than wide are turned by a quarter, and with them what is computed of them.

    Ethos-U55-128 computes two columns of one row at once, so that half of its work on images of one column is for
    nothing. Turning an image of one column or row is a RESHAPE; of others it takes a TRANSPOSE.
    """
    graph, turned = match.graph, dict[Tensor, Tensor]()
    for op in (ops := _region(graph, match.op)):
        insert, inputs = Inserter(graph, op), []
        for position, x in enumerate(op.inputs):
            if x.is_constant:
                inputs.append(_constant(graph, op, position))
                continue
            if x not in turned:
                turned[x] = _quarter(insert, x)
            inputs.append(turned[x])
        turned[op.output] = insert.like(op, *inputs, **_attributes(op))
    inside = set(ops)
    for op in ops:
        x = op.output
        if x in graph.outputs or any(use not in inside for use in x.uses):
            graph.replace(x, _quarter(Inserter(graph, op), turned[x]))
    return {}


def _quarter(insert: Inserter, x: Tensor) -> Tensor:
    """An image with height and width exchanged."""
    if 1 in x.shape[1:3]:
        return insert.reshape(x, *(x.shape[axis] for axis in _IMAGE))
    return insert("TRANSPOSE", x, perms=_IMAGE)


def _constant(graph: Graph, op: Op, position: int) -> Tensor:
    """A constant operand, as the turned operator has it."""
    x = op.inputs[position]
    if x.dtype is DType.SHAPE and op.name in _BY_SHAPE:
        assert x.data is not None
        return graph.shape(x.data.reshape(4, -1)[list(_IMAGE)].reshape(-1).tolist())
    if x.rank != 4:
        return x  # of the channels, or of all
    assert x.data is not None
    axes = _WEIGHTS.get(op.name, _IMAGE)
    return graph.constant(np.ascontiguousarray(x.data.transpose(axes)), x.dtype)


def _attributes(op: Op) -> dict[str, Any]:
    """The attributes that are others for a turned image."""
    attrs: dict[str, Any] = {
        name: op.attrs[name][::-1] for name in ("kernel", "stride", "dilation") if name in op.attrs
    }
    for name in ("pad", "out_pad"):
        if name in op.attrs:
            top, bottom, left, right = op.attrs[name]
            attrs[name] = (left, right, top, bottom)
    if op.name in _BY_AXIS:
        attrs["axis"] = _IMAGE[op.attrs["axis"]]
    return attrs


TURNED_IMAGES = Choice(
    "turned_images", Pattern("|".join(_TURNED)), _turned, _stays, around=_around, stage=Stage.LEGALIZE
)
