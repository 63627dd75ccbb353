"""``arm-tosa run`` and ``verify`` on compiled programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from arm_tosa_core.cli.main import app
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.tosa import reference_model as reference
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize

pytestmark = pytest.mark.usefixtures("runtime")


def arm_tosa(*arguments: object, status: int = 0) -> Any:
    """What a command prints with ``--json``."""
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


@pytest.fixture
def folder(compiled: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the demo's ``digits.pte``, its ``digits.tosa``, and inputs of both."""
    monkeypatch.chdir(tmp_path)
    program = compiled("ethos-u55-128")
    Path("digits.pte").write_bytes(program.pte)
    Path("digits.tosa").write_bytes(program.tosa)
    np.save("x.npy", program.pictures[:1])
    np.save("q.npy", program.inputs[0].reshape(1, 1, 8, 8))
    return tmp_path


def test_a_program_runs_and_its_time_is_shown(folder: Path) -> None:
    data = arm_tosa("run", "digits.pte", "--input", "x.npy", "--output", "y.npy", "--profile", "trace.json")
    assert np.load("y.npy").shape == (1, 10)
    names = [event["name"] for event in data["profile"]]
    assert names[0] == "Program::load_method" and "EthosU run" in names
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    measured = [event["name"] for event in events if event["pid"] == 1 and event["ph"] == "X"]
    assert measured == names
    rows = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert rows >= {"CPU", "NPU MAC", "NPU output stage"}
    assert data["timing"][0]["estimated_cycles"] > 0


@pytest.mark.parametrize("target", ["ethos-u55-32", "ethos-u65-256", "ethos-u85-256", "ethos-u85-2048"])
def test_a_graph_is_compiled_and_run(target: str, folder: Path) -> None:
    arm_tosa("run", "digits.tosa", "--target", target, "--input", "q.npy", "--output", "y.npy")
    (expected,) = reference.run(Path("digits.tosa").read_bytes(), [np.load("q.npy")])
    result = np.load("y.npy")
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_a_right_program_is_verified(folder: Path) -> None:
    (row,) = arm_tosa("verify", "digits.pte", "--tosa", "digits.tosa")["graphs"]
    assert row["agrees"] and row["target"] == "ethos-u55-128" and row["ops"] > 10
    printed = " ".join(CliRunner().invoke(app, ["verify", "digits.pte", "--tosa", "digits.tosa"]).stdout.split())
    assert "agree with the TOSA reference model" in printed and "whole program: not run" in printed
    (row,) = arm_tosa("verify", "digits.tosa", "--target", "ethos-u85-256")["graphs"]
    assert row["agrees"]


def test_a_program_of_another_graph_is_noticed(folder: Path) -> None:
    """The last layer of the graph has another bias: the program differs, and the graph compiled anew does not."""
    graph = load(Path("digits.tosa").read_bytes())
    layer = [op for op in graph.ops if op.name == "CONV2D"][-1]
    bias = layer.inputs[2].data
    assert bias is not None
    graph.set_input(layer, 2, graph.constant(bias + (1 << 12), DType.INT32))
    Path("other.tosa").write_bytes(serialize(graph, plugins.target("ethos-u55-128").tosa_spec))
    (row,) = arm_tosa("verify", "digits.pte", "--tosa", "other.tosa", status=1)["graphs"]
    assert not row["agrees"] and not row["first"]
    printed = CliRunner().invoke(app, ["verify", "digits.pte", "--tosa", "other.tosa"]).stdout
    assert "made from another graph" in " ".join(printed.split())


def test_the_operator_that_vela_gets_wrong_is_named(folder: Path) -> None:
    """Vela 5.2 rounds an ARITHMETIC_RIGHT_SHIFT that must not be, on Ethos-U55 (docs/reference/vela-differences.md)."""
    graph = Graph()
    x = graph.input("x", (1, 8, 8, 16), DType.INT32)
    shift = graph.constant(np.full((1, 1, 1, 1), 3, np.int32), DType.INT32)
    shifted = graph.append("ARITHMETIC_RIGHT_SHIFT", [graph.append("ABS", [x]).output, shift], {"round": False}).output
    graph.outputs = [graph.append("MAXIMUM", [shifted, shift], {}).output]
    Path("shift.tosa").write_bytes(serialize(graph, plugins.target("ethos-u55-128").tosa_spec))
    np.save("x.npy", np.random.default_rng(0).integers(-1000, 1000, (1, 8, 8, 16)).astype(np.int32))
    (row,) = arm_tosa("verify", "shift.tosa", "--target", "ethos-u55-128", "--input", "x.npy", status=1)["graphs"]
    assert [op["op"] for op in row["first"]] == ["ARITHMETIC_RIGHT_SHIFT"]
    assert abs(row["difference"]["expected"] - row["difference"]["got"]) == 1
    assert row["difference"]["count"] > 100


PICTURE = """
import torch
def net():
    torch.manual_seed(0)
    return torch.nn.Conv2d(3, 4, 3).eval(), (torch.rand(6, 7, 3).permute(2, 0, 1)[None],)
"""


@pytest.mark.parametrize(("memory", "order"), [("contiguous", "row-major"), ("preserve", "channels-last")])
def test_an_example_that_lies_channels_last_is_compiled_verified_and_run(
    memory: str, order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``verify`` agrees, and a program runs right on arrays as NumPy writes them, in whichever order it takes them."""
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(PICTURE)
    pictures = np.random.default_rng(0).random((8, 1, 3, 6, 7), np.float32)
    np.savez("cal.npz", input=pictures)
    quantized = ("--quantize", "int8", "--calibration", "cal.npz", "--memory-format", memory, "--artifacts", "kept")
    data = arm_tosa("compile", "net.py:net", "--target", "ethos-u55-128", *quantized, "-o", "net.pte")
    assert data["inputs_in_memory"] == [order]
    (row,) = arm_tosa("verify", "net.pte")["graphs"]
    assert row["agrees"] and row["ops"] > 1
    names: dict[str, Any] = {}
    exec(PICTURE, names)
    exact = names["net"]()[0](torch.from_numpy(pictures[0])).detach().numpy()
    for lies in (pictures[0], np.asarray(pictures[0], order="F")):  # .npy files of either order of numbers
        np.save("x.npy", lies)
        arm_tosa("run", "net.pte", "--input", "x.npy", "--output", "y.npy")
        error = np.square(np.load("y.npy") - exact).sum()
        assert 10 * np.log10(np.square(exact).sum() / error) > 30
