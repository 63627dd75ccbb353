"""MobileNetV2 int8 on the functional model of Ethos-U beside the TOSA reference model, by turns in one process.

    python benchmarks/ethosu_model.py [--runs 7] [--targets ethos-u55-128 ethos-u85-256]

Prints the median of wall-clock seconds per inference and their ratio, and fails if the two do not agree bit for bit.
Needs the packages and the runtime (``nox -s bench`` sets them up).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.harness import Execution, exported
from arm_tosa_core.tosa import reference_model as reference
from models import MODELS

Array = np.ndarray[Any, Any]


def timed(run: Callable[[], list[Array]]) -> tuple[float, bytes]:
    """Seconds, and the first output's bytes."""
    start = time.perf_counter()
    outputs = run()
    return time.perf_counter() - start, outputs[0].tobytes()


def measure(name: str, runs: int) -> str:
    """One line of the report."""
    target = find_target(name)
    if target.run is None or target.compile_spec is None:
        sys.exit("needs the runtime: pip install packages/arm-runtime-cpp")
    module, inputs = MODELS["mobilenet_v2"]()
    lowered = Execution(exported(module, inputs(0), target.compile_spec(), "int8"), target)
    (tosa,), (payload,) = lowered.flatbuffers, lowered.payloads
    (image,) = reference.load(tosa).inputs
    x = np.random.default_rng(0).normal(0, 40, image.shape).clip(-128, 127).astype(np.int8)
    on_target = target.run
    sides = {"model": lambda: on_target(payload, [x]), "reference": lambda: reference.run(tosa, [x])}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for repeat in range(runs):
        outputs = []
        for side in sides if repeat % 2 else reversed(sides):
            took, output = timed(sides[side])
            seconds[side].append(took)
            outputs.append(output)
        if outputs[0] != outputs[1]:
            sys.exit(f"{name}: the outputs differ")
    model, wanted = (statistics.median(seconds[side]) for side in ("model", "reference"))
    return f"{name:16} model {model:6.3f} s   reference model {wanted:6.3f} s   ratio {model / wanted:5.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--targets", nargs="+", default=["ethos-u55-128", "ethos-u85-256"])
    arguments = parser.parse_args()
    for name in arguments.targets:
        print(measure(name, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
