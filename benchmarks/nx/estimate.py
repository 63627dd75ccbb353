"""What Arm's estimator writes of a VGF, and what it does not rate."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arm_tosa_core.support.external_tools import run_tool
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.loader import load
from arm_vgf.nx_estimator import PROGRAM, TIMEOUT_S, NxEstimator
from arm_vgf.vgf_format import with_version

Metrics = dict[str, Any]
#: The format that the program reads.
_FORMAT = (0, 4, 3)
_NO_WORK = ("CONST", "CONST_SHAPE")


def estimate(program: NxEstimator, vgf: bytes) -> tuple[Metrics, str]:
    """The figures of its summary, and the database of what became of each operator.

    Raises:
        ToolError: it died, of a signal perhaps, or refused the VGF.
    """
    with tempfile.TemporaryDirectory(prefix="bench_nx_") as name:
        folder = Path(name)
        (folder / "network.vgf").write_bytes(with_version(vgf, _FORMAT))
        settings = (("-s", program.system), ("-c", program.scheduler))
        chosen = [word for flag, file in settings if file is not None for word in (flag, str(file))]
        run_tool(
            PROGRAM,
            [str(program.program), "-i", "network.vgf", "-o", "network", *chosen],
            timeout=TIMEOUT_S,
            cwd=folder,
        )
        summary = json.loads((folder / "network_network_performance_summary.json").read_bytes())
        debug = folder / "network_debug_database.dat"
        return _figures(summary["network_performance"]), debug.read_text() if debug.exists() else ""


def _figures(network: Mapping[str, Any]) -> Metrics:
    dram = network["dram"]
    return {
        "cycles": network["total_cycles"]["value"],
        "latency_ms": network["inference_time"]["value"],
        "compute_cycles": network["compute_cycles"]["value"],
        "dram_cycles": dram["cycles"]["value"],
        "dram_read_bytes": dram["read_bytes"]["value"],
        "dram_write_bytes": dram["write_bytes"]["value"],
        "dram_footprint_bytes": network["dram_footprint"]["value"],
    }


def on_shaders(debug: str) -> Metrics:
    """How many operators the estimator leaves to shaders, which it does not rate, by kind."""
    table = re.search(r'<table name="shader_op_id">\s*<!\[CDATA\[(.*?)\]\]>', debug, re.DOTALL)
    labels = set(re.findall(r"TOSA([A-Z0-9_]+?)_spirv_id_(\d+)", table[1] if table else ""))
    return {"on_shaders": len(labels), "on_shaders_by_kind": dict(sorted(Counter(kind for kind, _ in labels).items()))}


def unrated(tosa: bytes) -> Metrics:
    """Operators of a graph that read or make floats, and the bytes that they read and write, each for itself."""
    found = [op for op in load(tosa).ops if op.name not in _NO_WORK and _is_float(op)]
    moved = sum(_bytes(tensor) for op in found for tensor in (*op.inputs, *op.outputs))
    return {"float_operators": len(found), "float_bytes": moved}


def _is_float(op: Op) -> bool:
    return any(tensor.dtype.is_float for tensor in (*op.inputs, *op.outputs))


def _bytes(tensor: Tensor) -> int:
    return tensor.size * tensor.dtype.bits // 8 if tensor.dtype != "SHAPE" else 0


def summed(each: Iterable[Metrics]) -> Metrics:
    """Figures of all delegates of a network: sums, of the footprint the largest."""
    total: Metrics = {}
    for figures in each:
        for name, value in figures.items():
            if isinstance(value, dict):
                total[name] = dict(Counter(total.get(name)) + Counter(value))
            elif name == "dram_footprint_bytes":
                total[name] = max(total.get(name, 0), value)
            else:
                total[name] = total.get(name, 0) + value
    return total
