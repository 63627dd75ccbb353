"""Cycles and SRAM of networks as Vela chooses by itself, and as ``arm_ethosu/sram_search.py`` does.

    python -m benchmarks.sram
    python -m benchmarks.sram --networks mobilenet_v2 --targets ethos-u55-128 --budget 512K
    python -m benchmarks.sram --networks mobilenet_v2 --targets ethos-u55-128 --time

Each network is quantized with one sample. Figures are Vela's, added up over delegates (of SRAM: the largest). Fails
where without a budget cycles rise by more than 0.25 %, or SRAM rises. With ``--time`` each side is lowered again,
twice: ``first`` with the limit of SRAM to be searched for, ``later`` with the one that is kept. Both include Vela's
processes and its loading; the estimates by which rewrites choose are kept before.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

from torch.export import ExportedProgram

from arm_ethosu import EthosUCompileSpec, vela_batch
from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.sram_search import LIMITS, TOLERANCE
from arm_tosa_core import lower
from arm_tosa_core.support import kept_figures
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.harness import exported
from benchmarks.registry import NETWORKS, network
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

DEFAULT = (
    "mobilenet_v1_025", "ds_cnn", "resnet8", "autoencoder", "mobilenet_v2", "mobilenet_v3_small", "resnet18",
    "efficientnet_b0", "shufflenet_v2", "inception_v3",
)  # fmt: skip
#: Flags with which nothing is searched, and Vela does what it does by default.
_OWN = "--optimise=Performance"
TARGETS = ("ethos-u55-128", "ethos-u55-256", "ethos-u65-512", "ethos-u85-256")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=DEFAULT)
    parser.add_argument("--targets", nargs="+", choices=ACCELERATORS, default=TARGETS)
    parser.add_argument("--budget", help="SRAM for each network, such as 512K")
    parser.add_argument("--time", action="store_true", help="also measure the time that lowering takes")
    add_results_option(parser, "sram")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), _worse)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("sram")
    for name in options.networks:
        module, inputs = network(name)
        programs: dict[str, ExportedProgram] = {}
        for accelerator in options.targets:
            own = EthosUCompileSpec(accelerator, extra_flags=_OWN)
            spec = str(own.tosa_spec)
            if spec not in programs:
                programs[spec] = exported(module, inputs(0), own, "int8")
            case = {"network": name, "target": accelerator, **({"budget": options.budget} if options.budget else {})}
            ours = partial(EthosUCompileSpec, accelerator, sram_budget=options.budget)
            for side, made in (("vela", own), ("ours", ours())):
                yield run.measured(case, side, _metrics(programs[spec], made, timed=options.time))


def _metrics(program: ExportedProgram, spec: EthosUCompileSpec, *, timed: bool) -> dict[str, Any]:
    try:
        compiled = lower(program, spec).report.compiled
    except UsageError as missed:
        return {"missed": str(missed)}
    figures = [said.figures for said in compiled]
    return {
        "cycles": sum(found["cycles"] for found in figures),
        "sram_kib": max(found["tensors_kib"] for found in figures),
        "flash_kib": sum(found["flash_kib"] for found in figures),
        **(_times(program, spec) if timed else {}),
    }


def _times(program: ExportedProgram, spec: EthosUCompileSpec) -> dict[str, float]:
    times = {"load": round(os.getloadavg()[0], 1)}
    with mock.patch.object(kept_figures, "read", _without_limits):
        times |= _timed("first", program, spec)
    return times | _timed("later", program, spec)


def _timed(name: str, program: ExportedProgram, spec: EthosUCompileSpec) -> dict[str, float]:
    vela_batch.close()
    wall, cpu = time.perf_counter(), _cpu()
    lower(program, spec)
    wall = time.perf_counter() - wall
    vela_batch.close()  # its time counts when it has ended
    return {f"{name}_wall_s": round(wall, 2), f"{name}_cpu_s": round(_cpu() - cpu, 2)}


_read = kept_figures.read


def _without_limits(kind: str, name: str) -> float | None:
    return None if kind == LIMITS else _read(kind, name)


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class _Worse:
    """Compares each network with what Vela chose just before."""

    def __init__(self) -> None:
        self._own: dict[str, Any] = {}

    def __call__(self, measurement: Measurement) -> str:
        if measurement.side == "vela":
            self._own = measurement.metrics
            return ""
        ours, own = measurement.metrics, self._own
        if "budget" in measurement.case or "missed" in ours:
            return ""
        if ours["cycles"] > own["cycles"] * (1 + TOLERANCE):
            return f"{ours['cycles']} cycles in place of {own['cycles']}"
        return (
            f"SRAM {ours['sram_kib']} KiB in place of {own['sram_kib']}" if ours["sram_kib"] > own["sram_kib"] else ""
        )


_worse = _Worse()


if __name__ == "__main__":
    sys.exit(main())
