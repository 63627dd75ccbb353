"""The table of the rewrites for Ethos-U in ``docs/reference/vela-limits.md``: what each gains, of measurements."""

from __future__ import annotations

from collections.abc import Iterator

from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.rewrites import catalogue
from arm_ethosu.rewrites.catalogue import ALL, Kind, Row
from arm_tosa_core.rewrites.by_estimate import Choice
from benchmarks.documents import table
from benchmarks.figures import Figures

_HEADS = ("Rewrite", "What it does", "Why", "Gains most", "On", "Not on the others because")
#: From which on a difference is one: of less, Vela's schedule of a network decides.
_LEAST = 0.01


def rewrites(figures: Figures) -> str:
    """A line per rewrite."""
    return table(_HEADS, [_line(figures, row) for row in catalogue.ROWS], left=len(_HEADS))


def _line(figures: Figures, row: Row) -> list[str]:
    rewrite = catalogue.shown(row)
    what = rewrite.reason.replace("|", "\\|")
    if isinstance(row.rewrite, Choice):
        what += " Where the estimate says so."
    where = "all" if row.on == ALL else ", ".join(f"Ethos-{family.upper()}" for family in row.on)
    why = f"{row.kind}, Vela {row.vela}" if row.vela else str(row.kind)
    measured = row.kind in (Kind.SPEED, Kind.MEMORY)
    elsewhere = catalogue.why_not_elsewhere(row)
    if not elsewhere and row.on != ALL:
        elsewhere = _loss(figures, row)
    return [f"`{rewrite.name}`", what, why, _gain(figures, row) if measured else "", where, elsewhere]


def _pairs(figures: Figures, row: Row, side: str) -> Iterator[tuple[float, float, str]]:
    """By how much a network's cycles change, the cycles, and the network, of accelerators with or without the row's."""
    name = catalogue.shown(row).name
    for case in figures.cases("gains"):
        if (ACCELERATORS[case["target"]] in row.on) is (side == "without"):
            found = figures.newest("gains", case, "ours", side)
            other = found.metrics[side].get(name) if found else None
            if found and other is not None:
                cycles = found.metrics["cycles"]
                on = case["target"].removeprefix("ethos-").upper()
                yield other / cycles - 1, cycles, f"{case['network']} on {on}"


def _gain(figures: Figures, row: Row) -> str:
    if not figures.cases("gains"):
        return "not measured"
    most, cycles, network = max(_pairs(figures, row, "without"), default=(0.0, 0.0, ""))
    if most < _LEAST:
        return "none of the networks measured, by 1 %"
    return f"{_short(cycles)} cycles in place of {_short(cycles * (1 + most))}: {network}"


def _loss(figures: Figures, row: Row) -> str:
    """What the rewrite would do to networks on the others."""
    found = list(_pairs(figures, row, "with"))
    worst, best = max(found, default=(0.0, 0.0, "")), min(found, default=(0.0, 0.0, ""))
    said = [f"{network} {100 * most:.1f} % slower" for most, _, network in (worst,) if most > _LEAST]
    said += [f"{network} {-100 * most:.1f} % faster" for most, _, network in (best,) if most < -_LEAST]
    return ", ".join(said) or "no network measured is faster"


def _short(cycles: float) -> str:
    return f"{cycles / 1e6:.2f} M" if cycles >= 1e6 else f"{cycles:,.0f}"
