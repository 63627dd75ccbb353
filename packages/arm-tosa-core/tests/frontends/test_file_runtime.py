"""``arm-tosa run`` of a file of another framework: its own runtime, in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_kit import error, ok

from arm_tosa_core.frontends.file_runtime import run_file

pytestmark = pytest.mark.needs("onnxruntime")

X = np.array([[-1.5, 0.0, 2.0]], np.float32)


@pytest.fixture
def net(folder: Path) -> Path:
    """A folder with ``net.onnx``, which doubles what is positive, and ``x.npy``."""
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3]) for name in "xy")
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Add", ["r", "r"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "net", [x], [y]), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    np.save(folder / "x.npy", X)
    return folder


def test_a_file_runs_as_it_is(net: Path) -> None:
    (row,) = ok("run", "net.onnx", "--input", "x.npy", "--output", "y.npy")["outputs"]
    assert row["shape"] == [1, 3]
    np.testing.assert_array_equal(np.load(net / "y.npy"), [[0, 0, 4]])


def test_what_is_wrong_is_told(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(net / "wide.npy", np.zeros((1, 4), np.float32))
    (net / "bad.onnx").write_bytes(b"no model")
    words = ("--input", "x.npy")
    assert "takes 1 --input, one for each of x float32[1, 3]; 0 given" in error("run", "net.onnx")
    assert "it takes x float32[1, 3]; x float32[1, 4] is given" in error("run", "net.onnx", "--input", "wide.npy")
    assert "bad.onnx: onnxruntime does not run it: " in error("run", "bad.onnx", *words)
    assert "gone.onnx: no such file" in error("run", "gone.onnx", *words)
    assert "compile it to a .pte" in error("run", "net.onnx", *words, "--target", "vgf")
    (net / "onnxruntime.py").write_text("raise ImportError('none here')")
    monkeypatch.setenv("PYTHONPATH", str(net), prepend=os.pathsep)
    assert "install its runtime: pip install onnxruntime (none here)" in error("run", "net.onnx", *words)


def test_inputs_that_are_fixed_stand_in_their_places(tmp_path: Path) -> None:
    helper = onnx.helper
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in ("a", "b", "c", "y")]
    nodes = [helper.make_node("Sub", ["a", "b"], ["d"]), helper.make_node("Div", ["d", "c"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, "g", ends[:3], ends[3:]), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    (tmp_path / "t.onnx").write_bytes(model.SerializeToString())
    a, b, c = (np.array([n, 2 * n], np.float32) for n in (7.0, 1.0, 2.0))
    for given, fixed in (([a, b, c], {}), ([a, c], {"b": b}), ([b], {"c": c, "a": a})):
        (y,) = run_file(tmp_path / "t.onnx", given, fixed)
        np.testing.assert_array_equal(y, (a - b) / c)
