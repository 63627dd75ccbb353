"""What a target's compiler says of delegates: its estimate, and what fills the on-chip memory."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ..exir.compiled_delegate import CompiledDelegate
from .report import table

_FIGURES = {"cycles": "{:,.0f} cycles", "sram_kib": "SRAM {:,.1f} KiB", "flash_kib": "flash {:,.1f} KiB"}


def show_compiled(console: Console, delegates: Sequence[CompiledDelegate], *, peak: bool) -> None:
    """One line for each delegate of which the compiler says anything, and with ``peak`` the table of its memory."""
    for number, delegate in enumerate(delegates):
        name = f"delegate {number}" if len(delegates) > 1 else "estimate"
        figures = [form.format(delegate.figures[key]) for key, form in _FIGURES.items() if key in delegate.figures]
        if figures:
            console.print(f"{name}: {', '.join(figures)}", markup=False)
        if peak:
            _show_peak(console, name, delegate)


def _show_peak(console: Console, name: str, delegate: CompiledDelegate) -> None:
    if not delegate.at_peak:
        console.print(f"{name}: the target's compiler does not say what is in on-chip memory", markup=False)
        return
    rows = [(row.name, f"{row.size:,}", row.made_by, row.source) for row in delegate.at_peak]
    total = sum(row.size for row in delegate.at_peak)
    rows.append(("sum", f"{total:,}", "", ""))
    console.print(table(f"{name}: on-chip memory at its peak", ("tensor", "bytes", "made by", "where"), rows))
