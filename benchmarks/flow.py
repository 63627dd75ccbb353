"""From an exported program to the bytes of a ``.pte``: this project's fast flow, its ordinary flow, and the rival.

    python -m benchmarks.flow                                  # four int8 networks on ethos-u55-128
    python -m benchmarks.flow --models mobilenet_v2 --repeat 5

As in ``lowering.py``, every case has a process of its own, one at a time, the sides by turns, and times are CPU
seconds. Vela's own time and imports are left out on all sides. ``warm_s`` is the fast flow where the cache has the
result; ``peak_mib`` is resident memory, ``before_mib`` what of it was there before lowering began.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from typing import Any

from benchmarks.processes import run_case
from benchmarks.results import Measurement, Run, add_results_option, progress, record

MODELS = ["mobilenet_v2", "resnet50", "bert_tiny", "deit_tiny"]
#: ``ours`` is the fast flow; ``ordinary`` is ExecuTorch's flow with this project's partitioner.
SIDES = ["ours", "ordinary", "rival"]


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME", help="of tests/models")
    parser.add_argument("--target", default="ethos-u55-128", choices=["ethos-u55-128", "ethos-u85-256", "tosa-int"])
    parser.add_argument("--sides", nargs="+", default=SIDES, choices=SIDES)
    parser.add_argument("--repeat", type=int, default=3, help="runs per case (default: 3)")
    parser.add_argument("--limit", type=int, default=240, help="CPU seconds that one lowering may take (default: 240)")
    add_results_option(parser, "flow")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench_programs_") as folder:
        for measurement in record(options.results, _measured(options, folder)):
            print(progress(measurement), flush=True)


def _measured(options: argparse.Namespace, folder: str) -> Iterator[Measurement]:
    run = Run.here("flow")
    prepared: dict[tuple[str, str], dict[str, Any]] = {}
    failed: set[tuple[str, str]] = set()
    for turn in range(options.repeat):
        for name in options.models:
            for side in options.sides if turn % 2 == 0 else reversed(options.sides):
                who = "rival" if side == "rival" else "ours"  # both of our flows lower the same program
                path = f"{folder}/{who}_{name}.pt2"
                arguments = (str(options.limit), path)
                case = {"network": name, "target": options.target}
                if (who, name) not in prepared:
                    prepared[who, name] = run_case("flow_case", side, name, options.target, "prepare", *arguments)
                if (side, name) in failed:
                    continue
                if "error" in prepared[who, name]:
                    metrics = {"error": f"not quantized: {prepared[who, name]['error']}"}
                else:
                    metrics = run_case("flow_case", side, name, options.target, "lower", *arguments)
                if "error" in metrics:
                    failed.add((side, name))
                yield run.measured(case, side, metrics)


if __name__ == "__main__":
    main()
