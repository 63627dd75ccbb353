"""Side-by-side figures of lowering: this project against executorch.backends.arm, in one run.

    python benchmarks/lowering.py                        # the four networks on the four targets
    python benchmarks/lowering.py --depth                # cost against depth: stacks of 8, 16 and 32 MobileNetV2 blocks
    python benchmarks/lowering.py --imports              # what importing the backend costs
    python benchmarks/lowering.py --models mobilenet_v2 --targets tosa-int --repeat 5
    python benchmarks/lowering.py --report FILE ...      # the tables again, from the figures of earlier runs
    ... --update docs/benchmarks.md                      # and put the tables there

Every case has a process of its own, one at a time, the two sides by turns. Times are CPU seconds, user and system,
and each figure printed is the median over the repeats. The figures of every run are appended to --out as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from processes import environment, run_case
from report import show, tables

MODELS = ["mobilenet_v2", "resnet18", "bert_tiny", "deit_tiny"]
TARGETS = ["tosa-int", "ethos-u55-128", "ethos-u85-256", "vgf-fp"]
STACKS = ["stack-8", "stack-16", "stack-32"]
SIDES = ["ours", "rival"]
_NAMES = "EthosUCompileSpec, EthosUPartitioner"
_IMPORTS = [  # side, statement
    ("ours", "import arm_ethosu"),
    ("ours", f"from arm_ethosu import {_NAMES}"),
    ("rival", f"from executorch.backends.arm.ethosu import {_NAMES}"),
]
_IMPORT_PROBE = """
import time, executorch.exir
start = time.process_time()
{statement}
print(time.process_time() - start)
"""


def main() -> None:
    """Runs what the command line asks for and prints the tables."""
    show(parser(__doc__).parse_args(), measure, tables)


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The figures of every case, which go to ``--out`` as well."""
    rows: list[dict[str, Any]] = []
    run = time.strftime("%Y-%m-%dT%H:%M:%S")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("a") as out:
        for row in _run_all(options):
            row["run"] = run
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(_progress(row), file=sys.stderr, flush=True)
    return rows


def parser(description: str | None) -> argparse.ArgumentParser:
    """The command line of the benchmarks whose cases are networks."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME", help="of tests/models, stack-N, or zoo")
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=TARGETS)
    parser.add_argument("--sides", nargs="+", default=SIDES, choices=SIDES)
    parser.add_argument("--repeat", type=int, default=3, help="runs per case; medians are printed")
    parser.add_argument("--limit", type=int, default=240, help="CPU seconds that one lowering may take")
    parser.add_argument("--depth", action="store_true", help="measure stacks of blocks instead of the networks")
    parser.add_argument("--imports", action="store_true", help="measure imports instead of lowering")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/lowering.jsonl"))
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="measure nothing, read these")
    parser.add_argument("--update", type=Path, metavar="DOCUMENT", help="put the tables between its marks")
    return parser


def _run_all(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    gave_up: set[tuple[str, ...]] = set()
    for turn in range(options.repeat):
        cases = _import_cases(options) if options.imports else _cases(options)
        # The order alternates, so that neither side always meets the warmer machine.
        for case in cases if turn % 2 == 0 else reversed(cases):
            if case in gave_up:
                continue
            row = _import_case(*case) if options.imports else _case(*case, options.limit)
            if "error" in row:
                gave_up.add(case)
            yield row


def _import_cases(options: argparse.Namespace) -> list[tuple[str, ...]]:
    return [case for case in _IMPORTS if case[0] in options.sides]


def _cases(options: argparse.Namespace) -> list[tuple[str, ...]]:
    models = STACKS if options.depth else options.models
    if "zoo" in models:
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        from models import ZOO  # late: it imports PyTorch

        models = [name for model in models for name in (ZOO if model == "zoo" else [model])]
    targets = ["tosa-int"] if options.depth else options.targets
    return [(side, model, target) for model in models for target in targets for side in options.sides]


def _case(side: str, model: str, target: str, limit: int) -> dict[str, Any]:
    return run_case("case.py", {"side": side, "model": model, "target": target}, str(limit))


def _import_case(side: str, statement: str) -> dict[str, Any]:
    probe = _IMPORT_PROBE.format(statement=statement)
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, env=environment())
    row = {"side": side, "model": statement, "target": "import"}
    if done.returncode:
        return {**row, "error": (done.stderr.strip().splitlines() or ["no output"])[-1][:300]}
    return {**row, "import_s": float(done.stdout.split()[-1])}


def _progress(row: dict[str, Any]) -> str:
    figures = ("import_s", "lower_s", "backend_s", "tosa_ops", "delegates", "left", "cycles", "sqnr_db", "error")
    shown = [
        f"{name}={row[name]:.6g}" if isinstance(row[name], float) else f"{name}={row[name]}"
        for name in figures
        if name in row
    ]
    return f"{row['side']:>5} {row['model']} {row['target']}: " + " ".join(shown)


if __name__ == "__main__":
    main()
