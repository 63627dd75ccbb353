"""Intermediate artifacts: one set of files per delegate, never overwritten; where each TOSA operator comes from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from executorch.exir.backend.operator_support import DontPartition
from flow_kit import Lowered, Net, export, lower
from torch.export import ExportedProgram

from arm_tosa_core import TosaCompileSpec, TOSAPartitioner, UsageError
from arm_tosa_core.exir.artifacts import clear_artifacts
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.exir.explain import explain
from arm_tosa_core.flow.edge import lower_to_edge
from arm_tosa_core.tosa.loader import load

DebugMode = ArmCompileSpec.DebugMode
X = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(0))


class Network(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return self.conv2(torch.sigmoid(y)).abs()


LINES = [Network.forward.__code__.co_firstlineno + i for i in (1, 2)]


def spec_into(folder: Path | str, mode: DebugMode | None = None) -> TosaCompileSpec:
    return TosaCompileSpec("TOSA-1.0+FP").dump_intermediate_artifacts_to(folder).dump_debug_info(mode)


def lower_into(folder: Path | str, mode: DebugMode | None = None) -> Lowered:
    return lower(export(Network(), (X,)), spec_into(folder, mode), [DontPartition(torch.ops.aten.sigmoid.default)])


@pytest.mark.parametrize("name", ["artifacts", "with a space", "größe/深い"])
def test_a_folder_for_each_delegate(tmp_path: Path, name: str) -> None:
    lowered = lower_into(tmp_path / name)
    files = [tmp_path / name / f"delegate_{i}" / "tosa.tosa" for i in range(2)]
    assert sorted((tmp_path / name).rglob("*.tosa")) == files
    assert sorted(file.read_bytes() for file in files) == sorted(lowered.payloads)
    assert len(set(lowered.payloads)) == 2


def lower_fast(program: ExportedProgram, spec: ArmCompileSpec) -> None:
    lower_to_edge(program, spec)


@pytest.mark.parametrize("flow", [lower, lower_fast])
def test_a_second_compilation_replaces_what_the_first_one_left(tmp_path: Path, flow: Callable[..., object]) -> None:
    lower_into(tmp_path)
    mine = {"delegate_2/mine.tosa", "delegate_x/tosa.tosa", "delegate_1/my-notes.txt", "notes.txt"}
    for name in mine:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    flow(export(Net(lambda net, x: net.conv(x)), (X,)), spec_into(tmp_path))
    left = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    assert left == {"delegate_0/tosa.tosa", "delegate_0/.arm-tosa"} | mine


def test_another_targets_artifacts_and_a_mere_look_remove_nothing(tmp_path: Path) -> None:
    lower_into(tmp_path)
    before = sorted(tmp_path.rglob("*.tosa"))
    program = export(Net(lambda net, x: net.conv(x)), (X,))
    explain(program, spec_into(tmp_path))
    assert sorted(tmp_path.rglob("*.tosa")) == before
    clear_artifacts(str(tmp_path), replace(spec_into(tmp_path).target(), name="another"))
    assert sorted(tmp_path.rglob("*.tosa")) == before


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    with pytest.raises(UsageError, match="cannot write intermediate artifacts to .*file: Not a directory"):
        lower_into(tmp_path / "file")


def test_json_says_where_each_operator_comes_from(tmp_path: Path) -> None:
    lower_into(tmp_path, DebugMode.JSON)
    rows: list[dict[str, object]] = []
    for folder in sorted(tmp_path.iterdir()):
        found = json.loads((folder / "debug.json").read_text())
        graph = load((folder / "tosa.tosa").read_bytes())
        assert [row["tosa"] for row in found] == [op.name for op in graph.ops]
        for row, op in zip(found, graph.ops, strict=True):
            assert row["outputs"] == [{"shape": list(t.shape), "dtype": str(t.dtype)} for t in op.outputs]
        rows += found
    by_operator = {str(row["aten"]): row for row in rows if row["tosa"] in ("CONV2D", "ABS")}
    assert by_operator.keys() == {"aten.conv2d.default", "aten.abs.default"}
    for row in rows:
        assert row["node"] and row["aten"]
        assert any(f"test_artifacts.py:{line}, in forward" in str(row["source"]) for line in LINES), row


def test_locations_inside_the_flatbuffer(tmp_path: Path) -> None:
    plain = lower_into(tmp_path / "plain")
    lowered = lower_into(tmp_path / "debug", DebugMode.TOSA)
    assert not list(tmp_path.rglob("debug.json"))
    for payload, line in zip(lowered.payloads, LINES, strict=True):
        assert f"test_artifacts.py:{line}".encode() in payload
    assert not any(b"test_artifacts.py" in payload for payload in plain.payloads)


def test_debug_info_needs_a_folder() -> None:
    spec = TosaCompileSpec("TOSA-1.0+FP").dump_debug_info(DebugMode.JSON)
    with pytest.raises(UsageError, match="call dump_intermediate_artifacts_to"):
        TOSAPartitioner(spec)
