"""Shapes and data types of each TOSA operator's results (TOSA 1.0, chapter 2 "Operators", ERROR_IF statements).

A rule takes the operands and the complete attributes of one operator and returns shape and type of each result. It
raises Rejected when the operands do not fit together.

``tensor_operators`` has those of section 2.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..support.errors import Rejected, require
from .ir import DType, Tensor
from .shape_checks import (
    Result,
    axis_of,
    blocks,
    broadcast,
    is_one,
    not_negative,
    positive,
    rank_of,
    scaled,
    shape_values,
)


def same(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(inputs[0].shape, inputs[0].dtype)]


def clamp(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    low, high = attrs["min_val"], attrs["max_val"]
    require(low <= high, f"min_val {low} exceeds max_val {high}")
    return same(inputs, attrs)


def negate(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    is_one(inputs[1], "input1_zp")
    is_one(inputs[2], "output_zp")
    return same(inputs, attrs)


def binary(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(broadcast(inputs[0].shape, inputs[1].shape), inputs[0].dtype)]


def compare(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(broadcast(inputs[0].shape, inputs[1].shape), DType.BOOL)]


def mul(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    a, b, shift = inputs
    is_one(shift, "shift")
    if shift.data is not None and (by := int(shift.data[0])):
        require(a.dtype is DType.INT32, f"shift {by} with {a.dtype} operands; only INT32 takes one")
        require(0 <= by <= 63, f"shift {by} is outside of 0 to 63")
    dtype = DType.INT32 if a.dtype.is_integer and a.dtype is not DType.INT64 else a.dtype
    return [(broadcast(a.shape, b.shape), dtype)]


def select(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(broadcast(inputs[0].shape, inputs[1].shape, inputs[2].shape), inputs[1].dtype)]


def table(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, entries = inputs
    length = 513 if x.dtype is DType.INT16 else 256
    require(entries.shape == (length,), f"table of {x.dtype} must have shape [{length}], got {list(entries.shape)}")
    return [(x.shape, DType.INT32 if x.dtype is DType.INT16 else x.dtype)]


def cast(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(inputs[0].shape, attrs["output_dtype"])]


def rescale(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, multiplier, shift, input_zp, output_zp = inputs
    is_one(input_zp, "input_zp")
    is_one(output_zp, "output_zp")
    if attrs["per_channel"]:
        require(len(x.shape) >= 1, "per_channel needs rank 1 or more")
        channels = x.shape[-1:]
    else:
        channels = (1,)
    require(
        multiplier.shape == shift.shape == channels,
        f"multiplier and shift must have shape {list(channels)}, got {list(multiplier.shape)} and {list(shift.shape)}",
    )
    scale = DType.INT32 if attrs["scale32"] else DType.INT16
    require(multiplier.dtype is scale, f"multiplier must be {scale} when scale32={attrs['scale32']}")
    require(shift.dtype is DType.INT8, f"shift must be INT8, got {shift.dtype}")
    require(not (attrs["scale32"] and x.dtype is DType.INT48), "scale32 cannot rescale INT48")
    require(attrs["scale32"] or attrs["rounding_mode"] != "DOUBLE_ROUND", "DOUBLE_ROUND needs scale32")
    require(not (attrs["input_unsigned"] and attrs["output_unsigned"]), "input and output are both unsigned")
    for side, dtype in (("input", x.dtype), ("output", attrs["output_dtype"])):
        require(dtype is not DType.UINT8 or attrs[f"{side}_unsigned"], f"{side} is UINT8: {side}_unsigned must be set")
    return [(x.shape, attrs["output_dtype"])]


def reduce(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    shape = inputs[0].shape
    axis = axis_of(inputs[0], attrs["axis"])
    return [((*shape[:axis], 1, *shape[axis + 1 :]), inputs[0].dtype)]


def reverse(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    axis_of(inputs[0], attrs["axis"])
    return same(inputs, attrs)


def concat(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    first = inputs[0]
    axis = axis_of(first, attrs["axis"])
    total = 0
    for tensor in inputs:
        shape = tensor.shape
        if shape[:axis] != first.shape[:axis] or shape[axis + 1 :] != first.shape[axis + 1 :] or axis >= len(shape):
            raise Rejected(f"shapes {list(first.shape)} and {list(shape)} differ outside of axis {axis}")
        if tensor.dtype is not first.dtype:
            raise Rejected(f"operands have different types, {first.dtype} and {tensor.dtype}")
        total += shape[axis]
    return [((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)]


def pad(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, padding, pad_const = inputs
    require(len(x.shape) >= 1, "a scalar cannot be padded")
    amounts = shape_values(padding, "padding")
    require(len(amounts) == 2 * len(x.shape), f"padding must have {2 * len(x.shape)} numbers, got {len(amounts)}")
    not_negative(amounts, "padding")
    is_one(pad_const, "pad_const")
    shape = tuple(d + amounts[2 * i] + amounts[2 * i + 1] for i, d in enumerate(x.shape))
    return [(shape, x.dtype)]


def reshape(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, shape = inputs
    dims = shape_values(shape, "shape")
    require(prod(dims) == x.size and min(dims, default=1) >= 1, f"cannot reshape {list(x.shape)} to {dims}")
    return [(tuple(dims), x.dtype)]


def reshape_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    data, scale, shape = inputs
    scaled(data, scale, attrs, "the input")
    ((dims, dtype),) = reshape([data, shape], attrs)
    return [(dims, dtype), (blocks(Tensor(dims, dtype), attrs, "the result"), scale.dtype)]


def slice_(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, start, size = inputs
    starts, sizes = shape_values(start, "start"), shape_values(size, "size")
    require(len(x.shape) >= 1, "a scalar cannot be sliced")
    require(
        len(starts) == len(sizes) == len(x.shape), f"start and size must have {len(x.shape)} numbers, as the input has"
    )
    for at, length, d in zip(starts, sizes, x.shape, strict=True):
        if at < 0 or length < 1 or at + length > d:
            raise Rejected(f"start {starts} and size {sizes} are outside of {list(x.shape)}")
    return [(tuple(sizes), x.dtype)]


def tile(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, multiples = inputs
    times = shape_values(multiples, "multiples")
    require(len(times) == len(x.shape) >= 1, f"multiples must have {len(x.shape)} numbers, got {len(times)}")
    positive(times, "multiples")
    return [(tuple(d * n for d, n in zip(x.shape, times, strict=True)), x.dtype)]


def transpose(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, perms = inputs[0], attrs["perms"]
    shape = x.shape
    if len(perms) != len(shape) or sorted(perms) != list(range(len(shape))):
        raise Rejected(f"perms {list(perms)} is not a permutation of the dimensions of {list(shape)}")
    require(len(shape) >= 1, "a scalar cannot be transposed")
    return [(tuple(shape[p] for p in perms), x.dtype)]


def gather(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    values, indices = inputs
    n, _, channels = rank_of(values, 3, "values")
    n_indices, width = rank_of(indices, 2, "indices")
    require(n == n_indices, f"values and indices have {n} and {n_indices} batches")
    return [((n, width, channels), values.dtype)]


def row_gather(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    """For each index, ``row_count`` rows from there on."""
    values, indices, row_count = inputs
    is_one(row_count, "row_count")
    ((shape, dtype),) = gather([values, indices], attrs)
    (rows,) = shape_values(row_count, "row_count")
    require(1 <= rows <= values.shape[1], f"row_count {rows} is outside of 1 to {values.shape[1]}")
    return [((shape[0], shape[1] * rows, shape[2]), dtype)]


def row_gather_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    data, scale, *indices = inputs
    scaled(data, scale, attrs, "the input")
    return row_gather([data, *indices], attrs) + row_gather([scale, *indices], attrs)


def scatter(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    values, indices, x = inputs
    n, rows, channels = rank_of(values, 3, "values_in")
    n_indices, width = rank_of(indices, 2, "indices")
    rank_of(x, 3, "input")
    require(n == n_indices, f"values_in and indices have {n} and {n_indices} batches")
    require(x.shape == (n, width, channels), f"input must have shape {[n, width, channels]}, got {list(x.shape)}")
    require(rows >= width, f"{width} rows are written to {rows}: no row may be written twice")
    return [(values.shape, values.dtype)]


_RESIZED = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}
_MAX_RESIZE = 16384


def resize(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, scale, offset, border = inputs
    n, height, width, channels = rank_of(x, 4, "input")
    factors = shape_values(scale, "scale")
    offsets, borders = shape_values(offset, "offset"), shape_values(border, "border")
    require(len(factors) == 4 and len(offsets) == len(borders) == 2, "scale has 4 numbers, offset and border 2 each")
    sizes = []
    for i, (length, where) in enumerate(((height, "height"), (width, "width"))):
        up, down = factors[2 * i], factors[2 * i + 1]
        require(0 < up <= 1 << 11 and 0 < down < 16 * up, f"{where}: scale {up}/{down} is outside of TOSA's range")
        require(-up <= offsets[i] < 16 * up, f"{where}: offset {offsets[i]} is outside of TOSA's range")
        require(-16 * up <= borders[i] < up, f"{where}: border {borders[i]} is outside of TOSA's range")
        span = (length - 1) * up - offsets[i] + borders[i]
        require(span >= 0 and span % down == 0, f"{where}: {span} is not a multiple of the scale's denominator {down}")
        sizes.append(span // down + 1)
        require(max(length, sizes[-1]) < _MAX_RESIZE, f"{where} of {max(length, sizes[-1])} exceeds {_MAX_RESIZE - 1}")
    dtype = _RESIZED.get(x.dtype, x.dtype) if attrs["mode"] == "BILINEAR" else x.dtype
    return [((n, *sizes, channels), dtype)]


def custom(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(tuple(shape), dtype) for shape, dtype in attrs["results"]]


def while_loop(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    """The body takes and gives tensors of the loop's types; the condition is one bool."""
    carried = [(t.shape, t.dtype) for t in inputs]
    condition, body = attrs["cond_graph"], attrs["body_graph"]
    for graph in (condition, body):
        parameters = [(t.shape, t.dtype) for t in graph.inputs]
        require(parameters == carried, f"graph {graph.name} takes {parameters}, the loop {carried}")
    results = [(t.shape, t.dtype) for t in body.outputs]
    require(results == carried, f"the body gives {results}, the loop takes {carried}")
    is_bool = [(t.size, t.dtype) for t in condition.outputs] == [(1, DType.BOOL)]
    require(is_bool, f"the condition gives {condition.outputs}, not one bool")
    return carried
