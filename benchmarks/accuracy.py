"""Side-by-side accuracy of int8 quantization: this project against executorch.backends.arm, in one run.

    python benchmarks/accuracy.py                                # networks of tests/models
    python benchmarks/accuracy.py --registry FILE.py --models mobilenet_v2 resnet18
    python benchmarks/accuracy.py --report FILE ...              # the table again, from the figures of earlier runs
    ... --update docs/benchmarks.md                              # and put the table there

SQNR is that of the eager quantized graph against float, in dB, on inputs that calibration did not see: two, and eight
others. Both sides calibrate with the same one batch, ours with ``quantize_program``. Every case has a process of its
own. Times are CPU seconds of quantizing, calibration included. Figures are appended to --out as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, median
from typing import Any

from processes import run_case
from report import latest, setting, show

MODELS = ["digits", "mobilenet_v2", "resnet18", "bert_tiny", "deit_tiny"]
SIDES = ["ours", "rival"]

_SQNR = {"sqnr_db": "two inputs", "others_db": "eight others"}


def main() -> None:
    """Runs what the command line asks for and prints the table."""
    show(_parser().parse_args(), _measure, table, "accuracy")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--registry", default="tests", metavar="FILE", help="where networks come from; tests/models")
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME")
    parser.add_argument("--sides", nargs="+", default=SIDES, choices=SIDES)
    parser.add_argument("--repeat", type=int, default=1, help="runs per case; medians are printed")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/accuracy.jsonl"))
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="measure nothing, read these")
    parser.add_argument("--update", type=Path, metavar="DOCUMENT", help="put the table between its marks")
    return parser


def _measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    run = time.strftime("%Y-%m-%dT%H:%M:%S")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    registry = options.registry if options.registry == "tests" else str(Path(options.registry).resolve())
    with options.out.open("a") as out:
        for _ in range(options.repeat):
            for model in options.models:
                for side in options.sides:
                    row = run_case("accuracy_case.py", {"side": side, "model": model}, registry)
                    row |= {"run": run, "target": side}
                    rows.append(row)
                    out.write(json.dumps(row) + "\n")
                    out.flush()
                    print(_progress(row), file=sys.stderr, flush=True)
    return rows


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Per network SQNR and quantizing time of both sides; below it the mean differences in dB."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in latest(list(rows)):
        groups.setdefault(row["model"], {}).setdefault(row["side"], []).append(row)
    repeats = max(len(rows) for sides in groups.values() for rows in sides.values())
    heads = [f"{what}, dB: ours | rival | difference" for what in _SQNR.values()]
    lines = [setting(repeats), "", f"| network | {' | '.join(heads)} | quantizing, CPU s: ours | rival | ratio |"]
    lines.append("|---|" + "---:|" * (3 * len(_SQNR) + 3))
    differences: dict[str, list[float]] = {name: [] for name in _SQNR}
    for model, sides in groups.items():
        ours, rival = (_medians(sides.get(side, [])) for side in SIDES)
        cells = []
        for name, found in differences.items():
            cells += [_text(ours, name, 1), _text(rival, name, 1), "–"]
            if ours and rival:
                found.append(ours[name] - rival[name])
                cells[-1] = f"{found[-1]:+.1f}"
        cells += [_text(ours, "quantize_s", 2), _text(rival, "quantize_s", 2)]
        cells.append(f"{ours['quantize_s'] / rival['quantize_s']:.2f}" if ours and rival else "–")
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    for name, found in differences.items():
        if found:
            figures = f"{fmean(found):+.2f} dB; least: {min(found):+.2f} dB"
            lines += ["", f"Mean difference over {len(found)} networks, {_SQNR[name]}: {figures}."]
    for model, sides in groups.items():
        for side, failed in sides.items():
            if error := next((row["error"] for row in failed if "error" in row), None):
                lines.append(f"- {side}, {model}: {error}")
    return "\n".join(lines) + "\n"


def _medians(rows: list[dict[str, Any]]) -> dict[str, float]:
    good = [row for row in rows if "error" not in row]
    return {name: median(row[name] for row in good) for name in (*_SQNR, "quantize_s")} if good else {}


def _text(figures: dict[str, float], name: str, decimals: int) -> str:
    return f"{figures[name]:.{decimals}f}" if name in figures else "–"


def _progress(row: dict[str, Any]) -> str:
    names = (*_SQNR, "quantize_s", "error")
    return f"{row['side']:>5} {row['model']}: " + " ".join(
        f"{n}={row[n]:.4g}" if isinstance(row[n], float) else f"{n}={row[n]}" for n in names if n in row
    )


if __name__ == "__main__":
    main()
