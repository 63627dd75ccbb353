"""Private parts of torchao."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.fx import Node
from torchao.quantization.pt2e import HistogramObserver
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpecBase

#: Where PT2E keeps the annotation of a node: ``node.meta[ANNOTATION]`` is a ``QuantizationAnnotation``.
ANNOTATION = "quantization_annotation"

#: In place of an attribute that a spec lacks.
_LACKS = object()


def is_annotated(node: Node) -> bool:
    """Whether a quantizer has annotated a node.

    Needs ``QuantizationAnnotation._annotated``. Without it a node would be annotated twice.
    """
    return ANNOTATION in node.meta and bool(node.meta[ANNOTATION]._annotated)


def annotation(inputs: Mapping[Node, QuantizationSpecBase | None], output: QuantizationSpecBase | None) -> Any:
    """An annotation with these specs; a node that has it ``is_annotated``.

    Needs the argument ``_annotated`` of ``QuantizationAnnotation``. Without it PT2E takes the node for one that no
    quantizer has seen.
    """
    return QuantizationAnnotation(input_qspec_map=dict(inputs), output_qspec=output, _annotated=True)


def has_one_scale(a: QuantizationSpecBase, b: QuantizationSpecBase) -> bool:
    """Whether PT2E gives one observer to a tensor that is annotated in two places with these specs, none shared.

    Needs that ``_union_input_edge_with`` of ``pt2e/prepare.py`` compares these attributes. Without it scales would be
    shared that PT2E keeps apart.
    """
    compared = ("dtype", "is_dynamic", "quant_min", "quant_max", "qscheme", "ch_axis", "scale", "zero_point")
    return all(getattr(a, name, _LACKS) == getattr(b, name, _LACKS) for name in compared)


class RangeObserver(HistogramObserver):  # type: ignore[misc]  # torchao is untyped
    """A histogram observer whose range is chosen by a subclass.

    Needs that ``HistogramObserver`` calls ``_non_linear_param_search`` for the range, and ``_calculate_qparams`` for
    scale and zero point. Without that the range would be torchao's own.
    """

    def chosen_range(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The least and greatest real to represent (float32, rank 0), from ``histogram``, ``min_val``, ``max_val``."""
        raise NotImplementedError

    def symmetric_scale(self, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        """The scale for a range that a symmetric scheme has."""
        raise NotImplementedError

    def _non_linear_param_search(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.chosen_range()

    def _calculate_qparams(self, min_val: torch.Tensor, max_val: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.qscheme != torch.per_tensor_symmetric:
            parameters: tuple[torch.Tensor, torch.Tensor] = super()._calculate_qparams(min_val, max_val)
            return parameters
        scale = self.symmetric_scale(min_val, max_val)
        return torch.maximum(scale, self.eps), torch.zeros_like(scale, dtype=torch.int64)
