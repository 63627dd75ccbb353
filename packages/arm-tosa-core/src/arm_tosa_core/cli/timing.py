"""What a target's timing model says of delegates: tables by operator and by source line, JSON, rows of a trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ..plugin.target import Target
from ..plugin.timing import OperatorTime, TimeEstimate, UnitSpan
from ..support.atomic_files import write_atomic
from ..support.durations import milliseconds
from ..support.errors import UsageError
from .profile import Event, trace_events
from .report import table

_UNKNOWN = "(line not known)"
_ESTIMATES, _MEASURED = 2, 1  # processes of a trace


@dataclass(frozen=True)
class Timed:
    """The estimate of one delegate, or of a whole payload."""

    what: str
    estimate: TimeEstimate


def estimated(what: str, target: Target, payload: bytes, tosa: bytes | None = None) -> Timed:
    """Asks a target's timing model.

    Raises:
        UsageError: the target has none.
        ToolError: a tool that it asks fails.
    """
    if target.report.timing is None:
        raise UsageError(
            f"target {target.name!r} has no timing model, which estimates how long a payload takes: leave --details "
            "out. The estimate of the target's compiler, if it has one, is what `arm-tosa compile` prints"
        )
    return Timed(what, target.report.timing(payload, tosa))


def data_of(timed: Sequence[Timed]) -> list[dict[str, Any]]:
    """For ``--json``: figures are estimates."""
    return [
        {
            "what": one.what,
            "estimated_cycles": round(one.estimate.cycles),
            "estimated_ms": one.estimate.seconds * 1e3,
            "system": one.estimate.system,
            "compiler": one.estimate.compiler,
            "compiler_cycles": one.estimate.compiler_cycles,
            "operators": [_operator_data(row) for row in one.estimate.operators],
            "lines": [_operator_data(row) for row in by_line(one.estimate.operators)],
        }
        for one in timed
    ]


def _operator_data(row: OperatorTime) -> dict[str, Any]:
    return {**asdict(row), "cycles": round(row.cycles)}


def by_line(operators: Iterable[OperatorTime]) -> list[OperatorTime]:
    """The operators of each source line as one, the longest first; ``bound`` is that of its longest operator."""
    lines: dict[str, list[OperatorTime]] = {}
    for row in operators:
        lines.setdefault(row.source, []).append(row)
    if set(lines) <= {""}:
        return []
    joined = []
    for source, rows in lines.items():
        theirs = [row.compiler_cycles for row in rows if row.compiler_cycles is not None]
        longest = max(rows, key=lambda row: row.cycles)
        cycles = sum(row.cycles for row in rows)
        joined.append(
            OperatorTime(f"{len(rows)} operators", source, cycles, longest.bound, sum(theirs) if theirs else None)
        )
    return sorted(joined, key=lambda row: -row.cycles)


def show(console: Console, timed: Sequence[Timed]) -> None:
    """Prints each estimate: the whole, operators, lines."""
    for one in timed:
        estimate = one.estimate
        theirs = "" if estimate.compiler_cycles is None else f"; {estimate.compiler}: {estimate.compiler_cycles:,.0f}"
        console.print(
            f"{one.what}: {estimate.cycles:,.0f} cycles by the timing model, {milliseconds(estimate.seconds)} at "
            f"{estimate.clock / 1e6:g} MHz ({estimate.system}){theirs}. An estimate, not a measurement.",
            markup=False,
        )
        ran = [row for row in estimate.operators if row.cycles >= 1 or row.compiler_cycles]
        if ran:
            console.print(_table("estimate by operator", "operator", [(row.name, row) for row in ran], estimate))
        if lines := by_line(estimate.operators):
            named = [(row.source or _UNKNOWN, row) for row in lines if row.cycles >= 1]
            console.print(_table("estimate by source line", "line", named, estimate))


def _table(title: str, first: str, rows: Sequence[tuple[str, OperatorTime]], estimate: TimeEstimate) -> Any:
    heads = [first, "cycles", "%", "bound by", f"{estimate.compiler or 'compiler'}, cycles"]
    whole = max(estimate.cycles, 1.0)
    cells = [
        [
            name,
            f"{row.cycles:,.0f}",
            f"{100 * row.cycles / whole:.1f}",
            row.bound,
            "" if row.compiler_cycles is None else f"{row.compiler_cycles:,.0f}",
        ]
        for name, row in rows
    ]
    return table(title, heads, cells)


def write_trace(path: Path, timed: Sequence[Timed], events: Sequence[Event] = ()) -> None:
    """Writes a trace for Perfetto: units of the device as estimated, delegates in order, and what was measured here.

    Times of the device are those of its clock; those that were measured are of this machine.

    Raises:
        UsageError: it cannot be written.
    """
    names = [*_MEASURED_NAMES] if events and timed else []
    rows = [*names, *trace_events(events, _MEASURED), *_rows(timed)]
    write_atomic(path, json.dumps({"traceEvents": rows, "displayTimeUnit": "ms"}, indent=1))


def _rows(timed: Sequence[Timed]) -> Iterator[dict[str, Any]]:
    units = list(dict.fromkeys(span.unit for one in timed for span in one.estimate.spans))
    if not units:
        return
    yield _named("process_name", _ESTIMATES, 0, "estimated")
    for number, unit in enumerate(units, 1):
        yield _named("thread_name", _ESTIMATES, number, unit)
    start = 0.0
    for one in timed:
        scale = 1e6 / one.estimate.clock
        for span in one.estimate.spans:
            row = {
                "name": span.name,
                "ph": "X",
                "ts": start + span.begin * scale,
                "dur": (span.end - span.begin) * scale,
            }
            operator = _operator(span, one.estimate)
            where = {"operator": operator.name, "source": operator.source} if operator is not None else {}
            arguments = {"begin_cycle": round(span.begin), "end_cycle": round(span.end), **where}
            yield {**row, "pid": _ESTIMATES, "tid": units.index(span.unit) + 1, "args": arguments}
        start += one.estimate.cycles * scale


def _operator(span: UnitSpan, estimate: TimeEstimate) -> OperatorTime | None:
    known = span.operator is not None and span.operator < len(estimate.operators)
    return estimate.operators[span.operator] if known and span.operator is not None else None


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


_MEASURED_NAMES = (
    _named("process_name", _MEASURED, 0, "measured on this machine"),
    _named("thread_name", _MEASURED, 1, "CPU"),
)
