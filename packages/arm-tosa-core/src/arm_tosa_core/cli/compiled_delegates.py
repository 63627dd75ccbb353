"""What a compilation comes to: its figures, its refusals, and what fills the on-chip memory of each delegate."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from ..exir.compiled_delegate import CompiledDelegate
from ..exir.figures import Figures
from ..support.durations import milliseconds
from ..support.memory_size import kib
from .report import Result, say, table

if TYPE_CHECKING:
    from ..exir.report import Report, Row
    from ..quantize.decision_costs import DecisionCost


def show_figures(console: Console, title: str, figures: Figures) -> None:
    """Prints the figures that are known."""
    console.print(table(title, ("", ""), list(_rows(figures)), heads=False))


def _rows(figures: Figures) -> Iterator[tuple[str, str]]:
    if figures.delegated is not None and figures.on_cpu is not None:
        parts = f" in {figures.delegates} delegate{'s' if figures.delegates > 1 else ''}"
        yield "operators delegated", f"{figures.delegated:,}{parts}"
        yield "operators on the CPU", f"{figures.on_cpu:,}"
    beside = ", without the CPU" if figures.on_cpu else ""
    if figures.cycles is not None:
        yield figures.cycles_title, f"{figures.cycles:,.0f}{beside}"
    if figures.instructions is not None:
        yield (
            f"instructions, estimated by the {figures.estimated_by or 'compiler'}",
            f"{figures.instructions:,.0f}{beside}",
        )
    if figures.inferences_per_second is not None and figures.clock_hz is not None and not figures.on_cpu:
        clock = f"at {figures.clock_hz / 1e6:,g} MHz"
        yield "time, estimated", f"{milliseconds(1 / figures.inferences_per_second)} {clock}"
        yield "inferences per second, estimated", f"{figures.inferences_per_second:,.1f} {clock}"
    if figures.sram_bytes is not None:
        parts = f": {figures.sram_parts}" if figures.sram_parts else ""
        yield "SRAM", f"{kib(figures.sram_bytes)}{parts}"
    in_use, moved = figures.memory_titles
    if figures.dram_bytes:
        yield in_use, kib(figures.dram_bytes)
    if figures.traffic:
        yield moved, figures.traffic
    if figures.flash_bytes is not None:
        parts = ": weights and commands" if figures.instructions is None else ": constants, without code"
        yield "flash", kib(figures.flash_bytes) + (parts if figures.flash_bytes else "")
    yield "file", f"{figures.file_bytes:,} bytes"
    yield "time to compile", f"{figures.seconds:,.2f} s"


def say_notes(figures: Figures) -> None:
    """Says what the figures leave out."""
    for note in figures.notes:
        say(f"note: {note}")


def show_layers(console: Console, delegates: Sequence[CompiledDelegate]) -> None:
    """The table of each delegate's operators, where another tool than the target's compiler rates them.

    Of a target whose compiler rates them, the timing model says more.
    """
    columns = ("runs as", "module", "where", "cycles", "share", "bound by", "bytes moved")
    for number, delegate in enumerate(delegates):
        whole = sum(layer.cycles for layer in delegate.layers)
        if not delegate.estimated_by or not whole:
            continue
        rows = [
            (
                layer.kind,
                layer.module,
                layer.source,
                f"{layer.cycles:,.0f}",
                f"{layer.cycles / whole:.1%}",
                layer.bound,
                f"{layer.bytes:,}",
            )
            for layer in delegate.layers
        ]
        title = f"delegate {number}: operators, estimated by the {delegate.estimated_by}"
        console.print(table(title, columns, rows))


def show_peaks(console: Console, delegates: Sequence[CompiledDelegate]) -> None:
    """The table of each delegate's memory."""
    for number, delegate in enumerate(delegates):
        _show_peak(console, f"delegate {number}", delegate)


def _show_peak(console: Console, name: str, delegate: CompiledDelegate) -> None:
    if not delegate.at_peak:
        console.print(f"{name}: the target's compiler does not say what is in on-chip memory", markup=False)
        return
    rows = [(row.name, f"{row.size:,}", row.made_by, row.source) for row in delegate.at_peak]
    total = sum(row.size for row in delegate.at_peak)
    rows.append(("sum", f"{total:,}", "", ""))
    console.print(table(f"{name}: on-chip memory at its peak", ("tensor", "bytes", "made by", "where"), rows))


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
