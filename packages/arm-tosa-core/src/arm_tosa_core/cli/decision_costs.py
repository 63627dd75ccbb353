"""``compile --quantize --details``: what the decisions of quantization cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console

from .report import Result, table

if TYPE_CHECKING:
    from ..quantize.decision_costs import DecisionCost


def with_costs(result: Result, costs: Sequence[DecisionCost], clock: float | None) -> Result:
    """The result of compiling, with the costs.

    Args:
        clock: of the device, Hz; None: not known.
    """
    if not costs:
        return result
    times = [None if row.cycles is None or clock is None else row.cycles / clock * 1e3 for row in costs]
    data = [{**asdict(row), "ms": ms} for row, ms in zip(costs, times, strict=True)]

    def show(console: Console) -> None:
        result.show(console)
        cells = [
            (row.kind, row.why, str(row.operators), _number(row.cycles, ",.0f"), _number(ms, ",.3f"))
            for row, ms in zip(costs, times, strict=True)
        ]
        columns = ("decision", "why", "operators", "cycles", "ms")
        shown = len(columns) if clock is not None else len(columns) - 1
        title = "what quantization decided, and what it costs by estimate"
        console.print(table(title, columns[:shown], [row[:shown] for row in cells]))

    return Result({**result.data, "quantization_costs": data}, show, result.status)


def _number(value: float | None, form: str) -> str:
    return "not known" if value is None else format(value, form)
