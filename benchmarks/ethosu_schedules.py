"""Networks on Ethos-U with constants prefetched (``--schedule deep``): Vela's results, and the cycles that are hidden.

    python -m benchmarks.ethosu_schedules
    python -m benchmarks.ethosu_schedules --networks mobilenet_v2 --systems u55-128

Each network is quantized with one sample and compiled with both schedules; the functional model runs both on random
inputs, and faults at a missing wait. ``cycles_vela`` is Vela's estimate, and ``cycles_deep`` that less the time hidden,
an estimate too. Fails where results differ, or where the SRAM or the estimate rises.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from arm_ethosu import EthosUCompileSpec, payload, vela
from arm_ethosu.schedule.compilation import scheduled
from arm_ethosu.waits import with_waits
from arm_tosa_core.plugin.target import Compiler, Host, Target
from arm_tosa_core.testing.harness import Execution, exported
from benchmarks.registry import NETWORKS, network
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

DEFAULT = (
    "ds_cnn", "resnet8", "mobilenet_v1_025", "autoencoder", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0",
    "resnet18",
)  # fmt: skip
#: Accelerator, system configuration and memory mode, by a name for the command line.
SYSTEMS = {
    "u55-128": ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "u55-256": ("ethos-u55-256", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "u65-512": ("ethos-u65-512", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    "u65-512-flash": ("ethos-u65-512", "Ethos_U65_Embedded", "Shared_Sram"),
    "u85-256-dram": ("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
    "u85-256-flash": ("ethos-u85-256", "Ethos_U85_SYS_Flash_High", "Shared_Sram"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=DEFAULT)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    add_results_option(parser, "ethosu_schedules")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), _wrong)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("ethosu_schedules")
    for name in options.networks:
        module, inputs = network(name)
        programs: dict[str, Any] = {}
        for system in options.systems:
            accelerator, system_config, memory_mode = SYSTEMS[system]
            spec = EthosUCompileSpec(accelerator, system_config, memory_mode)
            if (key := str(spec.tosa_spec)) not in programs:
                programs[key] = exported(module, inputs(0), spec, "int8")
            graphs = Execution(programs[key], replace(spec.target(), compiler=Compiler(), host=Host())).flatbuffers
            case = {"network": name, "target": accelerator, "system_config": system_config, "memory_mode": memory_mode}
            yield run.measured(case, "ours", _both(graphs, spec))


def _both(graphs: list[bytes], spec: EthosUCompileSpec) -> dict[str, Any]:
    """Figures of all delegates of a program together; SRAM is that of the largest."""
    target = spec.target()
    options = {
        "accelerator": spec.accelerator, "config": spec.config_ini, "system_config": spec.system_config,
        "memory_mode": spec.memory_mode, "timeout": spec.timeout,
    }  # fmt: skip
    totals = dict.fromkeys(("cycles_vela", "cycles_deep", "fetched_kib", "commands_vela", "commands_deep"), 0.0)
    totals |= dict.fromkeys(("compile_vela_s", "compile_deep_s"), 0.0)
    sram = {"sram_vela_kib": 0.0, "sram_deep_kib": 0.0}
    fetches, equal = 0, True
    for tosa in graphs:
        start = time.perf_counter()
        plain = vela.compile(tosa, **options)
        between = time.perf_counter()
        deep, outcome = scheduled(tosa, **options)
        totals["compile_vela_s"] += between - start
        totals["compile_deep_s"] += time.perf_counter() - between
        totals["cycles_vela"] += plain.cycles
        totals["cycles_deep"] += deep.cycles
        totals["fetched_kib"] += outcome.plan.bytes / 1024
        totals["commands_vela"] += plain.arrays["cmd_data"].size
        totals["commands_deep"] += deep.arrays["cmd_data"].size
        sram = {key: max(sram[key], made.sram_kib) for key, made in zip(sram, (plain, deep), strict=True)}
        fetches += len(outcome.plan.fetches)
        equal &= _equal(target, spec.accelerator, plain, deep)
    rounded = {key: round(value, 1) for key, value in totals.items()}
    return {**rounded, **sram, "fetches": fetches, "equal": equal}


def _equal(target: Target, accelerator: str, *made: vela.VelaOutput) -> bool:
    """Whether programs give the same on one random input; the model raises where one is at fault."""
    if target.host.run is None:
        sys.exit("needs the runtime: pip install packages/arm-runtime-cpp")
    rng = np.random.default_rng(0)
    arrays = made[0].arrays
    data = [
        rng.integers(0, 256, int(np.prod(shape)) * int(size)).astype(np.uint8).view(f"i{size}")
        for shape, size in zip(arrays["input_shape"], arrays["input_elem_size"], strict=True)
    ]
    commands = [with_waits(each.arrays["cmd_data"], accelerator) for each in made]
    payloads = [payload.pack({**m.arrays, "cmd_data": words}) for m, words in zip(made, commands, strict=True)]
    results = [target.host.run(each, data) for each in payloads]
    return all(np.array_equal(*pair) for pair in zip(*results, strict=True))


def _wrong(measurement: Measurement) -> str:
    m = measurement.metrics
    if not m["equal"]:
        return "results differ"
    worse = [name for name in ("cycles", "sram") if m[_key(name, "deep")] > m[_key(name, "vela")]]
    return f"more {worse[0]} than with Vela's schedule" if worse else ""


def _key(name: str, schedule: str) -> str:
    return f"{name}_{schedule}" + ("_kib" if name == "sram" else "")


if __name__ == "__main__":
    sys.exit(main())
