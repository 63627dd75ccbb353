"""Convolutions, matrix products, pools, tables: what the accelerators are built for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import torch

from ...support.errors import Rejected
from ...tosa.dtypes import numpy_dtype, torch_to_tosa, tosa_to_torch
from ...tosa.ir import DType, Tensor
from ..values import INTEGER_RANGES, QParams, Value
from .dynamic_quantization import RunTime
from .interpolation import FINE_BITS, FORM_BITS, MORE_BITS, TABLE_BITS, Interpolation, interpolate
from .movement import Movement


class Mac(RunTime, Movement):
    """CONV2D and its kin, MATMUL, pools, TABLE, RESIZE, ARGMAX. Images are NHWC, as the logical order of the values."""

    def conv(self, name: str, x: Value, weight: Value, bias: Value | None, **attrs: Any) -> Value:
        """CONV2D, CONV3D, DEPTHWISE_CONV2D or TRANSPOSE_CONV2D.

        Args:
            x: image, channels last.
            weight: in the order that the operator takes.
            bias: one real per output channel, or None.

        Returns:
            The image; quantized operands give an accumulator whose scale is the product of theirs. With a scale that is
            known only at run time, reals.
        """
        x = self.apply_clamp(x)
        if x.quant is None or weight.quant is None:
            x, weight = self.real(x), self.real(weight)
            tensors = [self.tensor(x), self.tensor(weight)]
            channels = self._channels(name, weight)
            bias = self.const(torch.zeros(channels, dtype=x.dtype)) if bias is None else self.real(bias)
            tensors.append(self.tensor(self.cast(bias, _sum_type(x.dtype))))
            tensors += [self.zero_point(0, t.dtype) for t in tensors[:2]]
            return self._rounded(self.emit(name, tensors, **attrs), x.dtype)
        weight = self.apply_clamp(weight)
        assert weight.quant is not None
        self.require(
            x.quant.axis is None and x.quant.bits <= 16, "takes an input that is not quantized to 8 or 16 bits"
        )
        if x.quant.run_time is not None and weight.const is not None:
            plain = x.but(quant=replace(x.quant, run_time=None))
            real = self.corrected(name, x, weight, self.conv(name, plain, weight, None, **attrs), **attrs)
            return real if bias is None else self.ADD(real, self.real(bias))
        self.require(weight.quant.bits <= 8, f"has weights of {weight.quant.bits} bits; TOSA convolves with 8")
        channels = self._channels(name, weight)
        wide_sums = _dtype(x) == DType.INT16
        if bias is not None and bias.const is not None and weight.const is not None and not wide_sums:
            weight = self._coarse_enough(weight, bias.real(), x.quant.scalar)
        assert weight.quant is not None
        scale = tuple(s * x.quant.scalar for s in weight.quant.scale)
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
        """A weight that is one positive number throughout: of a quantized image, ones whose scale is the number."""
        if image.quant is None:
            return self.const(torch.full(tuple(shape), number, dtype=image.dtype))
        return self.const(torch.ones(tuple(shape), dtype=torch.int8), QParams((number,), 0, -127, 127))

    def channel_weights(self, factors: Value) -> Value:
        """Symmetric 8 bits with a scale per channel, so that they are exact."""
        reals = factors.real().double().flatten()
        sizes = torch.where(reals == 0, 1.0, reals.abs())
        quant = QParams(tuple((sizes / _MOST).tolist()), 0, -_MOST, _MOST, axis=0)
        return self.const((reals.sign() * _MOST).to(torch.int8).reshape(-1, 1, 1, 1), quant)

    def _weighed(self, name: str, weight: Value) -> int:
        """The largest sum of magnitudes of integers that a result is made with."""
        channels = self._channels(name, weight)
        assert weight.quant is not None
        if weight.const is None:
            return weight.size // channels * _reach(weight.quant)
        sizes = (weight.const.to(torch.int16) - weight.quant.zero_point).abs()
        apart = sizes.flatten(2).sum((0, 1)) if name == "DEPTHWISE_CONV2D" else sizes.flatten(1).sum(1)
        return int(apart.max())

    def _coarse_enough(self, weight: Value, bias: torch.Tensor, scale: float) -> Value:
        """The weight with scales so large that the bias takes 30 bits of the accumulator at most.

        A bias beyond would saturate. The products of such a channel are small beside it.

        Args:
            scale: of what is convolved.
        """
        assert weight.quant is not None
        least = bias.abs().double() / (2.0**30 * scale)
        least = least if len(weight.quant.scale) > 1 else least.max().reshape(1)
        scales = torch.tensor(weight.quant.scale, dtype=torch.float64)
        if (scales >= least).all():
            return weight
        quant = replace(weight.quant, scale=tuple(torch.maximum(scales, least).tolist()))
        return self.quantize(weight, quant, torch.int8)

    def _kernel(self, weight: Value, x: DType) -> Tensor:
        """The weight as TOSA has it: constants of 4 bits in half the bytes, where the specification does."""
        kernel, quant = self.tensor(weight), weight.quant
        assert quant is not None
        small = quant.qmin >= -7 and quant.qmax <= 7 and quant.zero_point == 0
        if not (small and kernel.data is not None and x == DType.INT8 and self.spec.support_extension("int4")):
            return kernel
        return self.constant(kernel.data, DType.INT4)

    def _rounded(self, sums: Tensor, dtype: torch.dtype) -> Value:
        """Sums, which TOSA gives in a wider type for some, in the type that PyTorch gives."""
        return self.cast(self.value(sums, tosa_to_torch(sums.dtype)), dtype)

    def _channels(self, name: str, weight: Value) -> int:
        return weight.shape[2] * weight.shape[3] if name == "DEPTHWISE_CONV2D" else weight.shape[0]

    def _integer_bias(self, bias: Value | None, scale: tuple[float, ...], channels: int, wide: bool) -> Tensor:
        """The bias in steps of the accumulator, saturated to its 32 or 48 bits."""
        dtype = DType.INT48 if wide else DType.INT32
        if bias is None:
            return self.constant(np.zeros(channels, numpy_dtype(dtype)), dtype)
        self.require(bias.const is not None, "has a quantized bias that is not constant")
        steps = torch.round(bias.real().double() / torch.tensor(scale, dtype=torch.float64))
        low, high = (-(2.0**47), 2.0**47 - 1) if wide else INTEGER_RANGES[torch.int32]
        return self.constant(steps.clamp(low, high).numpy().astype(numpy_dtype(dtype)), dtype)

    def MATMUL(self, x: Value, y: Value) -> Value:
        """``x @ y`` for [N, H, C] and [N, C, W]."""
        x, y = self.apply_clamp(x), self.apply_clamp(y)
        if x.quant is None or y.quant is None:
            x, y = self.real(x), self.real(y)
            tensors = [self.tensor(x), self.tensor(y)]
            tensors += [self.zero_point(0, t.dtype) for t in tensors]
            return self._rounded(self.emit("MATMUL", tensors), x.dtype)
        widths = (x.quant.bits, y.quant.bits)
        self.require(widths in ((8, 8), (16, 16)), f"multiplies matrices of {widths[0]} and {widths[1]} bits")
        self.require(x.quant.axis is None and y.quant.axis is None, "multiplies matrices with per-channel scales")
        limit = x.shape[2] * _reach(x.quant) * _reach(y.quant)
        quant = QParams((x.quant.scalar * y.quant.scalar,), 0, -limit, limit)
        inputs = [
            self.tensor(x),
            self.tensor(y),
            self.zero_point(x.quant.zero_point, _dtype(x)),
            self.zero_point(y.quant.zero_point, _dtype(y)),
        ]
        return self.value(self.emit("MATMUL", inputs), torch.float32, quant=quant)

    def FFT2D(self, real: Value, imag: Value, inverse: bool) -> tuple[Value, Value]:
        """The Fourier transform of images [N, H, W]; real and imaginary part."""
        made = self.emit_all("FFT2D", [self.tensor(real), self.tensor(imag)], inverse=inverse)
        return self.value(made[0], torch.float32), self.value(made[1], torch.float32)

    def RFFT2D(self, real: Value) -> tuple[Value, Value]:
        """``FFT2D`` of real images: half of the spectrum, which the other half mirrors."""
        made = self.emit_all("RFFT2D", [self.tensor(real)])
        return self.value(made[0], torch.float32), self.value(made[1], torch.float32)

    def MAX_POOL2D(self, x: Value, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
        """Maximum over windows of an NHWC image; ``pad`` is top, bottom, left, right."""
        if _is_point(kernel, stride, pad):
            return x
        x = self.apply_clamp(x)
        out = self.emit("MAX_POOL2D", [self.tensor(x)], kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad))
        return self.value(out, x.dtype, quant=x.quant)

    def AVG_POOL2D(self, x: Value, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
        """Mean over windows of an NHWC image, padding not counted."""
        if _is_point(kernel, stride, pad):
            return x
        x = self.apply_clamp(x)
        self.require(x.quant is None or x.quant.bits <= 16, "takes an input that is not quantized to 8 or 16 bits")
        tensor = self.tensor(x)
        zero = self.zero_point(x.quant.zero_point if x.quant else 0, tensor.dtype)
        out = self.emit("AVG_POOL2D", [tensor, zero, zero], kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad))
        return self.value(out, x.dtype, quant=x.quant)

    def ARGMAX(self, x: Value, axis: int) -> Value:
        """Index of the maximum along ``axis``, which goes; int64 as PyTorch has it.

        Where the target does not take it so, of the last of three axes.
        """
        x, last = self.apply_clamp(x), x.rank - 1
        try:
            out = self.emit("ARGMAX", [self.tensor(x)], axis=axis)
        except Rejected:
            if axis == last < 3:
                raise
            moved = self.TRANSPOSE(x, [*(i for i in range(x.rank) if i != axis), axis])
            rows = [prod(moved.shape[:-2]), *moved.shape[-2:]] if last else moved.shape
            out = self.emit("ARGMAX", [self.reshape(self.tensor(moved), rows)], axis=len(rows) - 1)
            out = self.reshape(out, moved.shape[:-1])
        return self.value(out, torch.int64, bounds=(0, x.shape[axis] - 1))

    def TABLE(
        self,
        x: Value,
        function: Callable[[torch.Tensor], torch.Tensor],
        quant: QParams,
        dtype: torch.dtype,
        precise: bool = False,
    ) -> Value:
        """Any function of one quantized value, as a table (TOSA 1.0, section 2.6.1 "TABLE").

        8 bits: an entry per integer. 16 bits: 513 points, 128 apart, and linear between. From 8 bits to more, the input
        is widened first; from 16 bits to 8, entries have three more bits, and a RESCALE rounds.

        Args:
            precise: from 16 bits to 16 or 32, parabolas between the points and entries with a fraction, so that nearly
                every result is the nearest integer; otherwise it is one of the two nearest.
        """
        assert x.quant is not None
        self.require(
            x.quant.axis is None and x.quant.bits in (8, 16), "takes an input that is not quantized to 8 or 16 bits"
        )
        self.require(dtype in (torch.int8, torch.int16, torch.int32), f"has a result of {dtype}")
        self.require(dtype != torch.int32 or quant.zero_point == 0, "has a result of 32 bits with a zero point")
        wide = x.quant.bits == 16 or dtype != torch.int8
        bounds = x.clamp  # of 8 bits they are free; the lines between entries of 16 bits would cut their corners
        x = self.apply_clamp(x) if wide else x.but(clamp=None)
        assert x.quant is not None
        tensor, given = self.tensor(x, x.axes), x.quant
        between = given.bits == 16
        if wide and not between:
            tensor = self.rescale(tensor, [128.0], DType.INT16, given.zero_point)
            given = QParams((given.scalar / 128,), 0, -32768, 32767)
        points = torch.arange(-32768, 32769) if wide else torch.arange(-128, 128)
        real = given.dequantize(points).to(torch.float32)
        real = real if bounds is None else real.clamp(*bounds)
        result = torch.nan_to_num(function(real).double(), nan=0.0)
        if not wide:
            out = self._table(tensor, quant.quantize(result).numpy().astype(np.int8))
        elif dtype == torch.int16:
            values = (result / quant.scalar + quant.zero_point).numpy()
            found = interpolate(values, quant.qmin, quant.qmax, between, precise)
            out = self._interpolated(tensor, found, 1.0, DType.INT16)
        else:  # entries of another scale, and no zero point
            reach = float((result / quant.scalar).abs().max())  # a result of 32 bits is more than entries hold
            unit = max(reach / 32767, 1.0) if dtype == torch.int32 else _FINER
            values = (result / (quant.scalar * unit)).numpy()
            ends = (-32768, 32767)
            if dtype == torch.int8:
                ends = (int((quant.qmin - quant.zero_point) / _FINER), int((quant.qmax - quant.zero_point) / _FINER))
            found = interpolate(values, *ends, between, precise and dtype == torch.int32)
            out = self._interpolated(tensor, found, unit, torch_to_tosa(dtype), quant.zero_point)
        return self.value(out, torch.float32, x.axes, quant)

    def _table(self, x: Tensor, entries: np.ndarray[Any, Any]) -> Tensor:
        return self.emit("TABLE", [x, self.graph.constant(entries, x.dtype)])

    def _interpolated(self, x: Tensor, found: Interpolation, unit: float, dtype: DType, zero_point: int = 0) -> Tensor:
        """A function of INT16 by its tables, whose entries count in units of the result's quanta.

        A sum of several may have ``MORE_BITS`` more bits of fraction than a TABLE's result.
        """
        out, step = self._table(x, found.entries), found.step
        more = MORE_BITS if found.precise else 0
        out = self._shifted(out, more)
        rest = [] if found.fine is None else [self._table(x, found.fine)]
        rest += [] if found.bend is None else [self._bent(x, found.bend)]
        if rest:  # of the same scale
            fraction = rest[0] if len(rest) == 1 else self.emit("ADD", rest)
            factor = 2.0 ** (more - FINE_BITS)
            out = self.emit("ADD", [out, self.rescale(fraction, [factor], DType.INT32)])
        if found.zooms and step > 1:  # they count in quanta
            out, step = self._shifted(out, step.bit_length() - 1), 1
        for centre, shift, bits, entries in found.zooms:
            moved = x
            if centre:
                constant = self.graph.constant(np.full([1] * len(x.shape), centre, np.int32), DType.INT32)
                moved = self.emit("SUB", [self.rescale(x, [1.0], DType.INT32), constant])
            near = self._table(self.rescale(moved, [2.0**shift], DType.INT16), entries)
            out = self.emit("ADD", [out, self._shifted(near, more - bits)])
        return self.rescale(out, [step * unit / 2 ** (TABLE_BITS + more)], dtype, new_zero_point=zero_point)

    def _bent(self, x: Tensor, bend: np.ndarray[Any, Any]) -> Tensor:
        """Parabolas between the points of tables, in ``2**-(TABLE_BITS + FINE_BITS)`` steps: a bend times a form.

        The form is a function of where x lies beside its nearest point; a TABLE has it at each of these 128 places.
        """
        wide = self.rescale(x, [1.0], DType.INT32)
        bits = self.graph.constant(np.full([1] * len(x.shape), 7, np.int32), DType.INT32)
        nearest = self.emit("ARITHMETIC_RIGHT_SHIFT", [wide, bits], round=True)
        beside = self.emit("SUB", [wide, self.emit("LOGICAL_LEFT_SHIFT", [nearest, bits])])  # -64 to 63
        along = np.abs(np.arange(-256, 257)) / 512
        parabola = np.rint(4 * along * (1 - along) * 2**FORM_BITS).astype(np.int16)
        forms = (self._table(self.rescale(beside, [512.0], DType.INT16), parabola), self._table(x, bend))
        return self._times(*(self.rescale(t, [2.0**-TABLE_BITS], DType.INT16) for t in forms))

    def _times(self, x: Tensor, y: Tensor) -> Tensor:
        return self.emit("MUL", [x, y, self.graph.constant(np.zeros(1, np.int8), DType.INT8)])

    def _shifted(self, x: Tensor, bits: int) -> Tensor:
        """INT32 times a power of two. A RESCALE on its own takes Ethos-U85 four times as long as a MUL."""
        factor = self.graph.constant(np.full([1] * len(x.shape), 2**bits, np.int32), DType.INT32)
        return self._times(x, factor) if bits else x

    def RESIZE(self, x: Value, scale: Sequence[int], offset: Sequence[int], border: Sequence[int], mode: str) -> Value:
        """Resamples an NHWC image; scale is (y numerator, y denominator, x numerator, x denominator)."""
        x = self.apply_clamp(x)
        quant = x.quant
        tensor = self.tensor(x)
        operands = [tensor, *(self.graph.shape(v) for v in (scale, offset, border))]
        out = self.emit("RESIZE", operands, mode=mode)
        if quant is not None and mode == "BILINEAR":
            # The weights of a point add up to the numerators' product: integers, zero point included, are averaged.
            out = self.rescale(out, [1 / (scale[0] * scale[2])], tensor.dtype)
        return self.value(out, x.dtype, quant=quant)


#: The largest weight of 8 bits.
_MOST = 127
#: Of a quantum of 8 bits, what an entry of a table of 16 bits counts.
_FINER = 1 / 8


def _is_point(kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> bool:
    """Whether the windows of a pool are the elements themselves."""
    return all(n == 1 for n in (*kernel, *stride)) and not any(pad)


def _sum_type(dtype: torch.dtype) -> torch.dtype:
    """What products of reals are added up to: of float8, float16."""
    return torch.float16 if dtype in (torch.float8_e4m3fn, torch.float8_e5m2) else dtype


def _reach(quant: QParams) -> int:
    """The largest magnitude of an integer, counted from the zero point."""
    return max(quant.qmax - quant.zero_point, quant.zero_point - quant.qmin)


def _dtype(value: Value) -> DType:
    if value.tensor is not None:
        return value.tensor.dtype
    assert value.const is not None
    return torch_to_tosa(value.const.dtype)
