"""Our Ethos-U payload is byte for byte the one that executorch.backends.arm makes from the same TOSA flatbuffer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize

# In a process of its own: its backend classes have the names of ours.
_RIVAL = """
import sys
from executorch.backends.arm.arm_vela import vela_compile
source, result, *flags = sys.argv[1:]
made = vela_compile(open(source, "rb").read(), flags)
open(result, "wb").write(getattr(made, "processed_bytes", made))
"""


def _graph(weights: bool) -> Graph:
    graph = Graph()
    x = graph.input("x", (1, 4, 4, 8), DType.INT8)
    y = graph.append("CLAMP", [x], {"min_val": -5, "max_val": 9}).output
    if weights:
        zero = graph.constant(np.zeros(1, np.int8), DType.INT8)
        weight = graph.constant(np.arange(72, dtype=np.int8).reshape(1, 3, 3, 8), DType.INT8)
        y = graph.append("CONV2D", [y, weight, graph.constant(np.ones(1, np.int32), DType.INT32), zero, zero]).output
    graph.outputs = [y, graph.append("REVERSE", [x], {"axis": 1}).output]
    return graph


@pytest.mark.parametrize("target, weights", [("ethos-u55-128", False), ("ethos-u85-256", True)])
def test_same_payload(target: str, weights: bool, tmp_path: Path) -> None:
    spec = EthosUCompileSpec(target)
    tosa = serialize(_graph(weights), spec.tosa_spec)
    source, result = tmp_path / "in.tosa", tmp_path / "payload"
    source.write_bytes(tosa)
    flags = [
        f"--accelerator-config={target}",
        f"--config={spec.config_ini}",
        f"--system-config={spec.system_config}",
        f"--memory-mode={spec.memory_mode}",
        "--output-format=raw",
    ]
    subprocess.run([sys.executable, "-c", _RIVAL, str(source), str(result), *flags], check=True, capture_output=True)
    compiler = spec.target().compiler.compile
    assert compiler is not None
    assert compiler(tosa, {}) == result.read_bytes()
