"""The tables of ``quantize_to_keep`` on trained networks, in ``docs/trained-networks.md``, from measurements."""

from __future__ import annotations

from functools import partial
from statistics import geometric_mean
from typing import Any

from benchmarks.documents import table
from benchmarks.figures import Figures

_KEEP = "0.99"
#: Targets that are measured, and how the page calls them.
_TARGETS = {"ethos-u55-128": "U55-128", "ethos-u85-256": "U85-256"}
_HEADS = (
    "network", "device", "as in float in int8, %", "step", "parts in 16 bits", "as in float, %",
    "cycles, times int8's", "on the functional model: samples", "as in float there, %", "CPU minutes",
)  # fmt: skip


def _rows(figures: Figures) -> list[tuple[str, str, dict[str, Any]]]:
    """Network, target and figures of each case that was measured to its end, by name."""
    found = []
    for case in figures.cases("kept"):
        newest = figures.newest("kept", case, "ours", "is_kept")
        if case["keep"] == _KEEP and newest is not None:
            found.append((case["network"], case["target"], newest.metrics))
    return sorted(found, key=lambda row: (row[0], list(_TARGETS).index(row[1])))


def networks(figures: Figures) -> str:
    """What the command found for each network."""
    lines = []
    for name, target, found in _rows(figures):
        recipe = found["recipe"]
        parts = len(recipe["modules"]) + len(recipe["nodes"])
        step = found["step"] if found["is_kept"] else f"**not kept**, best: {found['step']}"
        lines.append(
            [
                name,
                _TARGETS[target],
                f"{found['int8_agree']:.2f}",
                step,
                str(parts),
                f"{found['agree']:.2f}",
                f"{found['times_int8']:.2f}",
                str(found.get("model_samples", "–")),
                f"{found['model_agree']:.2f}" if "model_agree" in found else "–",
                f"{found['cpu_s'] / 60:.1f}",
            ]
        )
    return table(_HEADS, lines, left=2)


def kept(figures: Figures, target: str) -> str:
    """Of how many networks the bound is kept, in words."""
    rows = [found for _, measured, found in _rows(figures) if measured == target]
    return f"{sum(found['is_kept'] for found in rows)} of {len(rows)}"


def mean(figures: Figures, target: str) -> str:
    """The geometric mean of cycles beside int8's."""
    ratios = [found["times_int8"] for _, measured, found in _rows(figures) if measured == target]
    return f"{geometric_mean(ratios):.2f}" if ratios else "–"


def longest(figures: Figures) -> str:
    """CPU minutes of the case that took longest."""
    return f"{max((found['cpu_s'] for _, _, found in _rows(figures)), default=0.0) / 60:.1f}"


BLOCKS = {"kept": networks}
SPANS = {
    **{f"kept-{_TARGETS[target].lower()}": partial(kept, target=target) for target in _TARGETS},
    **{f"kept-cycles-{_TARGETS[target].lower()}": partial(mean, target=target) for target in _TARGETS},
    "kept-minutes": longest,
}
