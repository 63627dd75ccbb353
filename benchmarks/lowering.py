"""Compile time, memory, operators and Vela's estimate: this project beside executorch.backends.arm, in one run.

    python -m benchmarks.lowering                        # the four networks on the four targets
    python -m benchmarks.lowering --models zoo --targets ethos-u55-128 ethos-u85-256 --repeat 1          # hours
    python -m benchmarks.lowering --depth                # cost against depth: stacks of 8, 16 and 32 MobileNetV2 blocks
    python -m benchmarks.lowering --imports              # what importing the backend costs
    python -m benchmarks.lowering --models mobilenet_v2 --targets tosa-int --repeat 5

Every case has a process of its own, one at a time, the two sides by turns. Times are CPU seconds, user and system. Each
repeat is a measurement of its own; the page shows medians.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import environment, run_case
from benchmarks.registry import TESTS, ZOO
from benchmarks.results import Measurement, Run, add_results_option, progress, record

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
Case = tuple[str, dict[str, str]]  # side, case


def main() -> None:
    """Measures what the command line asks for."""
    options = _parser().parse_args()
    for measurement in record(options.results, _measured(options)):
        print(progress(measurement), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME", help="networks, stack-N, or zoo: many")
    parser.add_argument(
        "--registry", default=TESTS, metavar="FILE", help=f"where networks come from (default: {TESTS})"
    )
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=TARGETS)
    parser.add_argument("--sides", nargs="+", default=SIDES, choices=SIDES)
    parser.add_argument("--repeat", type=int, default=3, help="runs per case (default: 3)")
    parser.add_argument("--limit", type=int, default=240, help="CPU seconds that one lowering may take (default: 240)")
    parser.add_argument("--depth", action="store_true", help="measure stacks of blocks instead of the networks")
    parser.add_argument("--imports", action="store_true", help="measure imports instead of lowering")
    add_results_option(parser, "lowering")
    return parser


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("lowering")
    cases = _import_cases(options) if options.imports else _cases(options)
    failed: list[Case] = []
    for turn in range(options.repeat):
        # The order alternates, so that neither side always meets the warmer machine.
        for side, case in cases if turn % 2 == 0 else reversed(cases):
            if (side, case) in failed:
                continue
            metrics = _import_time(case["statement"]) if options.imports else _lowered(side, case, options)
            if "error" in metrics:
                failed.append((side, case))
            yield run.measured(case, side, metrics)


def _import_cases(options: argparse.Namespace) -> list[Case]:
    return [(side, {"statement": statement}) for side, statement in _IMPORTS if side in options.sides]


def _cases(options: argparse.Namespace) -> list[Case]:
    models = STACKS if options.depth else options.models
    models = [name for model in models for name in (ZOO if model == "zoo" else [model])]
    origin = {} if options.registry == TESTS else {"registry": Path(options.registry).stem}
    return [
        (side, {"network": model, **origin, "target": target})
        for model in models
        for target in (["tosa-int"] if options.depth else options.targets)
        for side in options.sides
    ]


def _lowered(side: str, case: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    registry = options.registry if options.registry == TESTS else str(Path(options.registry).resolve())
    return run_case("lowering_case", side, case["network"], registry, case["target"], str(options.limit))


def _import_time(statement: str) -> dict[str, Any]:
    probe = _IMPORT_PROBE.format(statement=statement)
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, env=environment(), timeout=600, check=False
    )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1][:300]}
    return {"import_s": float(done.stdout.split()[-1])}


if __name__ == "__main__":
    main()
