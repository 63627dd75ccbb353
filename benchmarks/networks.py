"""Small networks of the field, lowered and compiled by both sides in one run: tables, and the means of the ratios.

    python benchmarks/networks.py                                            # all of tests/models' zoo: hours
    python benchmarks/networks.py --models vit swin --targets ethos-u85-256  # a part
    python benchmarks/networks.py --report FILE ... --update docs/benchmarks.md

Takes the arguments of ``lowering.py``, whose cases these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from lowering import measure, parser
from report import latest, show, tables

_FIGURES = (("cycles", "Vela cycles"), ("backend_s", "backend's share"), ("lower_s", "lowering"))


def main() -> None:
    """Runs what the command line asks for and prints the tables."""
    options = parser(__doc__)
    options.set_defaults(
        models=["zoo"],
        targets=["ethos-u55-128", "ethos-u85-256"],
        repeat=1,
        out=Path("build/benchmarks/networks.jsonl"),
    )
    show(options.parse_args(), measure, lambda rows: f"{tables(rows)}\n{means(rows)}\n", "networks")


def means(rows: Sequence[dict[str, Any]]) -> str:
    """Ours to the rival's, over the networks of which both sides have the figure."""
    lines = [
        "### Ours / rival's over networks",
        "",
        "| target | figure | networks | geometric mean | largest |",
        "|---|---|---:|---:|---|",
    ]
    newest = latest(list(rows))
    for target in sorted({row["target"] for row in newest}):
        for name, heading in _FIGURES:
            ratios = _ratios([row for row in newest if row["target"] == target and row.get(name)], name)
            if ratios:
                worst = max(ratios, key=lambda model: ratios[model])
                mean = geometric_mean(ratios.values())
                lines.append(f"| {target} | {heading} | {len(ratios)} | {mean:.2f} | {ratios[worst]:.2f} ({worst}) |")
    return "\n".join(lines)


def _ratios(rows: Sequence[dict[str, Any]], name: str) -> dict[str, float]:
    medians = {
        side: {
            model: median(row[name] for row in rows if (row["side"], row["model"]) == (side, model))
            for model in sorted({row["model"] for row in rows if row["side"] == side})
        }
        for side in ("ours", "rival")
    }
    return {
        model: ours / medians["rival"][model] for model, ours in medians["ours"].items() if model in medians["rival"]
    }


if __name__ == "__main__":
    main()
