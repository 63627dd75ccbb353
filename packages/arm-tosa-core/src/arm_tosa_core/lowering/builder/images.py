"""Pools, resampling and Fourier transforms of images."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...support.errors import require
from ..values import Value
from .quantization import Inexact, Quantization


class ImageOperators(Quantization):
    """MAX_POOL2D, AVG_POOL2D, RESIZE: NHWC, as the logical order of the values; FFT2D, RFFT2D: [N, H, W]."""

    def MAX_POOL2D(self, x: Value, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
        if _is_point(kernel, stride, pad):
            return x
        x = self.apply_clamp(x)
        self.require_one_scale(x, 1, 2)
        out = self.emit("MAX_POOL2D", [self.tensor(x)], kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad))
        return self.value(out, x.dtype, quant=x.quant)

    def AVG_POOL2D(self, x: Value, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
        if _is_point(kernel, stride, pad):
            return x
        x = self.apply_clamp(x)
        self.require_one_scale(x, 1, 2)
        if self.exact_only and x.quant is not None:
            raise Inexact(averages=True)
        require(x.quant is None or x.quant.bits <= 16, "takes an input that is not quantized to 8 or 16 bits")
        tensor = self.tensor(x)
        zero = self.zero_point(x.quant.zero_point if x.quant else 0, tensor.dtype)
        out = self.emit("AVG_POOL2D", [tensor, zero, zero], kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad))
        return self.value(out, x.dtype, quant=x.quant)

    def RESIZE(self, x: Value, scale: Sequence[int], offset: Sequence[int], border: Sequence[int], mode: str) -> Value:
        x = self.apply_clamp(x)
        self.require_one_scale(x, 1, 2)
        quant = x.quant
        if self.exact_only and quant is not None and mode == "BILINEAR":
            raise Inexact(averages=True)
        tensor = self.tensor(x)
        operands = [tensor, *(self.graph.shape(v) for v in (scale, offset, border))]
        out = self.emit("RESIZE", operands, mode=mode)
        if quant is not None and mode == "BILINEAR":
            # The weights of a point add up to the numerators' product: integers, zero point included, are averaged.
            out = self.rescale(out, [1 / (scale[0] * scale[2])], tensor.dtype)
        return self.value(out, x.dtype, quant=quant)

    def FFT2D(self, real: Value, imag: Value, inverse: bool) -> tuple[Value, Value]:
        parts = self.emit_all("FFT2D", [self.tensor(real), self.tensor(imag)], inverse=inverse)
        return self.value(parts[0], torch.float32), self.value(parts[1], torch.float32)

    def RFFT2D(self, real: Value) -> tuple[Value, Value]:
        parts = self.emit_all("RFFT2D", [self.tensor(real)])
        return self.value(parts[0], torch.float32), self.value(parts[1], torch.float32)


def _is_point(kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> bool:
    """Whether the windows of a pool are the elements themselves."""
    return all(n == 1 for n in (*kernel, *stride)) and not any(pad)
