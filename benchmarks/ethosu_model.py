"""A network in int8 on the functional model of Ethos-U beside the TOSA reference model, by turns in one process.

    python -m benchmarks.ethosu_model
    python -m benchmarks.ethosu_model --network digits --runs 3 --targets ethos-u55-128

Measures the median of seconds per inference, and fails if the two do not agree bit for bit. Needs the packages and the
runtime (``nox -s bench`` sets them up).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.harness import Execution, exported
from arm_tosa_core.tosa import reference_model as reference
from benchmarks.registry import NETWORKS, network
from benchmarks.results import Measurement, Run, add_results_option, progress, record

Array = np.ndarray[Any, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=sorted(NETWORKS), default="mobilenet_v2")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--targets", nargs="+", default=["ethos-u55-128", "ethos-u85-256"])
    add_results_option(parser, "ethosu_model")
    options = parser.parse_args()
    for measurement in record(options.results, _measured(options)):
        print(progress(measurement), flush=True)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("ethosu_model")
    for target in options.targets:
        case = {"network": options.network, "target": target}
        for side, seconds in _seconds(options.network, target, options.runs).items():
            metrics = {"wall_s": statistics.median(seconds), "runs": options.runs, "load": os.getloadavg()[0]}
            yield run.measured(case, side, metrics)


def _seconds(name: str, accelerator: str, runs: int) -> dict[str, list[float]]:
    """Seconds of each inference of both sides."""
    target = find_target(accelerator)
    if target.host.run is None or target.compiler.compile_spec is None:
        sys.exit("needs the runtime: pip install packages/arm-runtime-cpp")
    module, inputs = network(name)
    lowered = Execution(exported(module, inputs(0), target.compiler.compile_spec(), "int8"), target)
    (tosa,), (payload,) = lowered.flatbuffers, lowered.payloads
    (image,) = reference.load(tosa).inputs
    x = np.random.default_rng(0).normal(0, 40, image.shape).clip(-128, 127).astype(np.int8)
    on_target = target.host.run
    sides = {"ours": lambda: on_target(payload, [x]), "reference_model": lambda: reference.run(tosa, [x])}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for repeat in range(runs):
        outputs = []
        for side in sides if repeat % 2 else reversed(sides):
            took, output = _timed(sides[side])
            seconds[side].append(took)
            outputs.append(output)
        if outputs[0] != outputs[1]:
            sys.exit(f"{name} on {accelerator}: the outputs differ")
    return seconds


def _timed(run: Callable[[], list[Array]]) -> tuple[float, bytes]:
    """Seconds, and the first output's bytes."""
    start = time.perf_counter()
    outputs = run()
    return time.perf_counter() - start, outputs[0].tobytes()


if __name__ == "__main__":
    main()
