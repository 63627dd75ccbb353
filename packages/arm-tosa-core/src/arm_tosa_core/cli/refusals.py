"""Delegated operators and refusals, as JSON and as a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from .report import table

if TYPE_CHECKING:
    from ..exir.report import Report, Row


def data_of(report: Report) -> dict[str, Any]:
    """Both lists of the report, an object per operator."""
    return {
        "delegated": [asdict(row) for row in report.delegated],
        "rejected": [asdict(row) for row in report.rejected],
    }


#: Places that are listed of operators refused for one reason.
_PLACES = 3


def table_of(report: Report) -> Table:
    """One row for each kind of operator and reason, of what stays on the CPU; ``--json`` has one for each operator."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in report.rejected:
        lacks = f"\nThe ExecuTorch installed here has no kernel {row.kernel}: the program does not load in it"
        groups.setdefault((row.target, row.reason + (lacks if row.kernel else ""), row.fix), []).append(row)
    rows = [
        (f"{target}\n{_count(alike)}", _places(alike), reason, fix) for (target, reason, fix), alike in groups.items()
    ]
    return table("operators that stay on the CPU", ("operator", "where", "why", "what to do"), rows)


def _count(alike: Sequence[Row]) -> str:
    return alike[0].node if len(alike) == 1 else f"{len(alike)} times"


def _places(alike: Sequence[Row]) -> str:
    """The lines of the model, each once, relative to this folder where they lie in it."""
    places = list(dict.fromkeys(row.source.removeprefix(f"{os.getcwd()}{os.sep}") for row in alike))
    more = [f"and {len(places) - _PLACES} other lines"] if len(places) > _PLACES else []
    return "\n".join([*places[:_PLACES], *more])
