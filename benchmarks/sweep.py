"""What a sweep costs beside its compilations, how soon it goes on, and how it scales over dask workers.

    python -m benchmarks.sweep                # 100 points of MobileNetV2, and the same compilations alone
    python -m benchmarks.sweep --resume       # until the first point is handed out, with 1,000 points known
    python -m benchmarks.sweep --scale        # 1,000 points that sleep, on dask workers of one process

Times are CPU seconds, of all processes together, except ``--scale``, where work is simulated by waiting and time is
that of the clock. Every case has a process of its own and an empty cache.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.processes import run_case
from benchmarks.results import Measurement, Run, add_results_option, progress, record

#: Workers that ``--scale`` tries.
WORKERS = [1, 4, 16, 64]


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--resume", action="store_true")
    kind.add_argument("--scale", action="store_true")
    parser.add_argument("--points", type=int, help="default: 100, or 1000 with --resume or --scale")
    parser.add_argument("--repeat", type=int, default=1, help="runs per case (default: 1)")
    add_results_option(parser, "sweep")
    options = parser.parse_args()
    for measurement in record(options.results, _measured(options)):
        print(progress(measurement), flush=True)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("sweep")
    points = str(options.points or (1000 if options.resume or options.scale else 100))
    for _ in range(options.repeat):
        if options.scale:
            for workers in WORKERS:
                case = {"kind": "scale", "points": points, "workers": str(workers)}
                yield run.measured(case, "ours", run_case("sweep_case", "scale", points, str(workers)))
        elif options.resume:
            yield run.measured({"kind": "resume", "points": points}, "ours", run_case("sweep_case", "resume", points))
        else:
            case = {"kind": "cost", "network": "mobilenet_v2", "points": points}
            for side, step in (("ours", "sweep"), ("compilations alone", "alone")):
                yield run.measured(case, side, run_case("sweep_case", step, points))


if __name__ == "__main__":
    main()
