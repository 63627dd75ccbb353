"""RESCALE to or from INT32 beside what moves data, which Vela joins for Ethos-U55 and U65 to something else."""

from __future__ import annotations

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.operator_classes import ASSEMBLED
from arm_tosa_core.tosa.pattern import ANY, Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage
from arm_tosa_core.tosa.scaling import is_by_one
from arm_tosa_core.tosa.walks import made_by, through

from ..operator_classes import READ_IN_PLACE, RESCALE_BY_THEMSELVES, TWO_OPERANDS
from .max_pool_copies import POOLABLE, copied, is_poolable, plus_zero

_RESHAPE = ("RESHAPE",)
_MOVED = "|".join((*ASSEMBLED, "SLICE"))
#: From which scale on Vela takes a sum for a quantized one, by what is added.
_OF_SUMS = {DType.INT8: 2.0**15, DType.INT16: 2.0**14}


def _is_widened(tensor: Tensor) -> bool:
    """Whether a tensor is a narrow one, or one that a RESCALE by 1 widens."""
    op = tensor.producer
    return tensor.dtype is not DType.INT32 or (op is not None and op.name == "RESCALE" and is_by_one(op))


def _is_fused(wide: Tensor) -> bool:
    """Whether Vela surely makes a RESCALE from INT32 part of the operation before it."""
    wide = through(wide, _RESHAPE)
    if len(wide.uses) > 1 or wide.producer is None:
        return False
    if wide.producer.name == "RESCALE" and wide.producer.inputs[0].dtype is DType.INT48 and is_by_one(wide.producer):
        return _is_fused(wide.producer.inputs[0])
    if wide.producer.name == "MUL":
        factors = wide.producer.inputs[:2]
        return all(_is_widened(x) and (x.dtype is not DType.INT32 or len(x.uses) == 1) for x in factors)
    return wide.producer.name in RESCALE_BY_THEMSELVES


def _concat_of_int32(makers: str) -> Rewrite:
    pattern = Pattern("CONCAT|PAD", {ANY: Pattern(makers, name="wide", dtype=DType.INT32)})
    reason = "An INT32 result that is joined or padded is summed with zero first where Vela would drop parts of it."
    return copied("zero_added_to_joined_int32", pattern, reason, operand="wide", copy=plus_zero)


def _fused(match: Match) -> str | None:
    return "Vela makes it part of the operation before" if _is_fused(match["narrow"].inputs[0]) else None


def _not_to_int32(match: Match) -> str | None:
    op, zero = match.op, match.op.inputs[3].data
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
        return not made_by(through(op.inputs[0].producer.inputs[0], _RESHAPE), "SLICE")
    if op.name in ("ADD", "SUB") and op.inputs[0] is op.inputs[1]:
        return False
    return op.name in ("ADD", "SUB", "MUL") and all(_is_widened(through(x, _RESHAPE)) for x in op.inputs[:2])


def _not_repeated(match: Match) -> str | None:
    """Why Vela takes an operand of a broadcast as it is."""
    x = match.op.inputs[match.position("wide")]
    if x.shape == match.op.output.shape:
        return "it is not repeated"
    return None if match.between("wide") else "it was not moved"


def _joined_or_by_channel(match: Match) -> str | None:
    op, x = match.op, match.op.inputs[0]
    if op.attrs["per_channel"] or not op.attrs["scale32"] or op.attrs["rounding_mode"] != "SINGLE_ROUND":
        return "a sum does not rescale so"
    is_read_elsewhere = len(x.uses) > 1 or x in match.graph.outputs or x.producer is None
    return None if is_read_elsewhere else "Vela makes it part of the operation before"


def _read_narrow(match: Match) -> str | None:
    op = match.op
    return "Vela makes it part of what reads it" if is_by_one(op) and _is_read_narrow(match.graph, op.output) else None


def _large_scales(match: Match) -> str | None:
    rescales = match["left"], match["right"]
    left, right = map(_scale, rescales)
    if not left or not right or left == right or not (left.is_integer() and right.is_integer()):
        return "there are no two whole scales"
    return "they are large" if max(left, right) >= _OF_SUMS[rescales[0].inputs[0].dtype] else None


def _scale(rescale: Op) -> float | None:
    """By what a RESCALE widens 8 or 16 bits to INT32; None where it does something else."""
    multiplier, shift = (x.data for x in rescale.inputs[1:3])
    if multiplier is None or shift is None or multiplier.size > 1 or not is_poolable(rescale.inputs[0]):
        return None
    return float(multiplier[0]) / 2.0 ** int(shift[0]) if rescale.output.dtype is DType.INT32 else None


_NARROW = Pattern(dtype=POOLABLE)
_TO_INT32 = Pattern("RESCALE", {0: _NARROW}, dtype=DType.INT32, where=is_by_one)
_FROM_INT32 = Pattern("RESCALE", {0: Pattern(dtype=DType.INT32)}, "narrow", dtype=POOLABLE)
_OF_MOVED_INT32 = Pattern("RESCALE", {0: Pattern(_MOVED, dtype=DType.INT32, through=_RESHAPE)})
_OF_MOVED = Pattern(
    "RESCALE", {0: Pattern(_MOVED, dtype=POOLABLE, through=_RESHAPE)}, dtype=DType.INT32, attrs={"per_channel": False}
)
_OF_MOVED_AFTER = Pattern(
    "|".join(TWO_OPERANDS),
    {ANY: Pattern("RESCALE|CAST", {}, "wide", dtype=DType.INT32, through=READ_IN_PLACE)},
    dtype=DType.INT32,
)
_OF_SCALED = Pattern("ADD|SUB", {0: Pattern("RESCALE", name="left"), 1: Pattern("RESCALE", name="right")})

CONCAT_OF_INT32_U55 = _concat_of_int32("RESCALE")
CONCAT_OF_INT32_U85 = _concat_of_int32("RESCALE|ABS|BITWISE_NOT|CLZ")
# Unless it is part of the operation before it, Vela writes such a RESCALE to the start of the larger tensor.
CONCAT_OF_RESCALE = copied(
    "rescaled_joined",
    Pattern("CONCAT|PAD", {ANY: _FROM_INT32}),
    "What a RESCALE made from INT32 goes through a pool before it is joined or padded.",
    _fused,
    operand="narrow",
    through=("RESCALE", "RESHAPE"),
)
# Vela makes the RESCALE part of the operation before, and computes some of the elements only, or others.
RESCALE_OF_CONCAT = copied(
    "zero_added_to_moved_int32",
    _OF_MOVED_INT32,
    "What was joined, padded or sliced in INT32 is summed with zero before a RESCALE.",
    copy=plus_zero,
)
# At the RESCALE, before ``widened_by_cast`` makes a CAST of it: that sees what reads it, and not what reads a view.
RESHAPE_BEFORE_RESCALE = Rewrite("reshaped_first", Stage.LEGALIZE, ("RESCALE",), _reshape_before_rescale)
# Vela makes one operation of it all, which is for scales that leave a sum as many bits as it can have.
SCALED_OPERAND_OF_SUM = copied(
    "zero_added_to_scaled_operand",
    _OF_SCALED,
    "One of two operands that small whole scales widen is summed with zero before they are added.",
    _large_scales,
    copy=plus_zero,
)
# By itself it is a pool: 2,848 cycles for 1,024 elements on Ethos-U85-256, where a sum takes 512. On Ethos-U55 and U65
# it takes as long as a sum.
RESCALE_AS_SUM = copied(
    "rescaled_by_sum",
    _FROM_INT32,
    "What others read too, or an input, is summed with zero before a RESCALE from INT32.",
    _joined_or_by_channel,
    copy=plus_zero,
)
# Vela otherwise widens other elements, or some only, unless it makes the RESCALE part of what reads it.
CONCAT_TO_INT32 = copied(
    "pooled_before_widening",
    _OF_MOVED,
    "What was sliced, joined, padded or repeated goes through a pool before it is widened.",
    _read_narrow,
)
# Vela repeats it in the shape that it had before.
BROADCAST_INT32 = copied(
    "wide_repeated",
    _OF_MOVED_AFTER,
    "An operand that repeats along an axis is copied where it was moved after it was widened.",
    _not_repeated,
    operand="wide",
    copy=plus_zero,
)
RESCALE_AS_CAST = pattern_rewrite(
    "widened_by_cast", Stage.LEGALIZE, _TO_INT32, _rescale_as_cast, _not_to_int32, frozenset(_RESHAPE)
)
