"""RESCALE to or from INT32 beside what moves data, which Vela joins for Ethos-U55 and U65 to something else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage
from arm_tosa_core.tosa.scaling import is_by_one

from .max_pool_copies import is_poolable, through_pool

_CONVOLUTIONS = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D")
_MOVERS = ("RESHAPE", "SLICE", "TRANSPOSE")
_RESHAPE = frozenset(("RESHAPE",))
#: From which scale on Vela takes a sum for a quantized one, by what is added.
_OF_SUMS = {DType.INT8: 2.0**15, DType.INT16: 2.0**14}
_BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT")


def plus_zero(graph: Graph, before: Op, tensor: Tensor) -> Tensor:
    """A copy of an INT32 tensor, made by a sum inserted before an operator."""
    zero = graph.constant(np.zeros((1,) * tensor.rank, np.int32), DType.INT32)
    return graph.insert_before(before, "ADD", [tensor, zero]).output


def _made_by(tensor: Tensor, *names: str) -> bool:
    return tensor.producer is not None and tensor.producer.name in names


def _through(tensor: Tensor, *movers: str) -> Tensor:
    """What a tensor was before it was moved."""
    while tensor.producer is not None and tensor.producer.name in movers:
        tensor = tensor.producer.inputs[0]
    return tensor


def _is_widened(tensor: Tensor) -> bool:
    """Whether a tensor is a narrow one, or one that a RESCALE by 1 widens."""
    op = tensor.producer
    return tensor.dtype is not DType.INT32 or (op is not None and op.name == "RESCALE" and is_by_one(op))


def _is_fused(wide: Tensor) -> bool:
    """Whether Vela surely makes a RESCALE from INT32 part of the operation before it."""
    wide = _through(wide, "RESHAPE")
    if len(wide.uses) > 1 or wide.producer is None:
        return False
    if wide.producer.name == "RESCALE" and wide.producer.inputs[0].dtype is DType.INT48 and is_by_one(wide.producer):
        return _is_fused(wide.producer.inputs[0])
    if wide.producer.name == "MUL":
        factors = wide.producer.inputs[:2]
        return all(_is_widened(x) and (x.dtype is not DType.INT32 or len(x.uses) == 1) for x in factors)
    return wide.producer.name in _CONVOLUTIONS


def _concat_of_int32(*makers: str) -> Rewrite:
    def apply(graph: Graph, op: Op) -> bool:
        """An INT32 result that is joined or padded is summed with zero first where Vela would drop parts of it."""
        wrong = [i for i, x in enumerate(op.inputs) if x.dtype is DType.INT32 and _made_by(x, *makers)]
        for position in wrong:
            graph.set_input(op, position, plus_zero(graph, op, op.inputs[position]))
        return bool(wrong)

    return Rewrite("joined_wide", Stage.LEGALIZE, ("CONCAT", "PAD"), apply)


def _concat_of_rescale(graph: Graph, op: Op) -> bool:
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
            graph.set_input(op, position, through_pool(graph, op, x))
            changed = True
    return changed


def _no_concat(match: Match) -> str | None:
    x = match.op.inputs[0]
    moved = x.dtype is DType.INT32 and _made_by(_through(x, "RESHAPE"), "CONCAT", "PAD", "SLICE", "TILE")
    return None if moved else "its operand is not moved in INT32"


def _rescale_of_concat(match: Match) -> Mapping[int, Tensor]:
    """What was joined, padded or sliced in INT32 is summed with zero before a RESCALE.

    Vela makes the RESCALE part of the operation before, and computes some of the elements only, or others.
    """
    return {0: plus_zero(match.graph, match.op, match.op.inputs[0])}


def _not_to_int32(match: Match) -> str | None:
    op, zero = match.op, match.op.inputs[3].data
    if op.output.dtype is not DType.INT32 or not is_poolable(op.inputs[0]) or not is_by_one(op):
        return "it does not widen by 1"
    if zero is None or zero.any() or op.attrs["input_unsigned"]:
        return "it has a zero point"
    return "Vela makes it part of what reads it" if _is_read_narrow(match.graph, op.output) else None


def _rescale_as_cast(match: Match) -> Tensor:
    """A RESCALE by 1 to INT32, without zero points, becomes a CAST, unless Vela surely makes it part of what reads it.

    Vela leaves out the former, and with it what the operation before or behind it does last: it does not saturate, or
    is of another part of the tensor; a sum shifts one of its operands.
    """
    return match.insert("CAST", match.op.inputs[0], output_dtype=DType.INT32)


def _reshape_before_rescale(graph: Graph, op: Op) -> bool:
    """A RESHAPE comes before the RESCALE that widens: Vela then makes the latter part of what reads it."""
    x, views = op.inputs[0], [use for use in op.output.uses if use.name == "RESHAPE"]
    if op.output.dtype is not DType.INT32 or not is_poolable(x) or op.attrs["per_channel"]:
        return False
    for view in views:
        insert = Inserter(graph, view)
        graph.replace(view.output, insert.like(op, insert.like(view, x, view.inputs[1]), *op.inputs[1:]))
    return bool(views)


def _is_read_narrow(graph: Graph, wide: Tensor) -> bool:
    """Whether Vela makes what a RESCALE by 1 widened part of all that reads it."""
    return wide not in graph.outputs and all(_reads_narrow(use) for use in wide.uses)


def _reads_narrow(op: Op) -> bool:
    """Whether Vela makes an operation on narrow numbers of one that reads what a RESCALE by 1 widened."""
    if op.name == "REDUCE_SUM":
        assert op.inputs[0].producer is not None
        return not _made_by(_through(op.inputs[0].producer.inputs[0], "RESHAPE"), "SLICE")
    if op.name in ("ADD", "SUB") and op.inputs[0] is op.inputs[1]:
        return False
    return op.name in ("ADD", "SUB", "MUL") and all(_is_widened(_through(x, "RESHAPE")) for x in op.inputs[:2])


def _broadcast_int32(graph: Graph, op: Op) -> bool:
    """An operand that repeats along an axis is copied where it was moved after it was widened.

    Vela repeats it in the shape that it had before.
    """
    changed = False
    for position, x in enumerate(op.inputs[:2]):
        source = _through(x, *_MOVERS)
        if x.dtype is not DType.INT32 or x.shape == op.output.shape or source is x:
            continue
        if _made_by(source, "RESCALE", "CAST"):
            graph.set_input(op, position, plus_zero(graph, op, x))
            changed = True
    return changed


def _no_concat_before(match: Match) -> str | None:
    op, narrow = match.op, match.op.inputs[0]
    if op.output.dtype is not DType.INT32 or not is_poolable(narrow) or op.attrs["per_channel"]:
        return "it does not widen"
    if not _made_by(_through(narrow, "RESHAPE"), "SLICE", "CONCAT", "PAD", "TILE"):
        return "its operand is not assembled"
    return "Vela makes it part of what reads it" if is_by_one(op) and _is_read_narrow(match.graph, op.output) else None


def _concat_to_int32(match: Match) -> Mapping[int, Tensor]:
    """What was sliced, joined, padded or repeated goes through a pool before it is widened.

    Vela otherwise widens other elements, or some only, unless it makes the RESCALE part of what reads it.
    """
    return {0: through_pool(match.graph, match.op, match.op.inputs[0])}


def _small_sum(graph: Graph, op: Op) -> bool:
    """One of two operands that small whole scales widen is summed with zero before they are added.

    Vela makes one operation of it all, which is for scales that leave a sum as many bits as it can have.
    """
    rescales = [x.producer for x in op.inputs[:2] if _made_by(x, "RESCALE")]
    scales = [_scale(rescale) for rescale in rescales if rescale is not None]
    if len(scales) < 2 or scales[0] == scales[1] or not all(scale and scale.is_integer() for scale in scales):
        return False
    assert rescales[0] is not None
    if max(scale or 0 for scale in scales) >= _OF_SUMS[rescales[0].inputs[0].dtype]:
        return False
    graph.set_input(op, 0, plus_zero(graph, op, op.inputs[0]))
    return True


def _scale(rescale: Op) -> float | None:
    """By what a RESCALE widens 8 or 16 bits to INT32; None where it does something else."""
    multiplier, shift = (x.data for x in rescale.inputs[1:3])
    if multiplier is None or shift is None or multiplier.size > 1 or not is_poolable(rescale.inputs[0]):
        return None
    return float(multiplier[0]) / 2.0 ** int(shift[0]) if rescale.output.dtype is DType.INT32 else None


CONCAT_OF_INT32_U55 = _concat_of_int32("RESCALE")
CONCAT_OF_INT32_U85 = _concat_of_int32("RESCALE", "ABS", "BITWISE_NOT", "CLZ")
CONCAT_OF_RESCALE = Rewrite(
    "rescaled_joined",
    Stage.LEGALIZE,
    ("CONCAT", "PAD"),
    _concat_of_rescale,
    frozenset(("RESCALE", "RESHAPE")),
)
RESCALE_OF_CONCAT = pattern_rewrite(
    "wide_moved", Stage.LEGALIZE, Pattern("RESCALE"), _rescale_of_concat, _no_concat, _RESHAPE
)
RESHAPE_BEFORE_RESCALE = Rewrite("reshaped_first", Stage.LEGALIZE, ("RESCALE",), _reshape_before_rescale)
SMALL_SUM = Rewrite("small_sum", Stage.LEGALIZE, ("ADD", "SUB"), _small_sum)
CONCAT_TO_INT32 = pattern_rewrite(
    "wide_assembled", Stage.LEGALIZE, Pattern("RESCALE"), _concat_to_int32, _no_concat_before, _RESHAPE
)
BROADCAST_INT32 = Rewrite("wide_repeated", Stage.LEGALIZE, _BINARY, _broadcast_int32, frozenset(_MOVERS))
RESCALE_AS_CAST = pattern_rewrite(
    "widened", Stage.LEGALIZE, Pattern("RESCALE"), _rescale_as_cast, _not_to_int32, _RESHAPE
)
