"""Integers whose scale and zero point the graph computes at run time (PT2E's dynamic quantization)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.nn import functional

from ..values import QParams, Value
from .arithmetic import Arithmetic


class DynamicQuantization(Arithmetic):
    """Quantize, and the sums of convolutions, under ``QParams.run_time``."""

    def quantize_at_run_time(
        self, x: Value, scale: Value, zero_point: Value, low: int, high: int, dtype: torch.dtype
    ) -> Value:
        """``clamp(round(x / scale) + zero_point, low, high)``; both parameters have one element."""
        steps = self.plain_cast(self.MUL(self.real(x), self.unary("RECIPROCAL", scale)), torch.int32)
        steps = self.elementwise("ADD", steps, zero_point.replace(dtype=torch.int32))
        for name, bound in (("MAXIMUM", low), ("MINIMUM", high)):
            steps = self.elementwise(name, steps, self.const(torch.tensor(bound, dtype=torch.int32)))
        integers = self.plain_cast(steps, dtype)
        return integers.replace(dtype=torch.float32, quant=QParams((1.0,), 0, low, high, run_time=(scale, zero_point)))

    def corrected(self, name: str, x: Value, weight: Value, accumulator: Value, **attrs: Any) -> Value:
        """The result of a convolution, from its sum over integers whose zero point was not subtracted.

        That sum is too large by the zero point times the sum of the weights inside the image: a constant.

        Args:
            x, weight: operands of the convolution ``name``, as it took them.
            accumulator: their quantized sum.

        Returns:
            Reals.
        """
        assert x.quant is not None and x.quant.run_time is not None and accumulator.quant is not None
        assert weight.const is not None
        scale, zero_point = x.quant.run_time
        inside = self.const(_sums(name, x.shape[1:-1], weight.const, attrs))
        excess = self.elementwise("MUL", zero_point.replace(dtype=torch.int32), inside)
        exact = self.elementwise("SUB", accumulator.replace(dtype=torch.int32, quant=None), excess)
        real = self.real(exact.replace(dtype=torch.float32, quant=replace(accumulator.quant, run_time=None)))
        return self.MUL(real, scale)


def _sums(name: str, image: Sequence[int], weight: torch.Tensor, attrs: dict[str, Any]) -> torch.Tensor:
    """The convolution of an image of ones, channels last, int32; one pixel where all are equal."""
    weight = weight.double()
    if name == "DEPTHWISE_CONV2D":
        kernel = weight.permute(2, 3, 0, 1).reshape(-1, 1, *weight.shape[:2])
    else:
        kernel = weight.sum(-1).unsqueeze(1)
    ones = torch.ones(1, 1, *image, dtype=torch.float64)
    if name == "TRANSPOSE_CONV2D":
        sums = functional.conv_transpose2d(ones, kernel.transpose(0, 1), stride=attrs["stride"])
        top, bottom, left, right = attrs["out_pad"]
        sums = functional.pad(sums, (left, right, top, bottom))
    else:
        pads = [attrs["pad"][i : i + 2] for i in range(0, len(attrs["pad"]), 2)]
        ones = functional.pad(ones, [p for pair in reversed(pads) for p in pair])
        run = functional.conv3d if name == "CONV3D" else functional.conv2d
        sums = run(ones, kernel, stride=attrs["stride"], dilation=attrs["dilation"])
    sums = sums.movedim(1, -1)
    first = sums[(slice(None), *(slice(0, 1) for _ in image))]
    return (first if bool((sums == first).all()) else sums).to(torch.int32)
