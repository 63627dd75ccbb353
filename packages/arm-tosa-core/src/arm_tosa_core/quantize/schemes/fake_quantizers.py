"""The fake quantizer of activations, for training with quantization."""

from __future__ import annotations

from typing import Any

import torch
from torchao.quantization.pt2e import FusedMovingAvgObsFakeQuantize

from ...lowering.values import least_unbounded
from .observers import Row, without_masks


class MaskedFakeQuantize(FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]  # torchao is untyped
    """A moving average of ranges, in which the numbers of attention masks do not stretch the scale.

    Args:
        row: how much of the tensor a softmax tells apart that reads it.
        far: a number that may stand where nothing counts, if it lies far from all others; 0: there is none.
        pole: whether a function with a pole at 0 reads the tensor: it gets half a step in place of 0, so that gradients
            stay finite.
    """

    def __init__(self, *, row: Row | None = None, far: float = 0.0, pole: bool = False, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._far = far
        self._row, self._pole = row and row.of_steps(self.quant_max - self.quant_min), pole

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Observes, and gives the numbers of the quantized model, masked ones no farther off than needed."""
        if self._row is not None and x.numel():
            x = self._row.bounded(x)
            observed = self.activation_post_process
            if observed.max_val.isfinite():
                observed.min_val.clamp_(max=self._row.floor(float(observed.max_val)))
        if x.numel() and max(map(abs, torch.aminmax(x.detach()))) >= least_unbounded(self._far):
            x = without_masks(x, self._far)
        quantized: torch.Tensor = super().forward(x)
        return torch.where(quantized == 0, self.scale / 2, quantized) if self._pole else quantized
