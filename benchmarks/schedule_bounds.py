"""What bounds ``schedule="deep"``: cycles with SRAM without end, and with all constants in time, beside those planned.

    python -m benchmarks.schedule_bounds
    python -m benchmarks.schedule_bounds --networks mobilenet_v2 --targets ethos-u55-128

Each network is quantized with one sample. All figures are Vela's estimate less what is hidden, in its default memory
mode: ``cycles_vela`` without prefetch, ``cycles_deep`` with it, ``cycles_any_sram`` with transfers that are limited by
the idle time of the constants' memory alone, and ``cycles_all_hidden`` where no kernel waits for constants. The last
three are the least of the graph as it is and of those with layers in parts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from unittest import mock

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.schedule import deep
from arm_ethosu.schedule.compilation import scheduled
from arm_ethosu.schedule.lives import Lives, Range
from arm_ethosu.schedule.plan import plan
from arm_ethosu.schedule.problem import Plan, Problem
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize
from benchmarks.ethosu_peers import CNNS
from benchmarks.lowered_graphs import lowering
from benchmarks.registry import NETWORKS
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

TARGETS = ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=CNNS)
    parser.add_argument("--targets", nargs="+", choices=ACCELERATORS, default=TARGETS)
    add_results_option(parser, "schedule_bounds")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), lambda measurement: "")


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("schedule_bounds")
    for name in options.networks:
        lowered = lowering(name)
        for accelerator in options.targets:
            spec = EthosUCompileSpec(accelerator)
            target, totals = spec.target(), dict[str, float]()
            for tosa in lowered(target):
                legal = serialize(legalize(load(tosa), target), target.tosa_spec)
                for figure, cycles in _bounds(legal, spec).items():
                    totals[figure] = round(totals.get(figure, 0.0) + cycles, 1)
            yield run.measured({"network": name, "target": accelerator}, "ours", totals)


def _bounds(tosa: bytes, spec: EthosUCompileSpec) -> dict[str, float]:
    """Each bound of one delegate: the planner is replaced by what needs less than it does."""
    options = {
        "accelerator": spec.accelerator, "config": spec.config_ini, "system_config": spec.system_config,
        "memory_mode": spec.memory_mode, "timeout": spec.timeout,
    }  # fmt: skip
    found = {}
    for name, planner in (("any_sram", _any_sram), ("all_hidden", _all_hidden), ("deep", plan)):
        # Of a bound there is no stream: it is planned only.
        stream = {} if planner is plan else {"emitted": _same, "verify": _nothing}
        with mock.patch.multiple(deep, plan=planner, **stream):
            made, outcome = scheduled(tosa, **options)
        found[f"cycles_{name}"] = made.cycles
    return {"cycles_vela": outcome.cycles or made.cycles, **found}


class _Anywhere(Lives):
    """SRAM without end."""

    def __init__(self) -> None:
        super().__init__([], 0, 0)

    def free(self, size: int, operations: range, others: Iterable[Range] = ()) -> int | None:
        return 0


def _any_sram(problem: Problem) -> Plan:
    return plan(replace(problem, lives=_Anywhere()))


def _all_hidden(problem: Problem) -> Plan:
    return Plan(tuple(problem.candidates()))


def _same(words: Sequence[int], *_: object) -> list[int]:
    return list(words)


def _nothing(*_: object) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
