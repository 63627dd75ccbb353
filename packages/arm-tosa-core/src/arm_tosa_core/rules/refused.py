"""Operators that TOSA cannot say, with the reason."""

from __future__ import annotations

from typing import Any

from ..build import Builder
from ..registry import op

_SORTS = "orders numbers, which no TOSA operator does", "take amax or argmax if one number is enough"
_VARIES = "gives as many numbers as the data says; TOSA has fixed shapes", "use a mask of the whole shape"

_REFUSED: dict[tuple[str, str], tuple[str, ...]] = {
    _SORTS: (
        "aten.argsort.default",
        "aten.argsort.stable",
        "aten.kthvalue.default",
        "aten.median.default",
        "aten.median.dim",
        "aten.mode.default",
        "aten.sort.default",
        "aten.sort.stable",
        "aten.topk.default",
    ),
    _VARIES: (
        "aten.masked_scatter.default",
        "aten.masked_select.default",
        "aten.nonzero.default",
        "aten.repeat_interleave.Tensor",
        "aten._unique2.default",
        "aten.unique_dim.default",
    ),
}


def _declare(targets: tuple[str, ...], reason: str, fix: str) -> None:
    @op(*targets)
    def rule(b: Builder, *_: Any, **__: Any) -> None:
        b.require(False, reason, fix)


for (_reason, _fix), _targets in _REFUSED.items():
    _declare(_targets, _reason, _fix)
