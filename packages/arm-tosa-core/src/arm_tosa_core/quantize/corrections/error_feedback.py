"""Rounding weights one after the other: those behind make up for the error of one, as far as their inputs go together.

Hassibi and Stork, 1993 ("Optimal Brain Surgeon"); Frantar et al., 2022 ("GPTQ").
"""

from __future__ import annotations

import torch

_BLOCK = 128
#: Of the mean variance, what is added to each.
_DAMPING = 0.01
_SMALLEST = 1e-30


class Feedback:
    """The order in which the weights of a layer's channels are rounded, and how errors are handed on.

    Few observations say little of a covariance: it is shrunk towards its diagonal, and variances towards their mean.

    Args:
        covariance: of the inputs, [groups, inputs, inputs].
        observations: how many each was made of, [groups].
    """

    def __init__(self, covariance: torch.Tensor, observations: torch.Tensor) -> None:
        inputs = covariance.shape[-1]
        variances = covariance.diagonal(dim1=1, dim2=2)
        mean = variances.mean(-1, keepdim=True).clamp_min(_SMALLEST)
        share = (inputs / (inputs + observations.double()))[:, None]
        made = (1 - share).float()[..., None] * covariance
        made.diagonal(dim1=1, dim2=2).add_((share / 2).float() * (variances + mean) + _DAMPING * mean)
        order = made.diagonal(dim1=1, dim2=2).argsort(dim=-1, descending=True, stable=True)
        made = made.gather(1, order[:, :, None].expand_as(made)).gather(2, order[:, None, :].expand_as(made))
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(made.double()))
        self.order = order
        #: Upper Cholesky factor of the inverse covariance in that order, [groups, inputs, inputs].
        self.factor = torch.linalg.cholesky(inverse, upper=True).float()

    def sorted(self, weights: torch.Tensor) -> torch.Tensor:
        """Weights, [groups, channels, inputs], in the order in which they are rounded."""
        return weights.gather(2, self.order[:, None].expand_as(weights))

    def unsorted(self, rounded: torch.Tensor) -> torch.Tensor:
        """Their integers in the order of the layer."""
        return torch.empty_like(rounded).scatter_(2, self.order[:, None].expand_as(rounded), rounded)

    def round(self, weights: torch.Tensor, steps: torch.Tensor, low: int, high: int) -> torch.Tensor:
        """The integers of sorted weights, from ``low`` to ``high``.

        Args:
            steps: [groups, channels].
        """
        left, rounded = weights.clone(), torch.zeros_like(weights)
        factor, count = self.factor, weights.shape[2]
        for first in range(0, count, _BLOCK):
            last = min(first + _BLOCK, count)
            errors = torch.zeros_like(weights[..., first:last])
            for j in range(first, last):
                wanted = left[..., j] / steps
                rounded[..., j] = chosen = wanted.round().clamp(low, high)
                error = (wanted - chosen) * steps / factor[:, j, j, None]
                errors[..., j - first] = error
                left[..., j + 1 : last] -= error[..., None] * factor[:, None, j, j + 1 : last]
            left[..., last:] -= errors @ factor[:, first:last, last:]
        return rounded
