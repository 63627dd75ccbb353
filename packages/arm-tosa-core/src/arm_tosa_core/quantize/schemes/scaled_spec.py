"""How a product with a number is quantized: to the integers of its operand, of which nothing is rounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import DerivedQuantizationSpec, QuantizationSpec


@dataclass(eq=True, frozen=True)
class ScaledSpec(DerivedQuantizationSpec):  # type: ignore[misc]  # torchao is untyped
    """The operand's scale times the number, and its zero point.

    Args:
        observed: the spec of the product where its scale is also that of something else.
    """

    observed: QuantizationSpec = field(kw_only=True)


@dataclass(frozen=True)
class _Steps:
    """The scale of a product, from the observer of its operand; ``least`` is the smallest."""

    factor: float
    least: float

    def __call__(self, observers: Sequence[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        scale, zero_point = observers[0].calculate_qparams()
        scale = scale.double() * self.factor  # rounded to float32 it would be another scale than the lowering has
        return scale.clamp(min=self.least), zero_point


def scaled_spec(product: Node, factor: float, spec: QuantizationSpec) -> ScaledSpec:
    """The spec of a product.

    Args:
        product: its first argument is the operand, which is quantized as the product would be.
        factor: the number, above 0.
        spec: of the product, without this.
    """
    made_by = getattr(spec.observer_or_fake_quant_ctr, "p", None)
    least = 0.0 if made_by is None else made_by.keywords.get("eps") or 0.0
    return ScaledSpec(
        derived_from=[(product.args[0], product)],
        derive_qparams_fn=_Steps(torch.tensor(factor).item(), least),  # a float32, as it is lowered
        dtype=spec.dtype,
        quant_min=spec.quant_min,
        quant_max=spec.quant_max,
        qscheme=spec.qscheme,
        ch_axis=spec.ch_axis,
        observed=spec,
    )
