"""How a report of what is delegated and what is not looks, as JSON and as a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from .report import table

if TYPE_CHECKING:
    from ..exir.report import Report


def data_of(report: Report) -> dict[str, Any]:
    """Both lists of the report, an object per operator."""
    return {
        "delegated": [asdict(row) for row in report.delegated],
        "rejected": [asdict(row) for row in report.rejected],
    }


def table_of(report: Report) -> Table:
    """One row for each operator that stays on the CPU."""
    rows = [(f"{row.target}\n{row.node}", row.source, row.reason, row.fix) for row in report.rejected]
    return table("operators that stay on the CPU", ("operator", "where", "why", "what to do"), rows)
