"""Whole networks on the functional model of every Ethos-U accelerator: the TOSA reference model's results, bit for bit.

    python -m benchmarks.ethosu_networks
    python -m benchmarks.ethosu_networks --networks mobilenet_v2 resnet18 --schemes int8 --targets ethos-u55-128

Each network is quantized once per scheme, with one sample, and run on another. Fails where anything differs. Needs the
packages and the runtime (``nox -s bench`` sets them up).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

from arm_ethosu.accelerators import ACCELERATORS
from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.harness import Execution, exported
from benchmarks.registry import network, parser_of
from benchmarks.results import Measurement, Run, run_and_record

DEFAULT = ("mobilenet_v2", "resnet18", "bert_tiny_states", "deit_tiny")
SCHEMES = ("int8", "int16")


def main() -> int:
    options = parser_of("ethosu_networks", __doc__, DEFAULT, schemes=SCHEMES, targets=list(ACCELERATORS)).parse_args()
    return run_and_record(options.results, _measured(options), lambda m: m.metrics.get("error", ""))


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("ethosu_networks")
    for name in options.networks:
        module, inputs = network(name)
        for scheme in options.schemes:
            programs: dict[str, Any] = {}
            for accelerator in options.targets:
                target = find_target(accelerator)
                if target.host.run is None or target.compiler.compile_spec is None:
                    sys.exit("needs the runtime: pip install packages/arm-runtime-cpp")
                key = str(target.tosa_spec)
                if key not in programs:
                    programs[key] = exported(module, inputs(0), target.compiler.compile_spec(), scheme)
                start = time.process_time()
                try:
                    execution = Execution(programs[key], target)
                    made, _ = execution.edges(inputs(100))[-1]  # fails where the two models differ
                    metrics = {"delegates": len(execution.regions), "distinct_outputs": made.unique().numel()}
                except Exception as error:
                    metrics = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
                metrics["cpu_s"] = round(time.process_time() - start, 1)
                yield run.measured({"network": name, "scheme": scheme, "target": accelerator}, "ours", metrics)


if __name__ == "__main__":
    sys.exit(main())
