"""One network of ``ethosu_peers.py`` on several accelerators, by one side, in a process of its own.

Usage: python -m benchmarks.ethosu_peers_case SIDE NETWORK TARGETS PYTHON RESULT. TARGETS are joined by commas.
RESULT is a JSON file, an object of figures by target, rewritten after each. PYTHON is that of LiteRT's environment.
"""

from __future__ import annotations

import csv
import json
import logging
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.vela_batch import Order, run_all
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.external_tools import find_tool
from benchmarks.networks_of_users import REG
from benchmarks.processes import environment
from benchmarks.registry import network
from benchmarks.results import ROOT
from benchmarks.sides import SIDES, quantize

Metrics = dict[str, Any]
_LIMIT = 1800.0  # seconds


def main(side: str, name: str, targets: str, python: str, result: str) -> None:
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    measures: dict[str, Callable[[str, str], Metrics]] = {
        "ours": partial(_ours, schedule="vela"),
        "deep": partial(_ours, schedule="deep"),
        "rival": _rival,
        "litert": partial(_litert, python=python),
    }
    found: dict[str, Metrics] = {}
    for target in targets.split(","):
        try:
            found[target] = measures[side](name, target)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            found[target] = {"error": f"{type(error).__name__}: {lines[-1]}"[:300]}
        Path(result).write_text(json.dumps(found))


@cache
def _quantized(side: str, name: str, target: str) -> torch.export.ExportedProgram:
    module, inputs = REG[name]() if name in REG else network(name)
    way = SIDES[side]()
    program = torch.export.export(module, inputs(0))
    made = quantize(way, program, way.quantizer(target, way.compile_spec(target)), inputs)
    return torch.export.export(made, inputs(0))


def _one_of_family(target: str) -> str:
    """What has the same TOSA specification: both sides quantize for that alone."""
    return "ethos-u85-256" if "u85" in target else "ethos-u55-128"


def _ours(name: str, target: str, schedule: str) -> Metrics:
    from dataclasses import replace

    from arm_tosa_core.testing.harness import Execution, left_outside

    device = EthosUCompileSpec(target, schedule=schedule).target()
    assert device.report.estimate is not None
    graphs_alone = replace(device, compiler=replace(device.compiler, compile=None), host=replace(device.host, run=None))
    execution = Execution(_quantized("ours", name, _one_of_family(target)), graphs_alone)
    figures = [_by_velas_names(device.report.estimate(tosa)) for tosa in execution.flatbuffers]
    return {**_summed(figures), "left": len(left_outside(execution.program, execution.analysis))}


@cache
def _rivals_graphs(name: str, target: str) -> tuple[list[bytes], int]:
    """What it gives Vela, and how many operators are left outside."""
    from executorch.backends.arm.arm_vela import VelaCompileResult
    from executorch.backends.arm.ethosu import backend
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    from benchmarks.lowering_case import left_outside

    way, graphs = SIDES["rival"](), []

    def keep(tosa: bytes, *_: Any, **__: Any) -> VelaCompileResult:
        graphs.append(bytes(tosa))
        return VelaCompileResult(b"")

    program = _quantized("rival", name, target)
    partitioner = way.partitioner(target, way.compile_spec(target))
    with mock.patch.object(backend, "vela_compile", keep):
        edge = to_edge_transform_and_lower(
            program, partitioner=[partitioner], compile_config=EdgeCompileConfig(_check_ir_validity=False)
        )
    return graphs, left_outside(edge.exported_program().graph)["left"]


def _rival(name: str, target: str) -> Metrics:
    graphs, left = _rivals_graphs(name, _one_of_family(target))
    return {**_summed([_velas(tosa, ".tosa", target)[0] for tosa in graphs]), "left": left}


@cache
def _litert_model(name: str, python: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="bench_litert_") as folder:
        made = Path(folder, "model.tflite")
        command = [python, "-m", "benchmarks.litert_case", name, str(made)]
        kept = {key: value for key, value in environment().items() if key != "PYTHONPATH"}
        done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=_LIMIT, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
        return made.read_bytes()


def _litert(name: str, target: str, python: str) -> Metrics:
    figures, printed = _velas(_litert_model(name, python), ".tflite", target)
    left = re.search(r"CPU operators = (\d+)", printed)
    return {**figures, **({"left": int(left[1])} if left else {})}


def _by_velas_names(figures: Mapping[str, float]) -> Metrics:
    """SRAM and flash as Vela's summary has them: without weights that lie in SRAM."""
    constants = sum(size for name, size in figures.items() if name.startswith("constants_in_"))
    return {"cycles": figures["cycles"], "sram_kib": figures["tensors_kib"], "flash_kib": constants}


def _summed(figures: Sequence[Metrics]) -> Metrics:
    if not figures:
        raise RuntimeError("nothing is delegated")
    made = {key: sum(each[key] for each in figures) for key in ("cycles", "flash_kib")}
    return {**made, "sram_kib": max(each["sram_kib"] for each in figures), "delegates": len(figures)}


def _velas(graph: bytes, suffix: str, target: str) -> tuple[Metrics, str]:
    """Vela's estimate with the defaults of the target, and what it printed."""
    spec = EthosUCompileSpec(target)
    with tempfile.TemporaryDirectory(prefix="bench_vela_") as folder:
        source = Path(folder, f"out{suffix}")
        source.write_bytes(graph)
        options = [
            f"--accelerator-config={target}",
            "--config=Arm/vela.ini",
            f"--system-config={spec.system_config}",
            f"--memory-mode={spec.memory_mode}",
            f"--output-dir={folder}",
        ]
        raw = ["--output-format=raw"] if suffix == ".tosa" else []
        order = Order([str(source), *options, *raw], Path(folder, "log"), str(source))
        (printed,) = run_all(find_tool("vela", package="ethos-u-vela"), [order], _LIMIT)
        if isinstance(printed, ToolError):
            raise printed
        with Path(folder, f"out_summary_{spec.system_config}.csv").open(newline="") as file:
            row = next(csv.DictReader(file))
    flash = float(row["on_chip_flash_memory_used"]) + float(row["off_chip_flash_memory_used"])
    sram, cycles = float(row["sram_memory_used"]), float(row["cycles_total"])
    return {"cycles": cycles, "sram_kib": sram, "flash_kib": flash}, printed


if __name__ == "__main__":
    main(*sys.argv[1:])
