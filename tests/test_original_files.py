"""``arm-tosa verify`` of what is compiled from a file of another framework runs the file itself, too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from arm_tosa_core.cli.main import app

onnx = pytest.importorskip("onnx", reason="nox installs onnx")
pytest.importorskip("onnxruntime", reason="nox installs onnxruntime")
pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")


def model(path: Path, slope: float) -> None:
    helper, weight = onnx.helper, onnx.numpy_helper.from_array(np.eye(4, dtype=np.float32)[:, ::-1].copy(), "w")
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 4]) for name in "xy")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("LeakyRelu", ["m"], ["y"], alpha=slope)]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    proto = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(proto.SerializeToString())


def run(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, [*words])
    assert result.exit_code == status, result.output
    return result.stdout


def test_the_file_is_beside_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model(Path("net.onnx"), 0.25)
    run("compile", "net.onnx", "--target", "vgf", "-o", "net.pte")
    text = run("verify", "net.pte", "--model", "net.onnx")
    assert "the outputs agree with PyTorch" in text
    assert "net.onnx in onnxruntime, and as it was read into PyTorch: output 0 is equal" in text
    data = json.loads(run("verify", "net.pte", "--model", "net.onnx", "--json"))
    assert data["original"] == {
        "runtime": "onnxruntime",
        "agrees": True,
        "outputs": [{"output": 0, "largest": 0.0, "sqnr_db": None, "agrees": True}],
    }


def test_a_runtime_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model(Path("net.onnx"), 0.25)
    run("compile", "net.onnx", "--target", "vgf", "-o", "net.pte")
    Path("onnxruntime.py").write_text("raise ImportError('none here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    assert "the file itself was not run: net.onnx: to run it as it is, install its runtime" in run(
        "verify", "net.pte", "--model", "net.onnx"
    )
