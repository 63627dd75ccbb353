"""The tables of ``quantize_to_keep`` on trained networks, in ``docs/trained-networks.md``, from measurements."""

from __future__ import annotations

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


def kept(figures: Figures) -> str:
    """Of how many networks the bound is kept, on which device, and at how many cycles beside int8's."""
    found = _rows(figures)
    targets = [target for target in _TARGETS if any(measured == target for _, measured, _ in found)]
    return "; ".join(_kept([row for _, measured, row in found if measured == t], _TARGETS[t]) for t in targets)


def _kept(rows: list[dict[str, Any]], device: str) -> str:
    mean = geometric_mean(row["times_int8"] for row in rows)
    return (
        f"in {sum(row['is_kept'] for row in rows)} of {len(rows)} networks on {device}, at {mean:.2f} times the cycles"
    )


def longest(figures: Figures) -> str:
    """CPU minutes of the case that took longest."""
    return f"{max((found['cpu_s'] for _, _, found in _rows(figures)), default=0.0) / 60:.1f}"


BLOCKS = {"kept": networks}
SPANS = {"kept-networks": kept, "kept-minutes": longest}
