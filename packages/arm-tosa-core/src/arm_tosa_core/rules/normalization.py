"""Normalizations and softmax: composites, decomposed before observers are placed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..lowering.half_precision import in_float32
from ..lowering.op_builder import CompositeBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Channels, Traits

#: exp() of it is less than half a step of 16 bits: numbers below need not be told apart.
_EXP_IS_ZERO = -11.1


@op("aten.softmax.int", "aten._softmax.default", quant=Q.PIECEWISE)
def softmax(b: CompositeBuilder[V], x: V, dim: int, dtype: torch.dtype | bool | None = None) -> V:
    return _softmax(b, _as_type(b, x, dtype), dim, False)


@op("aten._safe_softmax.default", quant=Q.PIECEWISE)
def safe_softmax(b: CompositeBuilder[V], x: V, dim: int, dtype: torch.dtype | None = None) -> V:
    """0 where all numbers are minus infinity, as in rows that a mask leaves nothing of."""
    return _softmax(b, _as_type(b, x, dtype), dim, True)


def _as_type(b: CompositeBuilder[V], x: V, dtype: torch.dtype | bool | None) -> V:
    """The operand in the type to compute with: ``dtype`` of softmax.int, or ``half_to_float`` of _softmax."""
    if isinstance(dtype, bool):
        dtype = torch.float32 if dtype else None
    return x if dtype in (None, x.dtype) else b.aten.to(x, dtype)


def _softmax(b: CompositeBuilder[V], x: V, dim: int, safe: bool) -> V:
    largest = b.aten.amax(x, [dim], True)
    if safe:
        largest = b.aten.clamp(largest, torch.finfo(x.dtype).min, None)
    shifted = b.aten.sub(x, largest)
    shifted = b.range_of_interest(shifted, _EXP_IS_ZERO, 0.0)
    e = b.within(b.aten.exp(shifted), 0.0, 1.0)
    total = b.aten.sum(e, [dim], True)
    if safe:  # the largest number alone adds 1
        total = b.aten.clamp(total, 1.0, None)
    total = b.within(total, 1.0, _most(x, dim))
    return b.within(b.aten.mul(e, b.within(b.aten.reciprocal(total), 0.0, 1.0)), 0.0, 1.0)


def _most(x: V, dim: int) -> float:
    """An upper bound of a sum of numbers up to 1. Its half of one more keeps sums out of the middle of two integers."""
    return (x.shape[dim] if x.rank else 1) + 0.5


def _observed_log_softmax(b: CompositeBuilder[V], x: V, dim: int, dtype: torch.dtype | bool | None = None) -> V:
    """A difference that only exp() reads costs no operation of its own, and needs no more range."""
    x = _as_type(b, x, dtype)
    largest, _shifted, log_sum = _log_softmax(b, x, dim)
    return b.aten.sub(x, b.aten.add(largest, log_sum))


@op("aten.log_softmax.int", "aten._log_softmax.default", quant=Q.PIECEWISE, decomposition=_observed_log_softmax)
def log_softmax(b: CompositeBuilder[V], x: V, dim: int, dtype: torch.dtype | bool | None = None) -> V:
    _largest, shifted, log_sum = _log_softmax(b, _as_type(b, x, dtype), dim)
    return b.aten.sub(shifted, log_sum)


def _log_softmax(b: CompositeBuilder[V], x: V, dim: int) -> tuple[V, V, V]:
    """The largest number, the numbers less the largest, and the logarithm of the sum of their exponentials."""
    largest = b.aten.amax(x, [dim], True)
    shifted = b.range_of_interest(b.aten.sub(x, largest), _EXP_IS_ZERO, 0.0)
    most = _most(x, dim)
    total = b.within(b.aten.sum(b.within(b.aten.exp(shifted), 0.0, 1.0), [dim], True), 1.0, most)
    return largest, shifted, b.within(b.aten.log(total), 0.0, math.log(most))


def _normalized(b: CompositeBuilder[V], x: V, dims: list[int], eps: float) -> tuple[V, V, V]:
    """Zero mean and unit variance over ``dims``; with the mean and 1 / standard deviation."""
    mean = b.aten.mean(x, dims, True)
    centered = b.aten.sub(x, mean)
    variance = b.aten.mean(b.aten.mul(centered, centered), dims, True)
    rstd = b.aten.rsqrt(b.aten.add(variance, eps))
    return b.aten.mul(centered, rstd), mean, rstd


def _affine(b: CompositeBuilder[V], x: V, weight: V | None, bias: V | None) -> V:
    x = x if weight is None or b.is_neutral(weight, 1.0) else b.aten.mul(x, weight)
    return x if bias is None or b.is_neutral(bias, 0.0) else b.aten.add(x, bias)


@op("aten.layer_norm.default", quant=Q.PIECEWISE, traits=Traits(channels=Channels(weight=2, bias=3, last=True)))
@in_float32
def layer_norm(
    b: CompositeBuilder[V],
    x: V,
    shape: Sequence[int],
    weight: V | None = None,
    bias: V | None = None,
    eps: float = 1e-5,
    _cudnn: bool = True,
) -> V:
    return _affine(b, _normalized(b, x, list(range(-len(shape), 0)), eps)[0], weight, bias)


@op("aten.native_layer_norm.default", quant=Q.PIECEWISE)
@in_float32
def native_layer_norm(
    b: CompositeBuilder[V], x: V, shape: Sequence[int], weight: V | None, bias: V | None, eps: float
) -> tuple[V, V, V]:
    y, mean, rstd = _normalized(b, x, list(range(-len(shape), 0)), eps)
    return _affine(b, y, weight, bias), mean, rstd


@op("aten.rms_norm.default", quant=Q.PIECEWISE)
@in_float32
def rms_norm(
    b: CompositeBuilder[V], x: V, shape: Sequence[int], weight: V | None = None, eps: float | None = None
) -> V:
    power = b.aten.mean(b.aten.mul(x, x), list(range(-len(shape), 0)), True)
    y = b.aten.mul(x, b.aten.rsqrt(b.aten.add(power, 1.1920929e-07 if eps is None else eps)))
    return _affine(b, y, weight, None)


@op("aten.group_norm.default", quant=Q.PIECEWISE)
@in_float32
def group_norm(
    b: CompositeBuilder[V],
    x: V,
    groups: int,
    weight: V | None = None,
    bias: V | None = None,
    eps: float = 1e-5,
    _cudnn: bool = True,
) -> V:
    return _by_groups(b, x, groups, weight, bias, eps)[0]


def _by_groups(
    b: CompositeBuilder[V], x: V, groups: int, weight: V | None, bias: V | None, eps: float
) -> tuple[V, V, V]:
    """The normalized tensor; mean and 1 / standard deviation of each group, with axes of 1 for the axes of a group."""
    parts, axes = b.split_channels(x, groups)
    y, mean, factor = _normalized(b, parts, axes, eps)
    per_channel = [1, x.shape[1]] + [1] * (len(x.shape) - 2)
    weight, bias = (None if v is None else b.aten.reshape(v, per_channel) for v in (weight, bias))
    return _affine(b, b.aten.reshape(y, list(x.shape)), weight, bias), mean, factor


@op("aten.native_group_norm.default", quant=Q.PIECEWISE)
@in_float32
def native_group_norm(
    b: CompositeBuilder[V],
    x: V,
    weight: V | None,
    bias: V | None,
    batch: int,
    channels: int,
    area: int,
    groups: int,
    eps: float,
) -> tuple[V, V, V]:
    y, mean, factor = _by_groups(b, x, groups, weight, bias, eps)
    return y, b.aten.reshape(mean, [batch, groups]), b.aten.reshape(factor, [batch, groups])


@op("aten.batch_norm.default", quant=Q.NORM, traits=Traits(channels=Channels(weight=1, bias=2)))
def batch_norm(
    b: CompositeBuilder[V],
    x: V,
    weight: V | None,
    bias: V | None,
    mean: V | None,
    variance: V | None,
    training: bool,
    momentum: float,
    eps: float,
    _cudnn: bool = True,
) -> V:
    if mean is None:  # a layer without running statistics is a norm of each channel, over the whole batch
        batch, channels, *others = x.shape
        merged = b.aten.reshape(b.aten.transpose(x, 0, 1), [1, channels, -1])
        normed = group_norm(b, merged, channels, weight, bias, eps)
        return b.aten.transpose(b.aten.reshape(normed, [channels, batch, *others]), 0, 1)
    b.require(not training, "normalizes with statistics of the batch", "export in eval mode: model.eval()")
    factor = b.aten.rsqrt(b.aten.add(variance, eps))
    factor = factor if weight is None else b.aten.mul(factor, weight)
    offset = b.aten.neg(b.aten.mul(mean, factor))
    offset = offset if bias is None else b.aten.add(offset, bias)
    if b.is_quantized(x):
        return _per_channel(b, x, factor, offset)
    shape = [1, -1] + [1] * (len(x.shape) - 2)
    return b.aten.add(b.aten.mul(x, b.aten.reshape(factor, shape)), b.aten.reshape(offset, shape))


def _per_channel(b: CompositeBuilder[V], x: V, factor: V, offset: V) -> V:
    """A depthwise convolution of one position: with a scale per channel its weights are exact."""
    batch, channels, *space = x.shape
    image = b.aten.reshape(x, [batch, channels, math.prod(space[:-1]), (space or [1])[-1]])
    image = b.aten.conv2d(image, b.channel_weights(factor), offset, [1, 1], [0, 0], [1, 1], channels)
    return b.aten.reshape(image, list(x.shape))


@op("aten._native_batch_norm_legit_no_training.default", quant=Q.PIECEWISE)
def native_batch_norm(
    b: CompositeBuilder[V], x: V, weight: V | None, bias: V | None, mean: V, variance: V, momentum: float, eps: float
) -> tuple[V, None, None]:
    return batch_norm(b, x, weight, bias, mean, variance, False, momentum, eps), None, None


@op("aten.instance_norm.default", quant=Q.PIECEWISE)
@in_float32
def instance_norm(
    b: CompositeBuilder[V],
    x: V,
    weight: V | None,
    bias: V | None,
    mean: V | None,
    variance: V | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    _cudnn: bool = True,
) -> V:
    if not use_input_stats:
        return batch_norm(b, x, weight, bias, mean, variance, False, momentum, eps)
    return group_norm(b, x, x.shape[1], weight, bias, eps)
