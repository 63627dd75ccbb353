"""What a compilation comes to: its figures as a table, and what fills the on-chip memory of each delegate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from ..exir.compiled_delegate import CompiledDelegate
from ..exir.figures import Figures
from .report import table

_KIB = 1024


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
    if figures.inferences_per_second is not None and figures.clock_hz is not None and not figures.on_cpu:
        clock = f"at {figures.clock_hz / 1e6:,g} MHz"
        yield "inferences per second, estimated", f"{figures.inferences_per_second:,.1f} {clock}"
    if figures.sram_bytes is not None:
        parts = f": {figures.sram_parts}" if figures.sram_parts else ""
        yield "SRAM", f"{_size(figures.sram_bytes)}{parts}"
    if figures.dram_bytes:
        yield "DRAM", _size(figures.dram_bytes)
    if figures.flash_bytes is not None:
        yield "flash", _size(figures.flash_bytes) + (": weights and commands" if figures.flash_bytes else "")
    yield "file", f"{figures.file_bytes:,} bytes"
    yield "time to compile", f"{figures.seconds:,.2f} s"


def _size(size: int) -> str:
    return f"{size / _KIB:,.1f} KiB"


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
