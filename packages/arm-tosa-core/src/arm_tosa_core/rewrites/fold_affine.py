"""Constant factors and offsets per channel, a batch norm's for example, join the float convolution before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..tosa.graph import Graph
from ..tosa.ir import Op, Tensor
from ..tosa.rewrite import Rewrite, Stage

#: Where the output channels of a weight are.
_CHANNELS = {"CONV2D": (0,), "CONV3D": (0,), "TRANSPOSE_CONV2D": (0,), "DEPTHWISE_CONV2D": (2, 3)}


def apply(graph: Graph, op: Op) -> bool:
    """Folds a MUL, ADD or SUB of a constant into the convolution before it, if nothing else reads that."""
    for position in (0, 1) if op.name != "SUB" else (1,):
        constant, operand = op.inputs[position], op.inputs[1 - position]
        if constant.data is None or not operand.dtype.is_float or op.output.shape != operand.shape:
            continue
        chain = list(_producers(graph, operand))
        if not chain or chain[-1].name not in _CHANNELS:
            continue
        convolution = chain[-1]
        numbers = _per_channel(constant, convolution.output.shape[-1])
        weight, bias = convolution.inputs[1:3]
        if numbers is None or weight.data is None or bias.data is None:
            continue
        offset = np.broadcast_to(bias.data, numbers.shape).astype(np.float32)
        if op.name == "MUL":
            axes = _CHANNELS[convolution.name]
            factors = numbers.reshape([n if i in axes else 1 for i, n in enumerate(weight.shape)])
            _set(graph, convolution, 1, weight.data.astype(np.float32) * factors)
            offset = offset * numbers
        else:
            offset = offset + numbers if op.name == "ADD" else offset - numbers
        _set(graph, convolution, 2, offset)
        graph.replace(op.output, operand)
        return True
    return False


def _producers(graph: Graph, tensor: Tensor) -> Iterator[Op]:
    """The operators before a tensor without other readers, back through reshapes that keep the channels last."""
    while tensor.producer is not None and len(tensor.uses) == 1 and tensor not in graph.outputs:
        op = tensor.producer
        yield op
        if op.name != "RESHAPE" or op.inputs[0].shape[-1:] != op.output.shape[-1:]:
            return
        tensor = op.inputs[0]


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


FOLD_AFFINE = Rewrite("fold_affine", Stage.OPTIMIZE, ("MUL", "ADD", "SUB"), apply, frozenset(("RESHAPE",)))
