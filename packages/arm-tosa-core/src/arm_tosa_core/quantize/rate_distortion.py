"""Rounding one layer's weights to integers that take few bits: each bit that is saved may cost ``slope`` of noise.

The step of a channel is the one at which, by the high-rate theory of entropy-coded scalar quantization (Gish and
Pierce, 1968), a bit more or less changes its noise by the slope: small numbers of coarse steps take few bits. Then each
weight takes the integer with the least noise plus ``slope`` times bits, and the weights behind it make up for its error
(``error_feedback``).
"""

from __future__ import annotations

import math

import torch

from .error_feedback import Feedback
from .weight_statistics import Layer, Statistics

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
        self._feedback = Feedback(statistics.covariance, statistics.observations)
        conditional = -2 * self._feedback.factor.diagonal(dim1=1, dim2=2).double().log().reshape(layer.groups, -1)
        #: Noise of the outputs per square of a weight's error, of each channel.
        self._noise = (self._sensitivity * conditional.mean(-1, keepdim=True).exp()).clamp_min(_SMALLEST)

    def at(self, slope: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Integers, int8 in the weight's shape, and their scales.

        Args:
            slope: relative noise of the outputs per bit.
        """
        step = self._step(slope)
        weights = self._feedback.sorted(self._weights)
        steps = step.repeat_interleave(self._layer.parts, 0)
        rounded = (weights / steps[..., None]).round().clamp(self._low, self._high)
        for _ in range(_ROUNDS):
            rounded = self._rounded(weights, steps, slope, self._bits(rounded))
        found = self._layer.whole(self._feedback.unsorted(rounded)).to(torch.int8)
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
        sensitivity = self._sensitivity.repeat_interleave(self._layer.parts, 0)
        worth, factor = sensitivity * step.double().square(), self._feedback.factor.double()

        def choose(place: int, wanted: torch.Tensor) -> torch.Tensor:
            price = slope / worth * factor[:, place, place, None].square()
            return self._chosen(wanted, price.float(), bits)

        return self._feedback.round(weights, step, choose)

    def _chosen(self, wanted: torch.Tensor, price: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
        """Of the nearest integer, the next one towards 0, and 0 itself, the one that costs least.

        Args:
            price: of a bit, in squares of steps.
        """
        nearest = wanted.round().clamp(self._low, self._high)
        choices = torch.stack([nearest, nearest - nearest.sign(), torch.zeros_like(nearest)])
        costs = (wanted - choices).square() + price * bits[(choices - self._low).long()]
        return choices.gather(0, costs.argmin(0, keepdim=True))[0]
