"""LEGALIZE rewrites for Ethos-U: constructs that Vela takes, but slowly or to something else than what TOSA says.

``docs/vela-differences.md`` lists the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from arm_tosa_core.ir import DType, Graph, Op, Tensor
from arm_tosa_core.rewrite import Rewrite, Stage
from arm_tosa_core.scaling import multiplier_and_shift

from .accelerators import family_of

_NATIVE_STRIDE = 3
#: Of a RESCALE with a multiplier of 16 bits: 15 of them, shifted right by 2 at least.
_LARGEST_FACTOR = 2.0**13


def _patches(graph: Graph, op: Op) -> bool:
    """A convolution whose windows lie side by side becomes a 1x1 convolution over patches.

    Vela cuts a stride beyond 3 into one operation per output element: 196 for the patches of a vision transformer.
    """
    image, weight, *rest = op.inputs
    outputs, height, width, channels = weight.shape
    if op.attrs["stride"] != (height, width) or max(height, width) <= _NATIVE_STRIDE or weight.data is None:
        return False
    if any(op.attrs["pad"]) or op.attrs["dilation"] != (1, 1):
        return False
    batch, rows, columns = op.output.shape[:3]
    index = graph.ops.index(op)
    tensor = image
    for name, shape in (
        ("RESHAPE", (batch * rows, height, columns, width * channels)),
        ("TRANSPOSE", (0, 2, 1, 3)),
        ("RESHAPE", (batch, rows, columns, height * width * channels)),
    ):
        if name == "RESHAPE":
            made = graph.insert(index, name, [tensor, graph.shape(shape)], {}, op.origin)
        else:
            made = graph.insert(index, name, [tensor], {"perms": shape}, op.origin)
        tensor, index = made.output, index + 1
    flat = graph.constant(weight.data.reshape(outputs, 1, 1, -1), weight.dtype)
    attrs = {**op.attrs, "stride": (1, 1)}
    graph.replace(op.output, graph.insert(index, "CONV2D", [tensor, flat, *rest], attrs, op.origin).output)
    return True


def _scales(rescale: Op) -> np.ndarray[Any, Any]:
    """What a RESCALE multiplies by: one number, or one for each channel."""
    multiplier, shift = (rescale.inputs[i].data for i in (1, 2))
    assert multiplier is not None and shift is not None
    return np.ldexp(multiplier.astype(np.float64), -shift.astype(np.int64))


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


def _through_pool(graph: Graph, index: int, tensor: Tensor, like: Op) -> Tensor:
    """A copy of a tensor, made by a pool inserted before ``index``: what Vela then gives a place of its own."""

    def insert(name: str, *operands: Tensor, **attrs: Any) -> Tensor:
        nonlocal index
        index += 1
        return graph.insert(index - 1, name, operands, attrs, like.origin).output

    image = tensor
    if tensor.rank != 4:
        channels = tensor.shape[-1] if tensor.rank else 1
        image = insert("RESHAPE", tensor, graph.shape((1, 1, tensor.size // channels, channels)))
    image = insert("MAX_POOL2D", image, kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0))
    return image if tensor.rank == 4 else insert("RESHAPE", image, graph.shape(tensor.shape))


def _is_poolable(tensor: Tensor) -> bool:
    return tensor.dtype in (DType.INT8, DType.INT16)


def _source(tensor: Tensor) -> str:
    """The operator that makes a tensor, before any RESCALE and RESHAPE; empty for an input or a constant."""
    op = tensor.producer
    while op is not None and op.name in ("RESCALE", "RESHAPE"):
        op = op.inputs[0].producer
    return "" if op is None else op.name


#: Operators, and those whose results Vela does not give them at the right place, or of the right size.
_WRONG_PLACES = {"TRANSPOSE_CONV2D": ("SLICE",)}
_WRONG_PLACES_U55 = {
    **_WRONG_PLACES,
    "MATMUL": ("SLICE",),
    **dict.fromkeys(("CONCAT", "PAD"), ("TRANSPOSE_CONV2D", "MATMUL")),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN"), ("SLICE", "REDUCE_SUM")),
}


def _detour(wrong_places: Mapping[str, tuple[str, ...]]) -> Rewrite:
    """What some operators make goes through a pool before others join, pad, reduce or multiply it."""

    def apply(graph: Graph, op: Op) -> bool:
        changed = False
        for position, tensor in enumerate(op.inputs):
            if _source(tensor) in wrong_places[op.name] and _is_poolable(tensor):
                graph.set_input(op, position, _through_pool(graph, graph.ops.index(op), tensor, op))
                changed = True
        return changed

    return Rewrite("detour", Stage.LEGALIZE, tuple(wrong_places), apply)


def _pooled_extreme(graph: Graph, op: Op) -> bool:
    """A maximum or minimum along an axis, of an image, goes through a pool before it is rescaled or moved.

    Vela fuses it with those, and gets sizes or places wrong.
    """
    x, axis = op.inputs[0], op.attrs["axis"]
    if not _is_poolable(x) or not any(use.name in ("RESCALE", "RESHAPE", "CONCAT", "PAD") for use in op.output.uses):
        return False
    index, attrs = graph.ops.index(op), {**op.attrs}
    if x.rank != 4:  # else the reshape to an image would come between
        outer, inner = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
        shape = (1, 1, outer, x.shape[axis]) if inner == 1 else (1, outer, x.shape[axis], inner)
        x, attrs["axis"] = (
            graph.insert(index, "RESHAPE", [x, graph.shape(shape)], {}, op.origin).output,
            3 - (inner > 1),
        )
        index += 1
    extreme = graph.insert(index, op.name, [x], attrs, op.origin).output
    pooled = _through_pool(graph, index + 1, extreme, op)
    if pooled.shape != op.output.shape:
        index = graph.ops.index(op)
        pooled = graph.insert(index, "RESHAPE", [pooled, graph.shape(op.output.shape)], {}, op.origin).output
    graph.replace(op.output, pooled)
    return True


def _scales_of_parts(graph: Graph, op: Op) -> bool:
    """A RESCALE by channel goes through a pool after channels were joined or padded.

    Vela rescales the parts instead, each with the scales of the first channels.
    """
    joined = op.inputs[0].producer
    if joined is None or joined.name not in ("CONCAT", "PAD") or not op.attrs["per_channel"]:
        return False
    if not _is_poolable(op.inputs[0]):
        return False
    graph.set_input(op, 0, _through_pool(graph, graph.ops.index(op), op.inputs[0], op))
    return True


_CHAINED = ("RESCALE", "RESHAPE", "MUL", "ADD", "SUB", "MAXIMUM", "MINIMUM", "CLAMP")


def _one_table_in_a_chain(graph: Graph, op: Op) -> bool:
    """An INT16 TABLE on what comes from another one, through operators that Vela chains, goes through a pool.

    There is room for one such table; in a chain the second one replaces the first before that was used.
    """
    x = op.inputs[0]
    if x.dtype is not DType.INT16:
        return False
    waiting, seen = [x], {x}
    while waiting:
        producer = waiting.pop().producer
        if producer is None:
            continue
        if producer.name == "TABLE":
            graph.set_input(op, 0, _through_pool(graph, graph.ops.index(op), x, op))
            return True
        if producer.name in _CHAINED:
            new = [tensor for tensor in producer.inputs if tensor not in seen]
            waiting += new
            seen.update(new)
    return False


def _table_first(graph: Graph, op: Op) -> bool:
    """A TABLE of a TRANSPOSE becomes a TRANSPOSE of a TABLE.

    Vela fuses the former, and on the smallest Ethos-U55 puts the table behind the end of the on-chip memory.
    """
    transpose = op.inputs[0].producer
    if transpose is None or transpose.name != "TRANSPOSE" or op.inputs[0].dtype is not DType.INT8:
        return False
    index = graph.ops.index(op)
    table = graph.insert(index, "TABLE", [transpose.inputs[0], op.inputs[1]], op.attrs, op.origin)
    moved = graph.insert(index + 1, "TRANSPOSE", [table.output], transpose.attrs, transpose.origin)
    graph.replace(op.output, moved.output)
    return True


PATCHES = Rewrite("patches_as_channels", Stage.LEGALIZE, ("CONV2D",), _patches)
ONE_RESCALE = Rewrite("one_rescale_from_int48", Stage.LEGALIZE, ("RESCALE",), _one_rescale)
SCALES_OF_PARTS = Rewrite("scales_of_parts", Stage.LEGALIZE, ("RESCALE",), _scales_of_parts)
POOLED_EXTREME = Rewrite("pooled_extreme", Stage.LEGALIZE, ("REDUCE_MAX", "REDUCE_MIN"), _pooled_extreme)
DETOUR, DETOUR_U55 = _detour(_WRONG_PLACES), _detour(_WRONG_PLACES_U55)
ONE_TABLE = Rewrite("one_table_in_a_chain", Stage.LEGALIZE, ("TABLE",), _one_table_in_a_chain)
TABLE_FIRST = Rewrite("table_before_transpose", Stage.LEGALIZE, ("TABLE",), _table_first)


def rewrites_for(accelerator: str) -> tuple[Rewrite, ...]:
    """The rewrites for an accelerator: what Vela gets wrong differs between families, and with their on-chip memory."""
    common = (PATCHES, ONE_RESCALE, SCALES_OF_PARTS, POOLED_EXTREME)
    if family_of(accelerator) == "u85":
        return (*common, DETOUR, ONE_TABLE)
    small = accelerator in ("ethos-u55-32", "ethos-u55-64")
    return (*common, DETOUR_U55, *((TABLE_FIRST,) if small else ()))
