"""``arm-tosa view`` without Model Explorer; tests/test_model_explorer.py has it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from cli_kit import error, graph

from arm_tosa_core.exir.model_explorer import cost_files, graph_file
from arm_tosa_core.plugin.target import CompiledLayer
from arm_tosa_core.tosa.loader import listed_operators


def test_what_is_not_installed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arm_tosa_core.support.external_tools.shutil.which", lambda *_, **__: None)
    said = error("view", graph(folder / "x.tosa"))
    assert "Model Explorer is not installed. It lives in an environment of its own: python3 -m venv explorer" in said
    assert "explorer/bin/python -m pip install ai-edge-model-explorer vgf-adapter-model-explorer" in said
    assert "cannot read missing.pte" in error("view", "missing.pte")
    (folder / "x.onnx").touch()
    assert "the suffix must be .tosa, .vgf or .pte. Compile a model first" in error("view", "x.onnx")


def test_an_adapter_that_its_python_lacks_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = folder / "bin" / "model-explorer"
    explorer.parent.mkdir()
    explorer.touch()
    (explorer.parent / "python").symlink_to(sys.executable)
    monkeypatch.setattr("arm_tosa_core.cli.view.find_tool", lambda *_, **__: str(explorer))
    (folder / "x.vgf").write_bytes(b"VGF")
    assert re.search(r"for .vgf files Model Explorer needs vgf-adapter-model-explorer", error("view", "x.vgf"))
    assert "cannot read y.vgf" in error("view", "y.vgf")


def test_costs_are_summed_for_each_operator_of_the_file(folder: Path) -> None:
    tosa = graph(folder / "x.tosa").read_bytes()
    rows = listed_operators(tosa)
    (number,) = [number for number, row in enumerate(rows) if row.name == "ADD"]
    made = rows[number].tensor
    layers = [CompiledLayer("Add", made, 5.0), CompiledLayer("Add", made, 2.0), CompiledLayer("Copy", "", 9.0)]
    files = cost_files(tosa, layers)
    assert {cost: data["main"]["results"] for cost, data in files.items()} == {
        "cycles": {f"main/op{number}": {"value": 7.0}}
    }
    (drawn,) = graph_file(tosa, "x")["graphs"]
    assert [node["id"] for node in drawn["nodes"]] == ["input/x", f"main/op{number}", "output/0"]
