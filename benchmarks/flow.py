"""From an exported program to the bytes of a ``.pte``: this project's fast flow, its ordinary flow, and the rival.

    python benchmarks/flow.py                                  # four int8 networks on ethos-u55-128
    python benchmarks/flow.py --models mobilenet_v2 --repeat 5
    python benchmarks/flow.py --report FILE ...                # the table again, from the figures of earlier runs
    ... --update docs/benchmarks.md                            # and put it there

As in ``lowering.py``, every case has a process of its own, one at a time, the sides by turns, and times are CPU
seconds. Vela's own time is left out on all sides.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from processes import run_case
from report import latest, setting, show

MODELS = ["mobilenet_v2", "resnet50", "bert_tiny", "deit_tiny"]
SIDES = ["fast", "ordinary", "rival"]
_HEADS = (
    "network",
    "target",
    "fast, CPU s",
    "ordinary",
    "rival",
    "rival / fast",
    "warm",
    "peak, MiB",
    "rival's",
    "added, MiB",
    "rival's",
)


def main() -> None:
    """Runs what the command line asks for and prints the table."""
    show(_parser().parse_args(), _measure, table, "figures of the flow")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME", help="of tests/models")
    parser.add_argument("--target", default="ethos-u55-128", choices=["ethos-u55-128", "ethos-u85-256", "tosa-int"])
    parser.add_argument("--sides", nargs="+", default=SIDES, choices=SIDES)
    parser.add_argument("--repeat", type=int, default=3, help="runs per case; medians are printed")
    parser.add_argument("--limit", type=int, default=240, help="CPU seconds that one lowering may take")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/flow.jsonl"))
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="measure nothing, read these")
    parser.add_argument("--update", type=Path, metavar="DOCUMENT", help="put the table between its marks")
    return parser


def _measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    run = time.strftime("%Y-%m-%dT%H:%M:%S")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("a") as out, tempfile.TemporaryDirectory(prefix="bench_programs_") as folder:
        for row in _rows(options, folder):
            row["run"] = run
            out.write(json.dumps(row) + "\n")
            out.flush()
            shown = [f"{name}={row[name]}" for name in ("lower_s", "warm_s", "peak_mib", "error") if name in row]
            print(row["side"], row["model"], *shown, file=sys.stderr, flush=True)
            yield row


def _rows(options: argparse.Namespace, folder: str) -> Iterator[dict[str, Any]]:
    prepared: dict[tuple[str, str], dict[str, Any]] = {}
    gave_up: set[tuple[str, str]] = set()
    for turn in range(options.repeat):
        for model in options.models:
            for side in options.sides if turn % 2 == 0 else reversed(options.sides):
                who = "rival" if side == "rival" else "ours"  # both of our flows lower the same program
                path = f"{folder}/{who}_{model}.pt2"
                case = {"side": side, "model": model, "target": options.target}
                arguments = (str(options.limit), path)
                if (who, model) not in prepared:
                    prepared[who, model] = run_case("flow_case.py", case, "prepare", *arguments)
                if "error" in prepared[who, model] or (side, model) in gave_up:
                    continue
                row = run_case("flow_case.py", case, "lower", *arguments)
                if "error" in row:
                    gave_up.add((side, model))
                yield row


def table(rows: list[dict[str, Any]]) -> str:
    """One line per network: CPU seconds of each side, the ratio to the rival, memory."""
    cases: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in latest(rows):
        if "peak_mib" in row:
            row["added_mib"] = row["peak_mib"] - row["before_mib"]
        cases.setdefault((row["model"], row["target"]), {}).setdefault(row["side"], []).append(row)
    repeats = max(len(rows) for sides in cases.values() for rows in sides.values())
    lines = [setting(repeats), "", f"| {' | '.join(_HEADS)} |", "|---|---|" + "---:|" * (len(_HEADS) - 2)]
    for (model, target), sides in cases.items():
        fast, ordinary, rival = (_median(sides.get(side, []), "lower_s") for side in SIDES)
        over = next((f"over {row['over']['lower_s']}" for row in sides.get("rival", []) if "over" in row), "–")
        cells = [
            _shown(fast, ".2f"),
            _shown(ordinary, ".2f"),
            f"{rival:.2f}" if rival else over,
            f"{rival / fast:.1f}" if fast and rival else "–",
            _shown(_median(sides.get("fast", []), "warm_s"), ".2f"),
            *(_shown(_median(sides.get(side, []), "peak_mib"), ".0f") for side in ("fast", "rival")),
            *(_shown(_median(sides.get(side, []), "added_mib"), ".0f") for side in ("fast", "rival")),
        ]
        lines.append(f"| {model} | {target} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _median(rows: list[dict[str, Any]], field: str) -> float | None:
    values = [row[field] for row in rows if field in row]
    return median(values) if values else None


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


if __name__ == "__main__":
    main()
