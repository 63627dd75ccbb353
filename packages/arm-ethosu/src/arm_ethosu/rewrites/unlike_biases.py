"""Convolutions with equal weights and scales, of which Vela confuses the biases."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

#: The axis of the weights that is the width of the kernel.
_WIDTH = {"CONV2D": 2, "CONV3D": 3, "DEPTHWISE_CONV2D": 1}


def _check(match: Match) -> str | None:
    op = match.op
    weight = op.inputs[1]
    if not (weight.is_constant and op.inputs[4].is_constant):
        return "its weights or their zero point are no constants"
    if not any(other.name in _WIDTH and _confused(op, other) for other in weight.uses):
        return "no other convolution has its weights and scales, and other biases"
    return None


def _confused(op: Op, other: Op) -> bool:
    """Whether Vela takes what it encodes for one for the other's. Equal constants of a graph are one tensor."""
    return op.inputs[1] is other.inputs[1] and op.inputs[2] is not other.inputs[2] and _scales(op) == _scales(other)


def _scales(op: Op) -> list[int]:
    """By which multipliers and shifts the results are rescaled; none if they are not."""
    rescaled = [reader for reader in op.output.uses if reader.name == "RESCALE"]
    return [id(tensor) for tensor in rescaled[0].inputs[1:3]] if len(rescaled) == 1 else []


def _widened(match: Match) -> Tensor:
    """A convolution with the weights and scales of another one, but other biases, gets one more column of weights of 0.

    Vela encodes biases with the weights, and only once where weights and scales are equal.
    """
    op, graph = match.op, match.graph
    weight, zero = op.inputs[1], op.inputs[4]
    assert weight.data is not None and zero.data is not None
    sides = [(0, int(axis == _WIDTH[op.name])) for axis in range(weight.rank)]
    wider = graph.constant(np.pad(weight.data, sides, constant_values=zero.data.item()), weight.dtype)
    pad = (*op.attrs["pad"][:-1], op.attrs["pad"][-1] + op.attrs["dilation"][-1])
    return match.insert.like(op, op.inputs[0], wider, *op.inputs[2:], pad=pad)


UNLIKE_BIASES = pattern_rewrite("unlike_biases", Stage.LEGALIZE, Pattern("|".join(_WIDTH)), _widened, _check)
