"""Windows over a part of a tensor, where Vela makes several operations of one and forgets what the part begins with."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.pattern import Match, Pattern
from arm_tosa_core.tosa.scaling import is_by_one

from ..limits import MAX_AXIS, MAX_STRIDE
from .max_pool_copies import copied
from .slice_of_view import leading_ones

_DILATION = 2  # of more Vela makes several operations
_AVERAGED = 8  # rows or columns that an average with padding has at most in one operation
_WINDOWS = ("AVG_POOL2D", "CONV2D", "DEPTHWISE_CONV2D", "MAX_POOL2D")


def _rightly_read(match: Match) -> str | None:
    op, part, shape = match.op, match["part"], match.op.inputs[0].shape
    if not all(map(_is_left_out, match.between("part"))):
        return "what lies between is an operation"
    is_copy = op.attrs.get("kernel") == op.attrs["stride"] == (1, 1)  # a pool that this rewrite has put in
    if is_copy or not (_is_of_many(op) or shape[0] > 1):
        return "Vela makes one operation of it"
    top, _, left, _ = op.attrs["pad"]
    cuts_image = part.inputs[0].shape[1:-1] != part.output.shape[1:-1]
    return None if top or left or (_is_of_many(op) and cuts_image) else "it has no padding, and reads all rows"


def _is_of_many(op: Op) -> bool:
    """Whether Vela makes several operations of one image."""
    return (
        max(*op.inputs[0].shape[1:], *op.output.shape[1:]) > MAX_AXIS
        or max(op.attrs["stride"]) > MAX_STRIDE
        or max(op.attrs.get("dilation", (1, 1))) > _DILATION
        or (op.name == "AVG_POOL2D" and max(op.attrs["kernel"]) > _AVERAGED)
        or (op.name == "DEPTHWISE_CONV2D" and op.inputs[1].shape[3] > 1)
        or (op.name in _WINDOWS[1:3] and not all(weight.is_constant for weight in op.inputs[1:3]))
    )


def _is_left_out(op: Op) -> bool:
    if op.name == "RESHAPE":
        read, made = op.inputs[0].shape, op.output.shape
        return read[leading_ones(read) :] == made[leading_ones(made) :]
    return op.name == "IDENTITY" or (op.name == "RESCALE" and is_by_one(op))


_OF_SLICE = Pattern("|".join(_WINDOWS), {0: Pattern("SLICE", name="part", through=("IDENTITY", "RESCALE", "RESHAPE"))})

# Vela has a whole tensor begin at minus the padding, and a part of it where the SLICE says: padding at the top and left
# is lost (``DecomposeConv2D`` and its like in Vela's ``scheduler_decompose.cpp``). Of a part of the rows or columns,
# longer dilations and strides count elements from the start of the whole.
POOL_OF_SLICE = copied(
    "pool_of_slice",
    _OF_SLICE,
    "What a window with padding, in several operations of Vela, takes of a SLICE goes through a pool first.",
    _rightly_read,
)
