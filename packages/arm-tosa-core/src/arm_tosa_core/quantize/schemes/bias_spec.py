"""How biases are quantized: to the steps of the accumulator that they are added to, as the compiled layer has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import DerivedQuantizationSpec, QuantizationSpec

#: Largest integer of a bias; a sum is added to it. A bias beyond has coarser steps.
_MOST = 2**30


@dataclass(eq=True, frozen=True)
class BiasSpec(DerivedQuantizationSpec):  # type: ignore[misc]  # torchao is untyped
    """INT32 in steps of the input's scale times the weight's.

    Args:
        scale: the layer. Specs that are equal in this share an observer where they are about one tensor; steps of a
            recurrent layer have one bias, but inputs of several scales.
    """

    scale: Node | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class _Steps:
    """The scale of a bias, from the observers of input and weight.

    Args:
        bias: its numbers, [channels].
    """

    bias: torch.Tensor

    def __call__(self, observers: Sequence[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        (of_input, _), (of_weight, _) = (o.calculate_qparams() for o in observers)
        scale = (of_input.reshape(-1) * of_weight.reshape(-1)).float()
        size = self.bias.detach().abs()
        if scale.numel() == 1:
            size = size.max().reshape(1)
        else:
            scale = scale.repeat(size.numel() // scale.numel())  # a transposed convolution has those of one group
        scale = torch.maximum(scale, size / _MOST)
        return scale, torch.zeros_like(scale, dtype=torch.int64)


def bias_spec(layer: Node, weight: QuantizationSpec, bias: torch.Tensor) -> BiasSpec:
    """The spec of a layer's bias.

    Args:
        layer: its arguments are input, weight and bias.
        weight: the spec of its weight.
        bias: [channels], float32.
    """
    each = weight.ch_axis is not None
    x, w = layer.args[:2]
    return BiasSpec(
        derived_from=[(x, layer), (w, layer)],
        derive_qparams_fn=_Steps(bias),
        dtype=torch.int32,
        quant_min=-(2**31),
        quant_max=2**31 - 1,
        qscheme=torch.per_channel_symmetric if each else torch.per_tensor_symmetric,
        ch_axis=0 if each else None,
        scale=layer,
    )
