"""Convolutions and matrix products, with their weights and biases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ...support.errors import require
from ...tosa.dtypes import numpy_dtype, torch_to_tosa, tosa_to_torch
from ...tosa.ir import DType, Tensor
from ..values import INTEGER_RANGES, QParams, Value
from .dynamic_quantization import DynamicQuantization

#: The largest weight of 8 bits.
_MOST = 127
#: The largest bias beside sums of 32 bits, and of more: Ethos-U has biases of 40 bits.
_BIAS, _WIDE_BIAS = 2.0**30, 2.0**38


class Convolutions(DynamicQuantization):
    """CONV2D and its kin, MATMUL. Images are NHWC, as the logical order of the values."""

    def conv(self, name: str, x: Value, weight: Value, bias: Value | None, **attrs: Any) -> Value:
        x = self.apply_clamp(x)
        crossed = weight.quant is not None and not _by_channel(name, weight.quant)
        require(
            not crossed or self.spec.support_float(),
            "has weights with scales along an axis that is not that of its output channels",
            "quantize them with a scale for each output channel, or with one for all",
        )
        require(
            x.quant is None or weight.quant is not None or self.spec.support_float(),
            "has weights that are not quantized, and the target has integers only",
            "quantize the result of the operator that computes the weights, or stop excluding this layer",
        )
        if x.quant is None or weight.quant is None or crossed:
            x, weight = self.real(x), self.real(weight)
            tensors = [self.tensor(x), self.tensor(weight)]
            channels = self._channels(name, weight)
            bias = self.const(torch.zeros(channels, dtype=x.dtype)) if bias is None else self.real(bias)
            tensors.append(self.tensor(self.cast(bias, _sum_type(x.dtype))))
            tensors += [self.zero_point(0, t.dtype) for t in tensors[:2]]
            return self._rounded(self.emit(name, tensors, **attrs), x.dtype)
        weight = self.apply_clamp(weight)
        assert weight.quant is not None
        require(x.quant.axis is None and x.quant.bits <= 16, "takes an input that is not quantized to 8 or 16 bits")
        if x.quant.run_time is not None and weight.const is not None:
            plain = x.replace(quant=replace(x.quant, run_time=None))
            real = self.corrected(name, x, weight, self.conv(name, plain, weight, None, **attrs), **attrs)
            return real if bias is None else self.ADD(real, self.real(bias))
        require(weight.quant.bits <= 8, f"has weights of {weight.quant.bits} bits; TOSA convolves with 8")
        channels = self._channels(name, weight)
        wide_sums = _dtype(x) == DType.INT16
        if bias is not None and bias.const is not None and weight.const is not None:
            weight = self._coarse_enough(weight, bias.real(), x.quant.scalar, _WIDE_BIAS if wide_sums else _BIAS)
        assert weight.quant is not None
        unit = x.quant.scalar
        scale = tuple(s * unit for s in weight.quant.scale)
        steps = self._integer_bias(bias, scale, channels, wide=wide_sums)
        assert steps.data is not None
        limit = _reach(x.quant) * self._weighed(name, weight) + int(np.abs(steps.data).max())
        quant = QParams(scale, 0, -limit, limit, axis=x.rank - 1 if len(scale) > 1 else None)
        kernel = self._kernel(weight, _dtype(x))
        inputs = [
            self.tensor(x),
            kernel,
            steps,
            self.zero_point(x.quant.zero_point, _dtype(x)),
            self.zero_point(weight.quant.zero_point, kernel.dtype),
        ]
        return self.value(self.emit(name, inputs, **attrs), torch.float32, quant=quant)

    def equal_weights(self, shape: Sequence[int], number: float, image: Value) -> Value:
        """Weights for a quantized image: ones whose scale is the number."""
        if image.quant is None:
            return self.const(torch.full(tuple(shape), number, dtype=image.dtype))
        return self.const(torch.ones(tuple(shape), dtype=torch.int8), QParams((number,), 0, -127, 127))

    def channel_weights(self, factors: Value) -> Value:
        """Symmetric 8 bits with a scale per channel, so that they are exact."""
        reals = factors.real().double().flatten()
        sizes = torch.where(reals == 0, 1.0, reals.abs())
        quant = QParams(tuple((sizes / _MOST).tolist()), 0, -_MOST, _MOST, axis=0)
        return self.const((reals.sign() * _MOST).to(torch.int8).reshape(-1, 1, 1, 1), quant)

    def MATMUL(self, x: Value, y: Value) -> Value:
        x, y = self.apply_clamp(x), self.apply_clamp(y)
        if x.quant is None or y.quant is None:
            x, y = self.real(x), self.real(y)
            tensors = [self.tensor(x), self.tensor(y)]
            tensors += [self.zero_point(0, t.dtype) for t in tensors]
            wide = {"output_dtype": DType.FP32} if x.dtype == torch.float16 else {}  # the sums are of the result's type
            return self._rounded(self.emit("MATMUL", tensors, **wide), x.dtype)
        widths = (x.quant.bits, y.quant.bits)
        require(widths in ((8, 8), (16, 16)), f"multiplies matrices of {widths[0]} and {widths[1]} bits")
        require(x.quant.axis is None and y.quant.axis is None, "multiplies matrices with per-channel scales")
        limit = x.shape[2] * _reach(x.quant) * _reach(y.quant)
        quant = QParams((x.quant.scalar * y.quant.scalar,), 0, -limit, limit)
        inputs = [
            self.tensor(x),
            self.tensor(y),
            self.zero_point(x.quant.zero_point, _dtype(x)),
            self.zero_point(y.quant.zero_point, _dtype(y)),
        ]
        return self.value(self.emit("MATMUL", inputs), torch.float32, quant=quant)

    def _weighed(self, name: str, weight: Value) -> int:
        """The largest sum of magnitudes of integers that a result is made with."""
        channels = self._channels(name, weight)
        assert weight.quant is not None
        if weight.const is None:
            return weight.size // channels * _reach(weight.quant)
        sizes = (weight.const.to(torch.int16) - weight.quant.zero_point).abs()
        apart = sizes.flatten(2).sum((0, 1)) if name == "DEPTHWISE_CONV2D" else sizes.flatten(1).sum(1)
        return int(apart.max())

    def _coarse_enough(self, weight: Value, bias: torch.Tensor, scale: float, most: float) -> Value:
        """The weight with scales so large that the bias is no more steps of the accumulator than that.

        A bias beyond would saturate. The products of such a channel are small beside it.

        Args:
            scale: of the image.
        """
        assert weight.quant is not None
        least = bias.abs().double() / (most * scale)
        least = least if len(weight.quant.scale) > 1 else least.max().reshape(1)
        scales = torch.tensor(weight.quant.scale, dtype=torch.float64)
        if (scales >= least).all():
            return weight
        quant = replace(weight.quant, scale=tuple(torch.maximum(scales, least).tolist()))
        return self.quantize(weight, quant, torch.int8)

    def _kernel(self, weight: Value, x: DType) -> Tensor:
        """The weight as TOSA has it: constants of 4 bits in half the bytes, where the specification does.

        TOSA's have no -8: weights with one have 8 bits.
        """
        kernel, quant = self.tensor(weight), weight.quant
        assert quant is not None
        small = quant.qmin >= -8 and quant.qmax <= 7 and quant.zero_point == 0
        if not (small and kernel.is_constant and x == DType.INT8 and self.spec.support_extension("int4")):
            return kernel
        if quant.qmin < -7 and (weight.const is None or bool((weight.const < -7).any())):
            return kernel
        return self.changed(kernel, kernel.shape, DType.INT4)

    def _rounded(self, sums: Tensor, dtype: torch.dtype) -> Value:
        """Sums in PyTorch's type: TOSA gives some in a wider one."""
        return self.cast(self.value(sums, tosa_to_torch(sums.dtype)), dtype)

    def _channels(self, name: str, weight: Value) -> int:
        return weight.shape[2] * weight.shape[3] if name == "DEPTHWISE_CONV2D" else weight.shape[0]

    def _integer_bias(self, bias: Value | None, scale: tuple[float, ...], channels: int, wide: bool) -> Tensor:
        """The bias in steps of the accumulator, saturated to its 32 or 48 bits."""
        dtype = DType.INT48 if wide else DType.INT32
        if bias is None:
            return self.constant([channels], dtype, lambda: np.zeros(channels, numpy_dtype(dtype)))
        require(bias.const is not None, "has a quantized bias that is not constant")
        steps = torch.round(bias.real().double() / torch.tensor(scale, dtype=torch.float64))
        low, high = (-(2.0**47), 2.0**47 - 1) if wide else INTEGER_RANGES[torch.int32]

        def make() -> np.ndarray[Any, Any]:
            return steps.clamp(low, high).numpy().astype(numpy_dtype(dtype))

        return self.constant(steps.shape, dtype, make)


def _sum_type(dtype: torch.dtype) -> torch.dtype:
    """The type of sums of real products: of float8, float16."""
    return torch.float16 if dtype in (torch.float8_e4m3fn, torch.float8_e5m2) else dtype


def _by_channel(name: str, quant: QParams) -> bool:
    """Whether weights have one scale for all, or one for each output channel."""
    return len(quant.scale) == 1 or quant.axis == (2 if name == "DEPTHWISE_CONV2D" else 0)


def _reach(quant: QParams) -> int:
    """The largest magnitude of an integer, counted from the zero point."""
    return max(quant.qmax - quant.zero_point, quant.zero_point - quant.qmin)


def _dtype(value: Value) -> DType:
    if value.tensor is not None:
        return value.tensor.dtype
    assert value.const is not None
    return torch_to_tosa(value.const.dtype)
