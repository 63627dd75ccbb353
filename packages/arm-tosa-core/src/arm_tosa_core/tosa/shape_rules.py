"""Shapes and data types of each TOSA operator's results (TOSA 1.0, chapter 2 "Operators", ERROR_IF statements).

A rule takes the operands and the complete attributes of one operator and returns shape and type of each result. It
raises Rejected when the operands do not fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from ..support.errors import Rejected, require
from .ir import DType, Tensor
from .shape_arithmetic import known_shape

Result = tuple[tuple[int, ...], DType]
ShapeRule = Callable[[Sequence[Tensor], Mapping[str, Any]], list[Result]]

#: Result type of a convolution or matrix product where it differs from the input's.
_ACCUMULATED = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}
_FP8 = (DType.FP8E4M3, DType.FP8E5M2)


def shape_values(tensor: Tensor, what: str) -> list[int]:
    """The numbers in a SHAPE operand."""
    values = known_shape(tensor)
    if values is None:
        raise Rejected(f"{what} is not a compile-time constant")
    return values


def _rank(tensor: Tensor, rank: int, what: str) -> tuple[int, ...]:
    if len(tensor.shape) != rank:
        raise Rejected(f"{what} must have rank {rank}, got {list(tensor.shape)}")
    return tensor.shape


def _axis(tensor: Tensor, axis: int) -> int:
    if not 0 <= axis < len(tensor.shape):
        raise Rejected(f"axis {axis} is outside of {list(tensor.shape)}")
    return axis


def _positive(values: Sequence[int], what: str) -> None:
    if min(values) < 1:
        raise Rejected(f"{what} must be at least 1, got {list(values)}")


def _not_negative(values: Sequence[int], what: str) -> None:
    if min(values) < 0:
        raise Rejected(f"{what} must not be negative, got {list(values)}")


def _steps(span: int, stride: int, where: str) -> int:
    """1 + span / stride, which TOSA 1.0 wants to be exact (idiv_check)."""
    if span < 0:
        raise Rejected(f"{where}: the kernel is larger than the padded input")
    if span % stride:
        raise Rejected(
            f"{where}: TOSA wants the stride {stride} to divide the padded input minus the kernel, {span}",
            f"crop the input or the padding by {span % stride}",
        )
    return span // stride + 1


def _is_one(tensor: Tensor, what: str) -> None:
    if tensor.shape != (1,):
        raise Rejected(f"{what} must have shape [1], got {list(tensor.shape)}")


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """TOSA's broadcast: equal ranks, and dimensions that are equal or 1."""
    first = shapes[0]
    result = first
    for shape in shapes[1:]:
        if shape == result:
            continue
        if len(shape) != len(first):
            ranks = " and ".join(str(list(s)) for s in shapes)
            raise Rejected(f"operands must have equal ranks to broadcast, got {ranks}")
        dims = []
        for a, b in zip(result, shape, strict=True):
            if a != b and a != 1 and b != 1:
                raise Rejected(f"shapes do not broadcast: {' and '.join(str(list(s)) for s in shapes)}")
            dims.append(b if a == 1 else a)
        result = tuple(dims)
    return result


def same(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(inputs[0].shape, inputs[0].dtype)]


def clamp(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    low, high = attrs["min_val"], attrs["max_val"]
    require(low <= high, f"min_val {low} exceeds max_val {high}")
    return same(inputs, attrs)


def negate(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    _is_one(inputs[1], "input1_zp")
    _is_one(inputs[2], "output_zp")
    return same(inputs, attrs)


def binary(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(broadcast(inputs[0].shape, inputs[1].shape), inputs[0].dtype)]


def compare(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(broadcast(inputs[0].shape, inputs[1].shape), DType.BOOL)]


def mul(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    a, b, shift = inputs
    _is_one(shift, "shift")
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
    _is_one(input_zp, "input_zp")
    _is_one(output_zp, "output_zp")
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


def argmax(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    shape = inputs[0].shape
    axis = _axis(inputs[0], attrs["axis"])
    return [(shape[:axis] + shape[axis + 1 :], DType.INT32)]


def reduce(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    shape = inputs[0].shape
    axis = _axis(inputs[0], attrs["axis"])
    return [((*shape[:axis], 1, *shape[axis + 1 :]), inputs[0].dtype)]


def reverse(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    _axis(inputs[0], attrs["axis"])
    return same(inputs, attrs)


def _window(shape: tuple[int, ...], attrs: Mapping[str, Any]) -> tuple[int, ...]:
    kernel, stride, pad = attrs["kernel"], attrs["stride"], attrs["pad"]
    _positive(kernel, "kernel")
    _positive(stride, "stride")
    _not_negative(pad, "pad")
    top, bottom, left, right = pad
    require(
        max(top, bottom) < kernel[0] and max(left, right) < kernel[1],
        f"pad {list(pad)} must be less than the kernel {list(kernel)}",
    )
    return (
        shape[0],
        _steps(shape[1] + top + bottom - kernel[0], stride[0], "height"),
        _steps(shape[2] + left + right - kernel[1], stride[1], "width"),
        shape[3],
    )


def max_pool2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(_window(_rank(inputs[0], 4, "input"), attrs), inputs[0].dtype)]


def avg_pool2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    _is_one(inputs[1], "input_zp")
    _is_one(inputs[2], "output_zp")
    return max_pool2d(inputs, attrs)


def window_of(operands: Sequence[Tensor]) -> dict[str, list[int]]:
    """Kernel, stride and pad of an adaptive pool, which are operands, as the attributes of a pool that is not."""
    wanted = {"kernel": 2, "stride": 2, "pad": 4}
    window = {name: shape_values(tensor, name) for name, tensor in zip(wanted, operands, strict=True)}
    for name, values in window.items():
        require(len(values) == wanted[name], f"{name} takes {wanted[name]} numbers, got {values}")
    return window


def max_pool2d_adaptive(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return max_pool2d(inputs, window_of(inputs[1:]))


def avg_pool2d_adaptive(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return avg_pool2d(inputs, window_of(inputs[3:]))


def _convolution_dtype(x: Tensor) -> DType:
    return DType.FP16 if x.dtype in _FP8 else _ACCUMULATED.get(x.dtype, x.dtype)


def _convolved(
    inputs: Sequence[Tensor], attrs: Mapping[str, Any], kernel: Sequence[int], channels_in: int, channels_out: int
) -> list[Result]:
    """A convolution over the spatial dimensions of an N..C input."""
    x, _, bias, input_zp, weight_zp = inputs
    _is_one(input_zp, "input_zp")
    _is_one(weight_zp, "weight_zp")
    sizes = attrs["pad"], attrs["stride"], attrs["dilation"]
    return [(_convolved_shape(x, bias, sizes, kernel, channels_in, channels_out), _convolution_dtype(x))]


def _convolved_shape(
    x: Tensor,
    bias: Tensor,
    sizes: tuple[Sequence[int], Sequence[int], Sequence[int]],
    kernel: Sequence[int],
    channels_in: int,
    channels_out: int,
) -> tuple[int, ...]:
    pad, stride, dilation = sizes
    _not_negative(pad, "pad")
    _positive(stride, "stride")
    _positive(dilation, "dilation")
    require(x.shape[-1] == channels_in, f"input has {x.shape[-1]} channels, weight takes {channels_in}")
    _bias(bias, channels_out)
    spatial = [
        _steps(
            x.shape[1 + i] - 1 + pad[2 * i] + pad[2 * i + 1] - (kernel[i] - 1) * dilation[i],
            stride[i],
            f"spatial dimension {i}",
        )
        for i in range(len(kernel))
    ]
    return (x.shape[0], *spatial, channels_out)


def _bias(bias: Tensor, channels: int) -> None:
    require(
        len(bias.shape) == 1 and bias.shape[0] in (1, channels),
        f"bias must have shape [{channels}] or [1], got {list(bias.shape)}",
    )


def conv2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    _rank(inputs[0], 4, "input")
    out, *kernel, channels = _rank(inputs[1], 4, "weight [OC, KH, KW, IC]")
    return _convolved(inputs, attrs, kernel, channels, out)


def conv3d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    _rank(inputs[0], 5, "input")
    out, *kernel, channels = _rank(inputs[1], 5, "weight [OC, KD, KH, KW, IC]")
    return _convolved(inputs, attrs, kernel, channels, out)


def depthwise_conv2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    _rank(inputs[0], 4, "input")
    *kernel, channels, multiplier = _rank(inputs[1], 4, "weight [KH, KW, C, M]")
    return _convolved(inputs, attrs, kernel, channels, channels * multiplier)


def transpose_conv2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, weight, bias, input_zp, weight_zp = inputs
    n, height, width, channels = _rank(x, 4, "input")
    out, kernel_y, kernel_x, channels_in = _rank(weight, 4, "weight [OC, KH, KW, IC]")
    stride = attrs["stride"]
    top, bottom, left, right = attrs["out_pad"]
    _positive(stride, "stride")
    require(channels == channels_in, f"input has {channels} channels, weight takes {channels_in}")
    require(
        min(top, bottom) > -kernel_y and min(left, right) > -kernel_x,
        f"out_pad {list(attrs['out_pad'])} must be more than minus the kernel {[kernel_y, kernel_x]}",
    )
    _bias(bias, out)
    _is_one(input_zp, "input_zp")
    _is_one(weight_zp, "weight_zp")
    shape = (
        n,
        (height - 1) * stride[0] + top + bottom + kernel_y,
        (width - 1) * stride[1] + left + right + kernel_x,
        out,
    )
    require(min(shape) > 0, f"the result would have shape {list(shape)}")
    return [(shape, _convolution_dtype(x))]


def matmul(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    a, b, a_zp, b_zp = inputs
    n, height, depth = _rank(a, 3, "A")
    n_b, depth_b, width = _rank(b, 3, "B")
    require(n == n_b, f"A and B have {n} and {n_b} batches")
    require(depth == depth_b, f"A {list(a.shape)} and B {list(b.shape)} do not multiply")
    _is_one(a_zp, "A_zp")
    _is_one(b_zp, "B_zp")
    return [((n, height, width), attrs["output_dtype"])]


def matmul_t(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    """A product with the transpose of B, whose batch may be 1."""
    a, b, a_zp, b_zp = inputs
    _is_one(a_zp, "A_zp")
    _is_one(b_zp, "B_zp")
    return [(_times_transposed(a, b), attrs["output_dtype"])]


def _times_transposed(a: Tensor, b: Tensor) -> tuple[int, ...]:
    n, height, depth = _rank(a, 3, "A")
    n_b, width, depth_b = _rank(b, 3, "B")
    require(n_b in (1, n), f"A and B have {n} and {n_b} batches")
    require(depth == depth_b, f"A {list(a.shape)} and the transpose of B {list(b.shape)} do not multiply")
    return n, height, width


def matmul_t_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    a, a_scale, b, b_scale = inputs
    _scaled(a, a_scale, attrs, "A")
    _scaled(b, b_scale, attrs, "B")
    return [(_times_transposed(a, b), DType.FP32)]


def _blocks(x: Tensor, attrs: Mapping[str, Any], what: str) -> tuple[int, ...]:
    """The shape of the scales of a tensor: a scale for each block of numbers along the last axis."""
    size = int(attrs["block_size"].rpartition("_")[2])
    require(len(x.shape) >= 1, f"{what} is a scalar, which has no blocks")
    require(x.shape[-1] % size == 0, f"{what} has {x.shape[-1]} numbers in the last axis, no multiple of {size}")
    return (*x.shape[:-1], x.shape[-1] // size)


def _scaled(x: Tensor, scale: Tensor, attrs: Mapping[str, Any], what: str) -> None:
    wanted = _blocks(x, attrs, what)
    require(scale.shape == wanted, f"the scale of {what} must have shape {list(wanted)}, got {list(scale.shape)}")


def cast_to_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x = inputs[0]
    return [(x.shape, attrs["output_dtype"]), (_blocks(x, attrs, "the input"), DType.FP8UE8M0)]


def cast_from_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, scale = inputs
    _scaled(x, scale, attrs, "the input")
    return [(x.shape, attrs["output_dtype"])]


def conv2d_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, x_scale, weight, weight_scale, bias, *sizes = inputs
    _scaled(x, x_scale, attrs, "the input")
    _scaled(weight, weight_scale, attrs, "the weight")
    _rank(x, 4, "input")
    out, *kernel, channels = _rank(weight, 4, "weight [OC, KH, KW, IC]")
    pad, stride, dilation = (shape_values(t, n) for t, n in zip(sizes, ("pad", "stride", "dilation"), strict=True))
    require(len(pad) == 4 and len(stride) == len(dilation) == 2, "pad has 4 numbers, stride and dilation have 2 each")
    return [(_convolved_shape(x, bias, (pad, stride, dilation), kernel, channels, out), DType.FP32)]


def matmul_dtype(inputs: Sequence[Tensor]) -> DType:
    """The result type of MATMUL where the caller asks for none."""
    dtype = inputs[0].dtype
    if dtype is DType.BF16:
        return DType.FP32
    return DType.FP16 if dtype in _FP8 else _ACCUMULATED.get(dtype, dtype)


def accumulator(inputs: Sequence[Tensor]) -> DType:
    """The accumulator of a convolution: exact for integers, FP32 where TOSA offers it for floats."""
    dtype = inputs[0].dtype
    if dtype is DType.INT16:
        return DType.INT48
    if dtype.is_integer:
        return DType.INT32
    return DType.FP16 if dtype in _FP8 else DType.FP32


def pool_accumulator(inputs: Sequence[Tensor]) -> DType:
    """The accumulator of AVG_POOL2D, which is INT32 for INT16 too."""
    return DType.INT32 if inputs[0].dtype.is_integer else accumulator(inputs)


def _fft_shape(tensor: Tensor) -> tuple[int, int, int]:
    n, height, width = _rank(tensor, 3, "input")
    for size in (height, width):
        require(size > 0 and size & (size - 1) == 0, f"FFT sizes must be powers of two, got {[height, width]}")
    return n, height, width


def fft2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    real, imaginary = inputs
    shape = _fft_shape(real)
    require(imaginary.shape == shape, f"real and imaginary parts differ: {list(shape)} and {list(imaginary.shape)}")
    return [(shape, real.dtype), (shape, real.dtype)]


def rfft2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    n, height, width = _fft_shape(inputs[0])
    return [((n, height, width // 2 + 1), inputs[0].dtype)] * 2


def concat(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    first = inputs[0]
    axis = _axis(first, attrs["axis"])
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
    _not_negative(amounts, "padding")
    _is_one(pad_const, "pad_const")
    shape = tuple(d + amounts[2 * i] + amounts[2 * i + 1] for i, d in enumerate(x.shape))
    return [(shape, x.dtype)]


def reshape(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, shape = inputs
    dims = shape_values(shape, "shape")
    require(prod(dims) == x.size and min(dims, default=1) >= 1, f"cannot reshape {list(x.shape)} to {dims}")
    return [(tuple(dims), x.dtype)]


def reshape_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    data, scale, shape = inputs
    _scaled(data, scale, attrs, "the input")
    ((dims, dtype),) = reshape([data, shape], attrs)
    return [(dims, dtype), (_blocks(Tensor(dims, dtype), attrs, "the result"), scale.dtype)]


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
    _positive(times, "multiples")
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
    n, _, channels = _rank(values, 3, "values")
    n_indices, width = _rank(indices, 2, "indices")
    require(n == n_indices, f"values and indices have {n} and {n_indices} batches")
    return [((n, width, channels), values.dtype)]


def row_gather(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    """Of each index, as many rows from there on as ``row_count`` says."""
    values, indices, row_count = inputs
    _is_one(row_count, "row_count")
    ((shape, dtype),) = gather([values, indices], attrs)
    (rows,) = shape_values(row_count, "row_count")
    require(1 <= rows <= values.shape[1], f"row_count {rows} is outside of 1 to {values.shape[1]}")
    return [((shape[0], shape[1] * rows, shape[2]), dtype)]


def row_gather_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    data, scale, *rest = inputs
    _scaled(data, scale, attrs, "the input")
    return row_gather([data, *rest], attrs) + row_gather([scale, *rest], attrs)


def scatter(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    values, indices, x = inputs
    n, rows, channels = _rank(values, 3, "values_in")
    n_indices, width = _rank(indices, 2, "indices")
    _rank(x, 3, "input")
    require(n == n_indices, f"values_in and indices have {n} and {n_indices} batches")
    require(x.shape == (n, width, channels), f"input must have shape {[n, width, channels]}, got {list(x.shape)}")
    require(rows >= width, f"{width} rows are written to {rows}: no row may be written twice")
    return [(values.shape, values.dtype)]


_RESIZED = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}
_MAX_RESIZE = 16384


def resize(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, scale, offset, border = inputs
    n, height, width, channels = _rank(x, 4, "input")
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
    """The body takes and gives what the loop takes; the condition is one bool."""
    carried = [(t.shape, t.dtype) for t in inputs]
    condition, body = attrs["cond_graph"], attrs["body_graph"]
    for graph in (condition, body):
        taken = [(t.shape, t.dtype) for t in graph.inputs]
        require(taken == carried, f"graph {graph.name} takes {taken}, the loop {carried}")
    made = [(t.shape, t.dtype) for t in body.outputs]
    require(made == carried, f"the body gives {made}, the loop takes {carried}")
    wanted = [(t.size, t.dtype) for t in condition.outputs] == [(1, DType.BOOL)]
    require(wanted, f"the condition gives {condition.outputs}, not one bool")
    return carried
