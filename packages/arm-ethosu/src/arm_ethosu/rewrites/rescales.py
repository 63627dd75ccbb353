"""RESCALE where Vela computes another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.rewrite import Rewrite, Stage
from arm_tosa_core.tosa.scaling import is_by_one, multiplier_and_shift

from .copies import is_poolable, through_pool

#: Of a RESCALE with a multiplier of 16 bits: 15 of them, shifted right by 2 at least.
_LARGEST_FACTOR = 2.0**13


def _scales(rescale: Op) -> np.ndarray[Any, Any]:
    """What a RESCALE multiplies by: one number, or one for each channel."""
    multiplier, shift = (rescale.inputs[i].data for i in (1, 2))
    assert multiplier is not None and shift is not None
    return np.ldexp(multiplier.astype(np.float64), -shift.astype(np.int64))


def _one_rescale_u55(graph: Graph, op: Op) -> bool:
    """As for Ethos-U85, but for a RESCALE of one by 1, of which Vela makes one with a multiplier of 32 bits."""
    inner = op.inputs[0].producer
    return inner is not None and inner.name == "RESCALE" and not is_by_one(inner) and _one_rescale(graph, op)


def _one_rescale(graph: Graph, op: Op) -> bool:
    """A RESCALE of a RESCALE from INT48 becomes one, with a multiplier of 16 bits.

    Vela does the same for Ethos-U85, but keeps 15 bits of the second one's multiplier of 32: the lowest ones.
    """
    inner = op.inputs[0].producer
    if inner is None or inner.name != "RESCALE" or inner.inputs[0].dtype is not DType.INT48:
        return False
    if len(inner.output.uses) > 1 or inner.output in graph.outputs or op.attrs["input_unsigned"]:
        return False
    if any(zero.data is None or zero.data.any() for zero in (inner.inputs[4], op.inputs[3])):
        return False
    factors = _scales(inner) * _scales(op)
    if factors.max() >= _LARGEST_FACTOR:
        return False
    multiplier, shift = multiplier_and_shift(factors.tolist(), 16)
    operands = [
        inner.inputs[0],
        graph.constant(multiplier, DType.INT16),
        graph.constant(shift, DType.INT8),
        inner.inputs[3],
        op.inputs[4],
    ]
    attrs = {**op.attrs, "scale32": False, "per_channel": factors.size > 1}
    graph.replace(op.output, graph.insert(graph.ops.index(op), "RESCALE", operands, attrs, op.origin).output)
    return True


def _scales_of_parts(graph: Graph, op: Op) -> bool:
    """A RESCALE by channel goes through a pool after channels were joined or padded.

    Vela rescales the parts instead, each with the scales of the first channels.
    """
    joined = op.inputs[0].producer
    if joined is None or joined.name not in ("CONCAT", "PAD") or not op.attrs["per_channel"]:
        return False
    if not is_poolable(op.inputs[0]):
        return False
    graph.set_input(op, 0, through_pool(graph, graph.ops.index(op), op.inputs[0], op))
    return True


def _wide_copy(graph: Graph, op: Op) -> bool:
    """A CAST or MAX_POOL2D whose result a RESCALE widens goes to INT32 first.

    Vela makes one operation of the two for Ethos-U85, which saturates to the narrower type. It does not where it makes
    the RESCALE part of the sum behind it, nor where there is a zero point.
    """
    narrow, reshape = op.inputs[0], op.inputs[0].producer
    if reshape is not None and reshape.name == "RESHAPE":
        narrow = reshape.inputs[0]
    source = narrow.producer
    if source is None or source.name not in ("CAST", "MAX_POOL2D") or narrow.dtype is DType.INT32:
        return False
    zero = op.inputs[3].data
    if op.output.dtype.bits <= narrow.dtype.bits or zero is None or zero.any() or op.attrs["input_unsigned"]:
        return False
    if op.output not in graph.outputs and all(use.name in ("ADD", "SUB") for use in op.output.uses):
        return False
    index, like = graph.ops.index(op), op.inputs[0]
    from_ = source.inputs[0] if source.name == "CAST" else narrow
    wide = graph.insert(index, "CAST", [from_], {"output_dtype": DType.INT32}, source.origin).output
    if wide.shape != like.shape:
        wide = graph.insert(index + 1, "RESHAPE", [wide, graph.shape(like.shape)], {}, op.origin).output
    operands = [wide, *op.inputs[1:3], graph.constant(np.zeros(1, np.int32), DType.INT32), op.inputs[4]]
    graph.replace(op.output, graph.insert(graph.ops.index(op), "RESCALE", operands, op.attrs, op.origin).output)
    return True


def _resized(graph: Graph, op: Op) -> bool:
    """What a RESIZE made goes through a pool before a RESCALE by 1 gives it the other of 8 and 16 bits.

    Without zero points, Vela leaves the RESCALE out, and reads tensors of one width as if they had the other.
    """
    source = op.inputs[0]
    while source.producer is not None and source.producer.name in ("RESHAPE", "TRANSPOSE"):
        source = source.producer.inputs[0]
    if source.producer is None or source.producer.name != "RESIZE" or not is_by_one(op):
        return False
    if not is_poolable(op.inputs[0]) or not is_poolable(op.output) or op.inputs[0].dtype is op.output.dtype:
        return False
    if any(zero.data is None or zero.data.any() for zero in op.inputs[3:5]):
        return False
    graph.set_input(op, 0, through_pool(graph, graph.ops.index(op), op.inputs[0], op))
    return True


ONE_RESCALE_U55 = Rewrite("one_rescale_from_int48", Stage.LEGALIZE, ("RESCALE",), _one_rescale_u55)
ONE_RESCALE_U85 = Rewrite("one_rescale_from_int48", Stage.LEGALIZE, ("RESCALE",), _one_rescale)
SCALES_OF_PARTS = Rewrite("scales_of_parts", Stage.LEGALIZE, ("RESCALE",), _scales_of_parts)
WIDE_COPY = Rewrite("wide_copy", Stage.LEGALIZE, ("RESCALE",), _wide_copy)
RESIZED_U55 = Rewrite("resized", Stage.LEGALIZE, ("RESCALE",), _resized)
