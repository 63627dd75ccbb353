"""RESCALE to or from INT32 beside what moves data, which Vela joins for Ethos-U55 and U65 to something else."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.ir import DType, Graph, Op, Tensor
from arm_tosa_core.rewrite import Rewrite, Stage

from .copies import is_poolable, through_pool
from .rescales import is_by_one

_CONVOLUTIONS = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D")
_BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT")


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
    return op is not None and op.name == "RESCALE" and is_by_one(op) and len(tensor.uses) == 1


def _is_fused(wide: Tensor) -> bool:
    """Whether Vela surely makes a RESCALE from INT32 part of the operation before it."""
    wide = _through(wide, "RESHAPE")
    if len(wide.uses) > 1 or wide.producer is None:
        return False
    if wide.producer.name == "RESCALE" and wide.producer.inputs[0].dtype is DType.INT48 and is_by_one(wide.producer):
        return _is_fused(wide.producer.inputs[0])
    if wide.producer.name == "MUL":
        return all(_is_widened(x) for x in wide.producer.inputs[:2])
    return wide.producer.name in _CONVOLUTIONS


def _joined_wide(*makers: str) -> Rewrite:
    """What these operators made in INT32 is summed with zero before it is joined or padded: Vela leaves out parts."""

    def apply(graph: Graph, op: Op) -> bool:
        wrong = [i for i, x in enumerate(op.inputs) if x.dtype is DType.INT32 and _made_by(x, *makers)]
        for position in wrong:
            graph.set_input(op, position, _plus_zero(graph, graph.ops.index(op), op.inputs[position], op))
        return bool(wrong)

    return Rewrite("joined_wide", Stage.LEGALIZE, ("CONCAT", "PAD"), apply)


def _joined(graph: Graph, op: Op) -> bool:
    """What a RESCALE made from INT32 goes through a pool before it is joined or padded.

    Unless it is part of the operation before it, Vela writes such a RESCALE to the start of the larger tensor.
    """
    changed = False
    for position, x in enumerate(op.inputs):
        if not _made_by(x, "RESCALE") or not is_poolable(x):
            continue
        assert x.producer is not None
        wide = x.producer.inputs[0]
        if wide.dtype is DType.INT32 and not _is_fused(wide):
            graph.set_input(op, position, through_pool(graph, graph.ops.index(op), x, op))
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


def _widened_alone(graph: Graph, op: Op) -> bool:
    """What a RESCALE from INT32 or a RESIZE made goes through a pool before a RESCALE by 1 widens it.

    Vela drops the latter where it is not part of the operation behind it, and with it the saturation of the former, or
    a part of the image.
    """
    x = op.inputs[0]
    if op.output.dtype is not DType.INT32 or not is_by_one(op) or not is_poolable(x):
        return False
    zero = op.inputs[3].data
    if zero is None or zero.any() or not (_made_by(x, "RESIZE") or (_saturates(x) and _is_alone(graph, op.output))):
        return False
    graph.set_input(op, 0, through_pool(graph, graph.ops.index(op), x, op))
    return True


def _saturates(narrow: Tensor) -> bool:
    """Whether a RESCALE made it of INT32 that is no convolution's."""
    if not _made_by(narrow, "RESCALE"):
        return False
    assert narrow.producer is not None
    wide = narrow.producer.inputs[0]
    return wide.dtype is DType.INT32 and not _made_by(wide, *_CONVOLUTIONS)


def _is_alone(graph: Graph, wide: Tensor) -> bool:
    """Whether what is widened is an output, or read by CLZ, or beside a constant."""
    beside = (any(t.data is not None for t in use.inputs[:2]) for use in wide.uses if use.name in _BINARY)
    return wide in graph.outputs or any(use.name == "CLZ" for use in wide.uses) or any(beside)


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


WIDE_JOINED_U55, WIDE_JOINED_U85 = _joined_wide("RESCALE"), _joined_wide("RESCALE", "ABS", "BITWISE_NOT", "CLZ")
RESCALED_JOINED = Rewrite("rescaled_joined", Stage.LEGALIZE, ("CONCAT", "PAD"), _joined)
WIDE_MOVED = Rewrite("wide_moved", Stage.LEGALIZE, ("RESCALE",), _moved)
WIDE_BROADCAST = Rewrite("wide_broadcast", Stage.LEGALIZE, _BINARY, _broadcast_both)
WIDENED_ALONE = Rewrite("widened_alone", Stage.LEGALIZE, ("RESCALE",), _widened_alone)
