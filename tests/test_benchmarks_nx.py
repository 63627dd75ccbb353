"""The benchmark of Arm's estimator, of which a script takes the place: its rows, its table, and its networks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from arm_tosa_core import TosaSpecification
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.nx_estimator import PROGRAM, VARIABLE
from test_readme import ROOT

sys.path.append(str(ROOT))  # benchmarks is no package that is installed

from benchmarks.figures import Figures
from benchmarks.nx import case, graphics
from benchmarks.nx.registry import CHOSEN_ON, HELD_OUT, NETWORKS, Network
from benchmarks.nx.sides import Delegate
from benchmarks.nx_tables import by_network
from benchmarks.results import Measurement, read

#: It rates a VGF with the byte behind its header as its cycles, and dies of a 0.
SCRIPT = """#!{python}
import json, os, pathlib, signal, sys
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
data = pathlib.Path(arguments["-i"]).read_bytes()
assert data[8:11] == bytes((0, 4, 3))
cycles = data[128]
if not cycles:
    os.kill(os.getpid(), signal.SIGSEGV)
value = lambda number: {{"value": number}}
dram = {{"cycles": value(cycles - 1), "read_bytes": value(100), "write_bytes": value(10)}}
network = {{
    "total_cycles": value(cycles), "inference_time": value(0.5), "compute_cycles": value(3), "dram": dram,
    "dram_footprint": value(cycles * 1024),
}}
name = arguments["-o"]
pathlib.Path(name + "_network_performance_summary.json").write_text(json.dumps({{"network_performance": network}}))
pathlib.Path(name + "_debug_database.dat").write_text({debug!r})
"""
DEBUG = """<table name="tosa_op_id">
<![CDATA[
"id", "tosa_op", "api_labels"
62, Rescale, TOSARESCALE_spirv_id_157;
]]>
</table>
<table name="shader_op_id">
<![CDATA[
"id", "api_labels"
21, TOSACAST_spirv_id_154;TOSAMUL_spirv_id_147;
97, TOSAMUL_spirv_id_200;TOSAMUL_spirv_id_147;
]]>
</table>
"""


@pytest.fixture
def estimator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / PROGRAM
    program.write_text(SCRIPT.format(python=sys.executable, debug=DEBUG))
    program.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(program))
    return program


def delegate(cycles: int) -> Delegate:
    """A picture that is rounded to INT32 and negated there: one of two operators is of floats."""
    graph = Graph()
    x = graph.append("CAST", [graph.input("x", (1, 6), DType.FP32)], {"output_dtype": DType.INT32}).output
    graph.outputs = [graph.append("ABS", [x]).output]
    vgf = b"VGF1" + bytes(4) + bytes((0, 5, 0)) + bytes(117) + bytes((cycles,))
    return Delegate(serialize(graph, TosaSpecification.create_from_string("TOSA-1.0+FP+INT")), vgf)


def test_figures_are_added_up_over_delegates(estimator: Path) -> None:
    assert case.figures([delegate(40), delegate(20)], "") == {
        "cycles": 60,
        "latency_ms": 1.0,
        "compute_cycles": 6,
        "dram_cycles": 58,
        "dram_read_bytes": 200,
        "dram_write_bytes": 20,
        "dram_footprint_bytes": 40 * 1024,
        "on_shaders": 6,
        "on_shaders_by_kind": {"CAST": 2, "MUL": 4},
        "float_operators": 2,
        "float_bytes": 2 * (6 * 4 + 6 * 4),
        "delegates": 2,
    }


class Side:
    def quantize(self, network: Network) -> str:
        return "program"

    def lower(self, program: str, edges: str, folder: Path) -> tuple[Sequence[Delegate], int]:
        return {"float": [delegate(0)], "integer": [delegate(7)], "none": []}[edges], 1


def test_a_failure_is_a_row_and_the_next_case_is_measured(
    estimator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case, "SIDES", {"ours": Side})
    monkeypatch.setattr(case, "NETWORKS", {"toy": lambda: None})
    monkeypatch.setattr("logging.disable", lambda level: None)
    case.main("ours", "toy", "float,none,integer", "", str(tmp_path / "kept"), str(tmp_path / "result"))
    found = json.loads((tmp_path / "result").read_text())
    assert f"{PROGRAM}" in found["float"]["error"] and "signal SIGSEGV" in found["float"]["error"]
    assert found["none"]["error"] == "RuntimeError: nothing is delegated"
    assert (found["integer"]["cycles"], found["integer"]["left"]) == (7, 1)
    assert (tmp_path / "kept" / "toy.ours.integer" / "0.vgf").read_bytes() == delegate(7).vgf


@pytest.mark.parametrize("side", ["ours", "rival"])
def test_a_network_by_each_side(estimator: Path, tmp_path: Path, side: str) -> None:
    """With float edges there are float operators, with integer edges there is none; nothing is left outside."""
    estimator.write_text(estimator.read_text().replace("data[128]", "9"))
    results = tmp_path / "nx.jsonl"
    words = ["-m", "benchmarks.nx", "--networks", "digits", "--sides", side, "--results", str(results)]
    subprocess.run([sys.executable, *words], cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    rows = {row.case["edges"]: row for row in read(results)}
    assert rows.keys() == {"float", "integer"}
    assert rows["float"].case["part"] == "chosen on" and rows["float"].side == side
    assert rows["float"].versions[PROGRAM].startswith("sha256:")
    for edges, row in rows.items():
        assert (row.metrics["cycles"], row.metrics["left"], row.metrics["delegates"]) == (9, 0, 1)
        assert (row.metrics["float_bytes"] == 0) == (edges == "integer")


def test_nothing_is_measured_without_the_program(tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if key not in (VARIABLE, "VIRTUAL_ENV")}
    environment = {**kept, "HOME": str(tmp_path), "PATH": ""}
    words = ["-m", "benchmarks.nx", "--networks", "digits", "--results", str(tmp_path / "nx.jsonl")]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "the estimator is not installed" in done.stderr
    assert not (tmp_path / "nx.jsonl").exists()


def test_each_network_is_in_one_list() -> None:
    assert len(NETWORKS) == len(CHOSEN_ON) + len(HELD_OUT)
    assert len(CHOSEN_ON) >= 16 and len(HELD_OUT) >= 6


@pytest.mark.parametrize(
    ("build", "inputs", "wanted"),
    [
        (graphics.UNet540, [(1, 12, 16, 24)], [(1, 16, 16, 24)]),
        (graphics.Sr360, [(1, 3, 8, 12)], [(1, 3, 16, 24)]),
        (graphics.FrameInterpolation, [(1, 3, 16, 24)] * 2, [(1, 4, 16, 24), (1, 4, 16, 24)]),
        (graphics.Denoiser, [(1, 10, 16, 24)], [(1, 9, 16, 24)]),
    ],
)
def test_networks_of_graphics(
    build: type[torch.nn.Module], inputs: list[tuple[int, ...]], wanted: list[tuple[int, ...]]
) -> None:
    made = build().eval()(*map(torch.rand, inputs))
    assert [tuple(y.shape) for y in (made if isinstance(made, tuple) else (made,))] == wanted


def test_kernels_of_the_denoiser_are_weights() -> None:
    sums = graphics.Denoiser().eval()(torch.rand(1, 10, 16, 16)).sum(1)
    torch.testing.assert_close(sums, torch.ones(1, 16, 16))


def test_a_network_whose_package_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(FileNotFoundError, match="ng_model_gym.* bench-nx"):
        graphics.nss()


SYSTEM = "system-config-neural-technology-default"


def row(network: str, part: str, edges: str, side: str, system: str = SYSTEM, **metrics: object) -> Measurement:
    where = {"network": network, "part": part, "edges": edges, "system": system}
    return Measurement("nx", where, side, metrics, "c", "2026-01-01", "m", {}, "")


def test_table() -> None:
    def whole(cycles: int) -> dict[str, object]:
        return {"cycles": cycles, "dram_footprint_bytes": 8, "left": 0, "float_bytes": cycles * 1e6}

    made = [
        row("a", "chosen on", "float", "ours", **whole(50)),
        row("a", "chosen on", "float", "rival", **whole(100)),
        row("a", "chosen on", "integer", "ours", **whole(50)),
        row("a", "chosen on", "integer", "rival", error="ToolError: killed by signal SIGSEGV"),
        row("b", "held out", "float", "ours", **whole(200)),
        row("b", "held out", "float", "rival", **whole(100)),
        row("c", "chosen on", "float", "ours", **whole(100)),
        row("c", "chosen on", "float", "rival", **{**whole(10), "left": 3}),
        row("a", "chosen on", "float", "ours", "another", **whole(9)),
    ]
    lines = by_network(Figures(made)).splitlines()
    assert lines[2:7] == [
        "| a | 0.500 | – | 1.000 | – | 50.00 / 100.00 | 0 / 0 |",
        "| b (held out) | 2.000 | – | 1.000 | – | 200.00 / 100.00 | 0 / 0 |",
        "| c | 10.000 | – | 1.000 | – | 100.00 / 10.00 | 0 / 3 |",
        "| all, geometric mean | 1.000 (2) | – | 1.000 (2) | – |  |  |",
        "| held out, geometric mean | 2.000 (1) | – | 1.000 (1) | – |  |  |",
    ]
    assert lines[8:] == ["- a, rival, integer edges: ToolError: killed by signal SIGSEGV"]
