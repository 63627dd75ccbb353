"""Accuracy of int8 quantization, each side at its best: this project beside executorch.backends.arm, in one run.

    python -m benchmarks.accuracy                                # networks of tests/models
    python -m benchmarks.accuracy --registry FILE.py --models mobilenet_v2 resnet18

SQNR is that of the eager quantized graph against float, in dB, on inputs that calibration did not see: two, and eight
others. Both sides calibrate with the same one batch, ours with ``quantize_program``. Every case has a process of its
own. Times are CPU seconds of quantizing, calibration included.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import run_case
from benchmarks.registry import TESTS
from benchmarks.results import Measurement, Run, add_results_option, progress, record

MODELS = ["digits", "mobilenet_v2", "resnet18", "bert_tiny", "deit_tiny"]
SIDES = ["ours", "rival"]


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--registry", default=TESTS, metavar="FILE", help=f"where networks come from (default: {TESTS})"
    )
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME")
    parser.add_argument("--sides", nargs="+", default=SIDES, choices=SIDES)
    parser.add_argument("--repeat", type=int, default=1, help="runs per case (default: 1)")
    add_results_option(parser, "accuracy")
    options = parser.parse_args()
    for measurement in record(options.results, _measured(options)):
        print(progress(measurement), flush=True)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("accuracy")
    origin = {} if options.registry == TESTS else {"registry": Path(options.registry).stem}
    registry = options.registry if options.registry == TESTS else str(Path(options.registry).resolve())
    for _ in range(options.repeat):
        for name in options.models:
            for side in options.sides:
                metrics = run_case("accuracy_case", side, name, registry)
                yield run.measured({"network": name, **origin}, side, metrics)


if __name__ == "__main__":
    main()
