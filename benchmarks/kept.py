"""Trained networks by ``quantize_to_keep``: the step that keeps their decisions, and its cycles beside int8's.

    python -m benchmarks.kept --networks mtcnn_rnet silero_vad  # with the packages of benchmarks/real

Each case has a process of its own, on one thread. The figure is how many decisions are float's; the samples
that judge are those of ``benchmarks.real``. The program that comes out runs on the functional model, for as many of
them as a minute allows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.processes import run_case
from benchmarks.real.registry import ALL
from benchmarks.results import Measurement, Run, add_results_option, progress, record


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=list(ALL), default=list(ALL))
    parser.add_argument("--targets", nargs="+", default=["ethos-u55-128", "ethos-u85-256"])
    parser.add_argument("--keep", default="0.99", help="the part of float's decisions (default: 0.99)")
    parser.add_argument("--minutes", default="20", help="of CPU time (default: 20)")
    add_results_option(parser, "kept")
    options = parser.parse_args()
    for measurement in record(options.results, _measured(options)):
        print(progress(measurement), flush=True)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("kept")
    for name in options.networks:
        for target in options.targets:
            found = run_case("kept_case", name, target, options.keep, options.minutes)
            yield run.measured({"network": name, "target": target, "keep": options.keep}, "ours", found)


if __name__ == "__main__":
    main()
