"""Normalizations and softmax: composites, decomposed before observers are placed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ..lower.registry import Q, op
from ..lower.values import QParams, Value

#: exp() of it is less than half a step of 16 bits: what lies below need not be told apart.
_EXP_IS_ZERO = -11.1
#: The largest weight of 8 bits.
_MOST = 127


@op("aten.softmax.int", "aten._softmax.default", quant=Q.PIECEWISE)
def softmax(b: Any, x: Value, dim: int, *_: Any, **__: Any) -> Value:
    return _softmax(b, x, dim, False)


@op("aten._safe_softmax.default", quant=Q.PIECEWISE)
def safe_softmax(b: Any, x: Value, dim: int, *_: Any, **__: Any) -> Value:
    """0 where all numbers are minus infinity, as in rows that a mask leaves nothing of."""
    return _softmax(b, x, dim, True)


def _softmax(b: Any, x: Value, dim: int, safe: bool) -> Value:
    largest = b.aten.amax(x, [dim], True)
    if safe:
        largest = b.aten.clamp(largest, torch.finfo(x.dtype).min, None)
    shifted = b.aten.sub(x, largest)
    if b.quantizing:
        shifted = b.aten.clamp(shifted, _EXP_IS_ZERO, 0.0)
    e = b.within(b.aten.exp(shifted), 0.0, 1.0)
    total = b.aten.sum(e, [dim], True)
    if safe:  # the largest number alone adds 1
        total = b.aten.clamp(total, 1.0, None)
    total = b.within(total, 1.0, _most(x, dim))
    return b.within(b.aten.mul(e, b.within(b.aten.reciprocal(total), 0.0, 1.0)), 0.0, 1.0)  # type: ignore[no-any-return]


def _most(x: Value, dim: int) -> float:
    """A sum of numbers up to 1. Half of one more: in so many steps no sum lies in the middle of two integers."""
    return (x.shape[dim] if x.rank else 1) + 0.5


@op("aten.log_softmax.int", "aten._log_softmax.default", quant=Q.PIECEWISE)
def log_softmax(b: Any, x: Value, dim: int, *_: Any) -> Value:
    largest = b.aten.amax(x, [dim], True)
    shifted = b.aten.sub(x, largest)
    if b.quantizing:  # a difference that only exp() reads costs no operation of its own, and needs no more range
        shifted = b.aten.clamp(shifted, _EXP_IS_ZERO, 0.0)
    most = _most(x, dim)
    total = b.within(b.aten.sum(b.within(b.aten.exp(shifted), 0.0, 1.0), [dim], True), 1.0, most)
    rest = b.within(b.aten.log(total), 0.0, math.log(most))
    if b.quantizing:
        return b.aten.sub(x, b.aten.add(largest, rest))  # type: ignore[no-any-return]
    return b.aten.sub(shifted, rest)  # type: ignore[no-any-return]


def _normalized(b: Any, x: Value, dims: list[int], eps: float) -> tuple[Value, Value, Value]:
    """Zero mean and unit variance over ``dims``; with the mean and 1 / standard deviation."""
    mean = b.aten.mean(x, dims, True)
    centered = b.aten.sub(x, mean)
    variance = b.aten.mean(b.aten.mul(centered, centered), dims, True)
    rstd = b.aten.rsqrt(b.aten.add(variance, eps))
    return b.aten.mul(centered, rstd), mean, rstd


def _affine(b: Any, x: Value, weight: Value | None, bias: Value | None) -> Value:
    if b.quantizing:  # what changes nothing would round once more
        weight = None if weight is None or b.is_all(weight, 1.0) else weight
        bias = None if bias is None or b.is_all(bias, 0.0) else bias
    x = x if weight is None else b.aten.mul(x, weight)
    return x if bias is None else b.aten.add(x, bias)


@op("aten.layer_norm.default", quant=Q.PIECEWISE)
def layer_norm(
    b: Any,
    x: Value,
    shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    _cudnn: bool = True,
) -> Value:
    return _affine(b, _normalized(b, x, list(range(-len(shape), 0)), eps)[0], weight, bias)


@op("aten.native_layer_norm.default", quant=Q.PIECEWISE)
def native_layer_norm(
    b: Any, x: Value, shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    y, mean, rstd = _normalized(b, x, list(range(-len(shape), 0)), eps)
    return _affine(b, y, weight, bias), mean, rstd


@op("aten.rms_norm.default", quant=Q.PIECEWISE)
def rms_norm(b: Any, x: Value, shape: Sequence[int], weight: Value | None = None, eps: float | None = None) -> Value:
    power = b.aten.mean(b.aten.mul(x, x), list(range(-len(shape), 0)), True)
    y = b.aten.mul(x, b.aten.rsqrt(b.aten.add(power, 1.1920929e-07 if eps is None else eps)))
    return _affine(b, y, weight, None)


@op("aten.group_norm.default", quant=Q.PIECEWISE)
def group_norm(
    b: Any,
    x: Value,
    groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    _cudnn: bool = True,
) -> Value:
    batch, channels, *space = x.shape
    if b.quantizing or x.perm is None:
        parts, axes = b.aten.reshape(x, [batch, groups, -1]), [-1]
    else:  # channels last: split, they stay last; Vela takes broadcasts of so many axes apart, and integers pay for it
        parts = b.aten.reshape(x, [batch, groups, channels // groups, *space])
        axes = list(range(2, parts.rank))
    y, _, _ = _normalized(b, parts, axes, eps)
    per_channel = [1, channels] + [1] * (len(x.shape) - 2)
    weight, bias = (None if v is None else b.aten.reshape(v, per_channel) for v in (weight, bias))
    return _affine(b, b.aten.reshape(y, list(x.shape)), weight, bias)


@op("aten.native_group_norm.default", quant=Q.PIECEWISE)
def native_group_norm(
    b: Any,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    batch: int,
    channels: int,
    area: int,
    groups: int,
    eps: float,
) -> tuple[Value, None, None]:
    return group_norm(b, x, groups, weight, bias, eps), None, None


@op("aten.batch_norm.default", quant=Q.NORM)
def batch_norm(
    b: Any,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    _cudnn: bool = True,
) -> Value:
    b.require(
        not training and mean is not None,
        "normalizes with statistics of the batch",
        "export in eval mode: model.eval()",
    )
    factor = b.aten.rsqrt(b.aten.add(variance, eps))
    factor = factor if weight is None else b.aten.mul(factor, weight)
    offset = b.aten.neg(b.aten.mul(mean, factor))
    offset = offset if bias is None else b.aten.add(offset, bias)
    if b.quantizing or x.quant is not None:
        return _per_channel(b, x, factor, offset)
    shape = [1, -1] + [1] * (len(x.shape) - 2)
    return b.aten.add(b.aten.mul(x, b.aten.reshape(factor, shape)), b.aten.reshape(offset, shape))  # type: ignore[no-any-return]


def _per_channel(b: Any, x: Value, factor: Value, offset: Value) -> Value:
    """A depthwise convolution of one position: with a scale per channel its weights are exact."""
    batch, channels, *space = x.shape
    image = b.aten.reshape(x, [batch, channels, math.prod(space[:-1]), (space or [1])[-1]])
    if b.quantizing:
        weight = b.aten.reshape(factor, [channels, 1, 1, 1])
    else:  # training observes what a norm reads and gives, but not its weights
        reals = factor.real().double().flatten()
        sizes = torch.where(reals == 0, 1.0, reals.abs())
        quant = QParams(tuple((sizes / _MOST).tolist()), 0, -_MOST, _MOST, axis=0)
        weight = b.const((reals.sign() * _MOST).to(torch.int8).reshape(-1, 1, 1, 1), quant)
    image = b.aten.conv2d(image, weight, offset, [1, 1], [0, 0], [1, 1], channels)
    made: Value = b.aten.reshape(image, list(x.shape))
    return made


@op("aten._native_batch_norm_legit_no_training.default", quant=Q.PIECEWISE)
def native_batch_norm(
    b: Any,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    momentum: float,
    eps: float,
) -> tuple[Value, None, None]:
    return batch_norm(b, x, weight, bias, mean, variance, False, momentum, eps), None, None


@op("aten.instance_norm.default", quant=Q.PIECEWISE)
def instance_norm(
    b: Any,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    _cudnn: bool = True,
) -> Value:
    if not use_input_stats:
        return batch_norm(b, x, weight, bias, mean, variance, False, momentum, eps)
    return group_norm(b, x, x.shape[1], weight, bias, eps)
