"""Trained networks, quantized and compiled for two Ethos-U, beside executorch.backends.arm in one run.

    nox -s bench-real                                              # all of them, both sides: two hours on two cores
    python -m benchmarks.real --networks silero_vad mtcnn_onet     # some, where their packages are installed

The sides take turns, each case in a process of its own. Both are calibrated with the same samples, and judged on the
same others. Cycles and SRAM are Vela's for the graphs that each side made.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.processes import run_case
from benchmarks.real.registry import NETWORKS
from benchmarks.results import Measurement, Run, add_results_option, progress, record

TARGETS = ("ethos-u55-128", "ethos-u85-256")
#: The rival's a16w8 leaves much to the CPU: its int8 is what it is at its best.
CASES = (("rival", "int8"), ("ours", "int8"), ("ours", "a16w8"))


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--sides", nargs="+", choices=("ours", "rival"), default=("ours", "rival"))
    parser.add_argument("--schemes", nargs="+", choices=("int8", "a16w8"), default=("int8", "a16w8"))
    parser.add_argument(
        "--cpu-limit", type=int, default=300, help="CPU seconds of quantizing, and of lowering (default: 300)"
    )
    add_results_option(parser, "real")
    options = parser.parse_args()
    for measurement in record(options.results, _measured(options)):
        print(progress(measurement), flush=True)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("real")
    for name in options.networks:
        for side, scheme in CASES:
            if side not in options.sides or scheme not in options.schemes:
                continue
            targets = ",".join(options.targets)
            found = run_case("real.case", side, name, scheme, str(options.cpu_limit), targets)
            for target in options.targets:
                metrics = found.get(target) or {"error": found.get("error", "nothing was written")}
                yield run.measured({"network": name, "scheme": scheme, "target": target}, side, metrics)


if __name__ == "__main__":
    main()
