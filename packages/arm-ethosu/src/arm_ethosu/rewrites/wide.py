"""RESCALE to or from INT32 beside what moves data, which Vela joins for Ethos-U55 and U65 to something else."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.ir import DType, Graph, Op, Tensor
from arm_tosa_core.rewrite import Rewrite, Stage

from .copies import is_poolable, through_pool


def _plus_zero(graph: Graph, index: int, tensor: Tensor, like: Op) -> Tensor:
    zero = graph.constant(np.zeros((1,) * tensor.rank, np.int32), DType.INT32)
    return graph.insert(index, "ADD", [tensor, zero], {}, like.origin).output


def _made_by(tensor: Tensor, *names: str) -> bool:
    return tensor.producer is not None and tensor.producer.name in names


def _through(tensor: Tensor, *movers: str) -> Tensor:
    """What a tensor was before it was moved."""
    while tensor.producer is not None and tensor.producer.name in movers:
        tensor = tensor.producer.inputs[0]
    return tensor


def _is_widened(tensor: Tensor) -> bool:
    """Whether a tensor is a narrow one, or one that a RESCALE by 1 widens for a single user."""
    op = tensor.producer
    if tensor.dtype is not DType.INT32:
        return True
    if op is None or op.name != "RESCALE" or op.attrs["per_channel"] or len(tensor.uses) > 1:
        return False
    multiplier, shift = (x.data for x in op.inputs[1:3])
    return multiplier is not None and shift is not None and int(multiplier[0]) == 1 << int(shift[0])


def _is_fused(wide: Tensor) -> bool:
    """Whether Vela surely makes a RESCALE from INT32 part of the operation before it."""
    wide = _through(wide, "RESHAPE")
    if len(wide.uses) > 1 or wide.producer is None:
        return False
    if wide.producer.name == "MUL":
        return all(_is_widened(x) for x in wide.producer.inputs[:2])
    return wide.producer.name in ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D")


def _joined(graph: Graph, op: Op) -> bool:
    """What a RESCALE made goes through a copy before it is joined or padded: a pool, or a sum with zero if it is INT32.

    Unless it is part of the operation before it, Vela writes such a RESCALE to the start of the larger tensor.
    """
    changed = False
    for position, x in enumerate(op.inputs):
        if not _made_by(x, "RESCALE"):
            continue
        assert x.producer is not None
        wide, index = x.producer.inputs[0], graph.ops.index(op)
        if x.dtype is DType.INT32:
            graph.set_input(op, position, _plus_zero(graph, index, x, op))
        elif wide.dtype is DType.INT32 and is_poolable(x) and not _is_fused(wide):
            graph.set_input(op, position, through_pool(graph, index, x, op))
        else:
            continue
        changed = True
    return changed


def _moved(graph: Graph, op: Op) -> bool:
    """What was joined, padded or sliced in INT32 is summed with zero before a RESCALE.

    Vela makes the RESCALE part of the operation before, and computes some of the elements only, or others.
    """
    x = op.inputs[0]
    if x.dtype is not DType.INT32 or not _made_by(x, "CONCAT", "PAD", "SLICE"):
        return False
    graph.set_input(op, 0, _plus_zero(graph, graph.ops.index(op), x, op))
    return True


def _broadcast_both(graph: Graph, op: Op) -> bool:
    """The first of two operands that each repeat along an axis is summed with zero where a RESCALE was moved.

    Vela repeats it in the shape that it had before the RESHAPE or TRANSPOSE.
    """
    first, second = op.inputs[:2]
    source = _through(first, "RESHAPE", "TRANSPOSE")
    if first.dtype is not DType.INT32 or source is first or not _made_by(source, "RESCALE"):
        return False
    if op.output.shape in (first.shape, second.shape):
        return False
    graph.set_input(op, 0, _plus_zero(graph, graph.ops.index(op), first, op))
    return True


_BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT")
WIDE_JOINED = Rewrite("wide_joined", Stage.LEGALIZE, ("CONCAT", "PAD"), _joined)
WIDE_MOVED = Rewrite("wide_moved", Stage.LEGALIZE, ("RESCALE",), _moved)
WIDE_BROADCAST = Rewrite("wide_broadcast", Stage.LEGALIZE, _BINARY, _broadcast_both)
