"""Shape rules of TOSA's tensor operators (TOSA 1.0, section 2.2): pools, convolutions, products, Fourier transforms.

They are as those of ``shape_rules``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..support.errors import require
from .ir import DType, Tensor
from .shape_checks import Result, axis_of, blocks, is_one, not_negative, positive, rank_of, scaled, shape_values, steps

#: Result type of a convolution or matrix product where it differs from the input's.
_ACCUMULATED = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}
_FP8 = (DType.FP8E4M3, DType.FP8E5M2)


def argmax(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    shape = inputs[0].shape
    axis = axis_of(inputs[0], attrs["axis"])
    return [(shape[:axis] + shape[axis + 1 :], DType.INT32)]


def _window(shape: tuple[int, ...], attrs: Mapping[str, Any]) -> tuple[int, ...]:
    kernel, stride, pad = attrs["kernel"], attrs["stride"], attrs["pad"]
    positive(kernel, "kernel")
    positive(stride, "stride")
    not_negative(pad, "pad")
    top, bottom, left, right = pad
    require(
        max(top, bottom) < kernel[0] and max(left, right) < kernel[1],
        f"pad {list(pad)} must be less than the kernel {list(kernel)}",
    )
    return (
        shape[0],
        steps(shape[1] + top + bottom - kernel[0], stride[0], "height"),
        steps(shape[2] + left + right - kernel[1], stride[1], "width"),
        shape[3],
    )


def max_pool2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    return [(_window(rank_of(inputs[0], 4, "input"), attrs), inputs[0].dtype)]


def avg_pool2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    is_one(inputs[1], "input_zp")
    is_one(inputs[2], "output_zp")
    return max_pool2d(inputs, attrs)


def window_of(operands: Sequence[Tensor]) -> dict[str, list[int]]:
    """Kernel, stride and pad of an adaptive pool, which are operands, as the attributes of a pool that is not."""
    counts = {"kernel": 2, "stride": 2, "pad": 4}
    window = {name: shape_values(tensor, name) for name, tensor in zip(counts, operands, strict=True)}
    for name, values in window.items():
        require(len(values) == counts[name], f"{name} takes {counts[name]} numbers, got {values}")
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
    is_one(input_zp, "input_zp")
    is_one(weight_zp, "weight_zp")
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
    not_negative(pad, "pad")
    positive(stride, "stride")
    positive(dilation, "dilation")
    require(x.shape[-1] == channels_in, f"input has {x.shape[-1]} channels, weight takes {channels_in}")
    _bias(bias, channels_out)
    spatial = [
        steps(
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
    rank_of(inputs[0], 4, "input")
    out, *kernel, channels = rank_of(inputs[1], 4, "weight [OC, KH, KW, IC]")
    return _convolved(inputs, attrs, kernel, channels, out)


def conv3d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    rank_of(inputs[0], 5, "input")
    out, *kernel, channels = rank_of(inputs[1], 5, "weight [OC, KD, KH, KW, IC]")
    return _convolved(inputs, attrs, kernel, channels, out)


def depthwise_conv2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    rank_of(inputs[0], 4, "input")
    *kernel, channels, multiplier = rank_of(inputs[1], 4, "weight [KH, KW, C, M]")
    return _convolved(inputs, attrs, kernel, channels, channels * multiplier)


def transpose_conv2d(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, weight, bias, input_zp, weight_zp = inputs
    n, height, width, channels = rank_of(x, 4, "input")
    out, kernel_y, kernel_x, channels_in = rank_of(weight, 4, "weight [OC, KH, KW, IC]")
    stride = attrs["stride"]
    top, bottom, left, right = attrs["out_pad"]
    positive(stride, "stride")
    require(channels == channels_in, f"input has {channels} channels, weight takes {channels_in}")
    require(
        min(top, bottom) > -kernel_y and min(left, right) > -kernel_x,
        f"out_pad {list(attrs['out_pad'])} must be more than minus the kernel {[kernel_y, kernel_x]}",
    )
    _bias(bias, out)
    is_one(input_zp, "input_zp")
    is_one(weight_zp, "weight_zp")
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
    n, height, depth = rank_of(a, 3, "A")
    n_b, depth_b, width = rank_of(b, 3, "B")
    require(n == n_b, f"A and B have {n} and {n_b} batches")
    require(depth == depth_b, f"A {list(a.shape)} and B {list(b.shape)} do not multiply")
    is_one(a_zp, "A_zp")
    is_one(b_zp, "B_zp")
    return [((n, height, width), attrs["output_dtype"])]


def matmul_t(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    """A product with the transpose of B, whose batch may be 1."""
    a, b, a_zp, b_zp = inputs
    is_one(a_zp, "A_zp")
    is_one(b_zp, "B_zp")
    return [(_times_transposed(a, b), attrs["output_dtype"])]


def _times_transposed(a: Tensor, b: Tensor) -> tuple[int, ...]:
    n, height, depth = rank_of(a, 3, "A")
    n_b, width, depth_b = rank_of(b, 3, "B")
    require(n_b in (1, n), f"A and B have {n} and {n_b} batches")
    require(depth == depth_b, f"A {list(a.shape)} and the transpose of B {list(b.shape)} do not multiply")
    return n, height, width


def matmul_t_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    a, a_scale, b, b_scale = inputs
    scaled(a, a_scale, attrs, "A")
    scaled(b, b_scale, attrs, "B")
    return [(_times_transposed(a, b), DType.FP32)]


def cast_to_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x = inputs[0]
    return [(x.shape, attrs["output_dtype"]), (blocks(x, attrs, "the input"), DType.FP8UE8M0)]


def cast_from_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, scale = inputs
    scaled(x, scale, attrs, "the input")
    return [(x.shape, attrs["output_dtype"])]


def conv2d_block_scaled(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Result]:
    x, x_scale, weight, weight_scale, bias, *sizes = inputs
    scaled(x, x_scale, attrs, "the input")
    scaled(weight, weight_scale, attrs, "the weight")
    rank_of(x, 4, "input")
    out, *kernel, channels = rank_of(weight, 4, "weight [OC, KH, KW, IC]")
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
    n, height, width = rank_of(tensor, 3, "input")
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
