"""Windows over a part of a tensor, where Vela makes several operations of one and forgets what the part begins with."""

from __future__ import annotations

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.rewrite import Rewrite, Stage
from arm_tosa_core.tosa.scaling import is_by_one

from ..limits import MAX_AXIS, MAX_STRIDE
from .max_pool_copies import through_pool
from .slice_of_view import leading_ones

_DILATION = 2  # of more Vela makes several operations
_AVERAGED = 8  # rows or columns that an average with padding has at most in one operation
_WINDOWS = ("AVG_POOL2D", "CONV2D", "DEPTHWISE_CONV2D", "MAX_POOL2D")


def _pool_of_slice(graph: Graph, op: Op) -> bool:
    """What a window with padding, in several operations of Vela, takes of a SLICE goes through a pool first.

    Vela has a whole tensor begin at minus the padding, and a part of it where the SLICE says: padding at the top and
    left is lost (``DecomposeConv2D`` and its like in Vela's ``scheduler_decompose.cpp``). Of a part of the rows or
    columns, longer dilations and strides count elements from the start of the whole.
    """
    image = op.inputs[0]
    part = _slice(image)
    if part is None or not (_is_of_many(op) or image.shape[0] > 1) or _is_copy(op):
        return False
    top, _, left, _ = op.attrs["pad"]
    if not (top or left) and not (_is_of_many(op) and _cuts_image(part)):
        return False
    graph.set_input(op, 0, through_pool(graph, op, image))
    return True


def _is_copy(op: Op) -> bool:
    """Whether it is a pool as this rewrite puts in, which has no padding, strides or dilation to get wrong."""
    return bool(op.attrs.get("kernel") == op.attrs["stride"] == (1, 1))


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


def _slice(tensor: Tensor) -> Op | None:
    """The SLICE whose result a window reads, perhaps by what Vela leaves out."""
    op = tensor.producer
    while op is not None and _is_left_out(op):
        op = op.inputs[0].producer
    return op if op is not None and op.name == "SLICE" else None


def _is_left_out(op: Op) -> bool:
    if op.name == "RESHAPE":
        read, made = op.inputs[0].shape, op.output.shape
        return read[leading_ones(read) :] == made[leading_ones(made) :]
    return op.name == "IDENTITY" or (op.name == "RESCALE" and is_by_one(op))


def _cuts_image(part: Op) -> bool:
    """Whether it leaves out rows or columns, which are all axes but the last one and the images."""
    return part.inputs[0].shape[1:-1] != part.output.shape[1:-1]


POOL_OF_SLICE = Rewrite(
    "pool_of_slice", Stage.LEGALIZE, _WINDOWS, _pool_of_slice, frozenset(("IDENTITY", "RESCALE", "RESHAPE"))
)
