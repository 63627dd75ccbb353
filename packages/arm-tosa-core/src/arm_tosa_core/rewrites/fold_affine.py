"""Constant factors and offsets per channel, a batch norm's for example, join the float convolution before them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tosa.graph import Graph
from ..tosa.ir import DType, Op, Tensor
from ..tosa.pattern import AnyOf, Match, Pattern, pattern_rewrite
from ..tosa.rewrite import Stage

#: Where the output channels of a weight are.
_CHANNELS = {"CONV2D": (0,), "CONV3D": (0,), "TRANSPOSE_CONV2D": (0,), "DEPTHWISE_CONV2D": (2, 3)}


def _moved_channels(match: Match) -> str | None:
    """Why a constant does not join a convolution."""
    convolution, constant, operands = match["convolution"], match.tensor("constant"), match.op.inputs
    if match.op.output.shape != operands[1 - match.position("constant")].shape:
        return "the constant repeats the other operand"
    if any(view.inputs[0].shape[-1:] != view.output.shape[-1:] for view in match.between("convolution")):
        return "a RESHAPE moves the channels"
    if not all(x.is_constant for x in convolution.inputs[1:3]):
        return "its weights are computed"
    numbers = _per_channel(constant, convolution.output.shape[-1])
    if numbers is None:
        return "it varies along other axes"
    return None if np.isfinite(numbers).all() else "it is not finite: zeros among the weights would become NaN"


def _folded(match: Match) -> Tensor:
    """A MUL, ADD or SUB of a constant joins the convolution before it, if nothing else reads the convolution."""
    graph, op, convolution = match.graph, match.op, match["convolution"]
    numbers = _per_channel(match.tensor("constant"), convolution.output.shape[-1])
    weight, bias = convolution.inputs[1:3]
    assert numbers is not None and weight.data is not None and bias.data is not None
    offset = np.broadcast_to(bias.data, numbers.shape).astype(np.float32)
    if op.name == "MUL":
        axes = _CHANNELS[convolution.name]
        factors = numbers.reshape([n if i in axes else 1 for i, n in enumerate(weight.shape)])
        _set(graph, convolution, 1, weight.data.astype(np.float32) * factors)
        offset = offset * numbers
    else:
        offset = offset + numbers if op.name == "ADD" else offset - numbers
    _set(graph, convolution, 2, offset)
    return op.inputs[1 - match.position("constant")]


def _per_channel(constant: Tensor, channels: int) -> np.ndarray[Any, Any] | None:
    """A constant's numbers, one per channel, if it is a scalar or varies along the last axis only."""
    assert constant.data is not None
    if constant.size != 1 and constant.shape[-1] != constant.size:
        return None
    return np.broadcast_to(constant.data.reshape(-1).astype(np.float32), (channels,))


def _set(graph: Graph, op: Op, position: int, data: np.ndarray[Any, Any]) -> None:
    old = op.inputs[position]
    assert old.data is not None
    graph.set_input(op, position, graph.constant(data.astype(old.data.dtype), old.dtype))


_FLOATS = tuple(dtype for dtype in DType if dtype.is_float)
_OPERANDS = {
    0: Pattern("|".join(_CHANNELS), name="convolution", alone=True, dtype=_FLOATS, through=("RESHAPE",)),
    1: Pattern(name="constant", constant=True),
}
FOLD_AFFINE = pattern_rewrite(
    "fold_affine",
    Stage.OPTIMIZE,
    AnyOf((Pattern("MUL|ADD", _OPERANDS, dtype=_FLOATS, commutes=True), Pattern("SUB", _OPERANDS, dtype=_FLOATS))),
    _folded,
    _moved_channels,
)
