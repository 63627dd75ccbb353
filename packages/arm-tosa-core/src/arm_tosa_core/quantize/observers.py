"""The observer of activations."""

from __future__ import annotations

import torch
from torchao.quantization.pt2e import HistogramObserver

from ..errors import UsageError
from ..values import unbounded

#: How far beyond the other numbers a mask lies for a quantized model: exp(-8) is less than a step of 8 bits.
_MARGIN = 8.0


class MaskedHistogramObserver(HistogramObserver):  # type: ignore[misc]
    """A histogram in which the infinities of attention masks, or what stands for them, do not stretch the scale.

    Numbers that are ``unbounded`` count as a little beyond the least and greatest of the others. In the
    quantized model they saturate there.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Observes; returns ``x`` as it is.

        Raises:
            UsageError: a number is NaN.
        """
        if torch.isnan(x).any():
            raise UsageError(
                f"calibration: {int(torch.isnan(x).sum())} of the {x.numel()} numbers of a tensor of shape "
                f"{list(x.shape)} are NaN: look for NaN in the calibration data, and for what makes it in the model"
            )
        masked = unbounded(x)
        if masked.any():
            others = x.detach()[~masked]
            low, high = (others.min(), others.max()) if others.numel() else (x.new_zeros(()), x.new_zeros(()))
            edge = torch.where(x > 0, high + _MARGIN, low - _MARGIN)
            super().forward(torch.where(masked, edge, x.detach()))
        else:
            super().forward(x)
        return x
