"""Operators that TOSA cannot say, with the reason."""

from __future__ import annotations

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import op

_COUNTS = "counts equal numbers, which no TOSA operator does", "take the median"
_VARIES = "gives as many numbers as the data says; TOSA has fixed shapes", "use a mask of the whole shape"

_REFUSED: dict[tuple[str, str], tuple[str, ...]] = {
    _COUNTS: ("aten.mode.default",),
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
    def rule(b: OpBuilder, *_: object, **__: object) -> None:
        b.require(False, reason, fix)


for (_reason, _fix), _targets in _REFUSED.items():
    _declare(_targets, _reason, _fix)
