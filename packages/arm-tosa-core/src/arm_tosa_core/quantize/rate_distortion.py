"""Rounding one layer's weights to integers that take few bits: each bit that is saved may cost ``slope`` of noise.

The step of a channel is the one at which, by the high-rate theory of entropy-coded scalar quantization (Gish and
Pierce, 1968), a bit more or less changes its noise by the slope: small numbers of coarse steps take few bits. Then each
weight takes the integer with the least noise plus ``slope`` times bits, and the weights behind it make up for its error
as far as their inputs go together (error feedback: Hassibi and Stork, 1993; Frantar et al., 2022, "GPTQ").
"""

from __future__ import annotations

import math

import torch

from .weight_statistics import Layer, Statistics

_BLOCK = 128
#: Of the mean variance, what is added to each.
_DAMPING = 0.01
#: The share of a sensitivity that is the mean of all channels.
_COMMON = 0.1
#: How often bits are counted anew.
_ROUNDS = 2
_SMALLEST = 1e-30


class LayerRounding:
    """Rounds the weights of one layer.

    Args:
        scale: [channels], those of the layer as it was calibrated, or [1], for all: the smallest that are used.
        low, high: the range of the integers.
    """

    def __init__(self, layer: Layer, statistics: Statistics, scale: torch.Tensor, low: int, high: int) -> None:
        self._layer, self._per_channel = layer, len(scale) > 1
        self._low, self._high = low, high
        self._weights = layer.cut(layer.weight.float())
        self._scale = scale.float().expand(len(layer.weight)).reshape(layer.groups, -1)
        own = statistics.sensitivity.double()
        self._sensitivity = ((1 - _COMMON) * own + _COMMON * own.mean()).clamp_min(_SMALLEST)
        self._order, self._factor = _feedback(statistics)
        conditional = -2 * self._factor.diagonal(dim1=1, dim2=2).double().log().reshape(layer.groups, -1)
        #: Noise of the outputs per square of a weight's error, of each channel.
        self._noise = (self._sensitivity * conditional.mean(-1, keepdim=True).exp()).clamp_min(_SMALLEST)

    def at(self, slope: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Integers, int8 in the weight's shape, and their scales.

        Args:
            slope: relative noise of the outputs per bit.
        """
        step = self._step(slope)
        order = self._order[:, None].expand_as(self._weights)
        weights = self._weights.gather(2, order)
        steps = step.repeat_interleave(self._layer.parts, 0)
        rounded = (weights / steps[..., None]).round().clamp(self._low, self._high)
        for _ in range(_ROUNDS):
            rounded = self._rounded(weights, steps, slope, self._bits(rounded))
        found = self._layer.whole(torch.empty_like(rounded).scatter_(2, order, rounded)).to(torch.int8)
        return found, step.reshape(-1) if self._per_channel else step.reshape(-1)[:1]

    def _step(self, slope: float) -> torch.Tensor:
        """[groups, channels of a group]; one that makes all weights of a channel 0 or 1 is the largest."""
        noise = self._noise if self._per_channel else self._noise.mean().expand_as(self._noise)
        wanted = (6 * slope / math.log(2) / noise).sqrt().float()
        magnitudes = self._layer.weight.abs().flatten(1).amax(1).reshape(wanted.shape)
        largest = magnitudes if self._per_channel else magnitudes.max().expand_as(wanted)
        return torch.maximum(torch.minimum(wanted, largest), self._scale)

    def _bits(self, rounded: torch.Tensor) -> torch.Tensor:
        """Bits of each integer from the smallest on, as often as all are used in the layer."""
        counts = torch.bincount((rounded - self._low).long().flatten(), minlength=self._high - self._low + 1) + 0.5
        return (counts.sum() / counts).log2()

    def _rounded(self, weights: torch.Tensor, step: torch.Tensor, slope: float, bits: torch.Tensor) -> torch.Tensor:
        left, rounded = weights.clone(), torch.zeros_like(weights)
        factor, count = self._factor, weights.shape[2]
        sensitivity = self._sensitivity.repeat_interleave(self._layer.parts, 0)
        worth = sensitivity * step.double().square()
        for first in range(0, count, _BLOCK):
            last = min(first + _BLOCK, count)
            errors = torch.zeros_like(weights[..., first:last])
            for j in range(first, last):
                own = factor[:, j, j, None]
                wanted = left[..., j] / step
                chosen = self._chosen(wanted, (slope / worth * own.double().square()).float(), bits)
                rounded[..., j] = chosen
                error = (wanted - chosen) * step / own
                errors[..., j - first] = error
                left[..., j + 1 : last] -= error[..., None] * factor[:, None, j, j + 1 : last]
            left[..., last:] -= errors @ factor[:, first:last, last:]
        return rounded

    def _chosen(self, wanted: torch.Tensor, price: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
        """Of the nearest integer, the next one towards 0, and 0 itself, the one that costs least.

        Args:
            price: of a bit, in squares of steps.
        """
        nearest = wanted.round().clamp(self._low, self._high)
        choices = torch.stack([nearest, nearest - nearest.sign(), torch.zeros_like(nearest)])
        costs = (wanted - choices).square() + price * bits[(choices - self._low).long()]
        return choices.gather(0, costs.argmin(0, keepdim=True))[0]


def _feedback(statistics: Statistics) -> tuple[torch.Tensor, torch.Tensor]:
    """The order in which weights are rounded, [groups * parts, weights of a part], and the upper Cholesky factor of
    the inverse covariance in that order, [groups * parts, weights of a part, weights of a part].

    Few observations say little of a covariance: it is shrunk towards its diagonal, and variances towards their mean.
    """
    covariance = statistics.covariance
    inputs = covariance.shape[-1]
    variances = covariance.diagonal(dim1=1, dim2=2)
    mean = variances.mean(-1, keepdim=True).clamp_min(_SMALLEST)
    share = inputs / (inputs + statistics.observations)
    made = (1 - share) * covariance
    made.diagonal(dim1=1, dim2=2).add_(share / 2 * (variances + mean) + _DAMPING * mean)
    order = made.diagonal(dim1=1, dim2=2).argsort(dim=-1, descending=True, stable=True)
    made = made.gather(1, order[:, :, None].expand_as(made)).gather(2, order[:, None, :].expand_as(made))
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(made.double()))
    return order, torch.linalg.cholesky(inverse, upper=True).float()
