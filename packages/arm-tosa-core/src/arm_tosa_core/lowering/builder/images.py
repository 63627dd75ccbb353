"""Pools, resampling and Fourier transforms of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ...support.errors import require
from ..values import Value
from .emitter import Emitter
from .quantization import Quantization
from .rescaling import Rescaling


@dataclass(frozen=True, eq=False)
class ImageOperators:
    """MAX_POOL2D, AVG_POOL2D, RESIZE: NHWC, as the logical order of the values; FFT2D, RFFT2D: [N, H, W]."""

    emitter: Emitter
    rescaling: Rescaling
    quantization: Quantization

    def MAX_POOL2D(self, x: Value, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
        if _is_point(kernel, stride, pad):
            return x
        x = self.quantization.apply_clamp(x)
        out = self.emitter.emit(
            "MAX_POOL2D", [self.emitter.tensor(x)], kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad)
        )
        return self.emitter.value(out, x.dtype, quant=x.quant)

    def AVG_POOL2D(self, x: Value, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
        if _is_point(kernel, stride, pad):
            return x
        x = self.quantization.apply_clamp(x)
        require(x.quant is None or x.quant.bits <= 16, "takes an input that is not quantized to 8 or 16 bits")
        tensor = self.emitter.tensor(x)
        zero = self.rescaling.zero_point(x.quant.zero_point if x.quant else 0, tensor.dtype)
        out = self.emitter.emit(
            "AVG_POOL2D", [tensor, zero, zero], kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad)
        )
        return self.emitter.value(out, x.dtype, quant=x.quant)

    def RESIZE(self, x: Value, scale: Sequence[int], offset: Sequence[int], border: Sequence[int], mode: str) -> Value:
        x = self.quantization.apply_clamp(x)
        quant = x.quant
        tensor = self.emitter.tensor(x)
        operands = [tensor, *(self.emitter.graph.shape(v) for v in (scale, offset, border))]
        out = self.emitter.emit("RESIZE", operands, mode=mode)
        if quant is not None and mode == "BILINEAR":
            # The weights of a point add up to the numerators' product: integers, zero point included, are averaged.
            out = self.rescaling.rescale(out, [1 / (scale[0] * scale[2])], tensor.dtype)
        return self.emitter.value(out, x.dtype, quant=quant)

    def FFT2D(self, real: Value, imag: Value, inverse: bool) -> tuple[Value, Value]:
        parts = self.emitter.emit_all("FFT2D", [self.emitter.tensor(real), self.emitter.tensor(imag)], inverse=inverse)
        return self.emitter.value(parts[0], torch.float32), self.emitter.value(parts[1], torch.float32)

    def RFFT2D(self, real: Value) -> tuple[Value, Value]:
        parts = self.emitter.emit_all("RFFT2D", [self.emitter.tensor(real)])
        return self.emitter.value(parts[0], torch.float32), self.emitter.value(parts[1], torch.float32)


def _is_point(kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> bool:
    """Whether the windows of a pool are the elements themselves."""
    return all(n == 1 for n in (*kernel, *stride)) and not any(pad)
