"""The fake quantizer of activations, for training with quantization."""

from __future__ import annotations

from typing import Any

import torch
from torchao.quantization.pt2e import FusedMovingAvgObsFakeQuantize

from ...lowering.values import UNBOUNDED
from .observers import Row, told_apart_in, without_masks


class MaskedFakeQuantize(FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]  # torchao is untyped
    """A moving average of ranges, in which the numbers of attention masks do not stretch the scale.

    Args:
        row: where a softmax reads the tensor.
        mask: the number at places that do not count for the softmax. The range has room for it.
    """

    def __init__(self, *, row: Row | None = None, mask: float | None = None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._row, self._mask = told_apart_in(row, self.quant_max - self.quant_min), mask

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Observes, and gives the numbers of the quantized model, masked ones no farther off than needed."""
        if self._row is not None or (x.numel() and max(map(abs, torch.aminmax(x.detach()))) >= UNBOUNDED):
            x = without_masks(x, self._row)
        observed = self.activation_post_process
        if self._row is not None and self._mask is not None and observed.max_val.isfinite():
            observed.min_val.clamp_(max=max(float(observed.max_val) - self._row[1], self._mask))
        quantized: torch.Tensor = super().forward(x)
        return quantized
