"""The demo, ``examples/digits.py``: a network trained on digits, on four targets; its table is that of the README.

python -m benchmarks.demo
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.results import ROOT, Run, add_results_option, progress, record

BENCHMARK = "demo"
CASE = {"network": "digits, trained"}


def main() -> None:
    """Runs the demo and records what it prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_results_option(parser, BENCHMARK)
    options = parser.parse_args()
    run = Run.here(BENCHMARK)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "examples/digits.py", "--out", f"{folder}/out"]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        targets = {
            result.pop("target"): result for result in json.loads(Path(folder, "out", "results.json").read_text())
        }
    rows = [run.measured({**CASE, "target": target}, "ours", result) for target, result in targets.items()]
    rows.append(run.measured(CASE, "ours", {"printed": table(done.stdout)}))
    for measurement in record(options.results, rows):
        print(progress(measurement), flush=True)


def table(printed: str) -> str:
    """The lines of the demo's table, without the caption below it."""
    lines = [line.rstrip() for line in printed.splitlines()]
    first, last = (next(i for i, line in enumerate(lines) if line.startswith(corner)) for corner in "┏└")
    return "\n".join(lines[first - 1 : last + 1])


def shown(figures: Figures) -> str:
    """The block of the README."""
    row = figures.newest(BENCHMARK, CASE, "ours", "printed")
    return f"```text\n{row.metrics['printed']}\n```" if row else ""


if __name__ == "__main__":
    main()
