"""VGF in the version of the format that its reader takes."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from nx_stand_in import installed, runs

from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.external_tools import find_tool
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf import VgfCompileSpec
from arm_vgf.flatbuffer_table import Table
from arm_vgf.graph_code import operators_of
from arm_vgf.nx_estimator import NxEstimator
from arm_vgf.nx_layers import in_detail
from arm_vgf.vgf_format import section, with_version
from arm_vgf.vgf_ports import ports
from arm_vgf.vgf_versions import as_version

SPEC = VgfCompileSpec().tosa_spec


def _tosa() -> bytes:
    """Of two constants that are too large to be in the code."""
    graph = Graph()
    x = graph.input("x", (1, 4096), DType.FP32)
    for i in range(2):
        x = graph.append(
            "ADD", [x, graph.constant(np.random.default_rng(i).random((1, 4096), np.float32), DType.FP32)]
        ).output
    graph.outputs = [graph.append("EXP", [x]).output]
    return serialize(graph, SPEC)


def _compiled(version: str | None, folder: Path | None = None) -> bytes:
    compile_ = VgfCompileSpec(vgf_version=version).target().compiler.compile
    assert compile_ is not None
    return compile_(_tosa(), {} if folder is None else {"artifacts": str(folder)})


@pytest.fixture(scope="module")
def vgf() -> bytes:
    """As the model converter writes it."""
    return _compiled(None)


def _dumped(vgf: bytes, folder: Path) -> dict[str, object]:
    """What the VGF library reads."""
    (folder / "read.vgf").write_bytes(vgf)
    dump = [find_tool("vgf_dump", package="ai-ml-sdk-vgf-library"), "--input", str(folder / "read.vgf")]
    found: dict[str, object] = json.loads(subprocess.run(dump, capture_output=True, check=True).stdout)
    return found


def test_a_version_is_written(vgf: bytes, tmp_path: Path) -> None:
    """It differs in the header alone; our readers and the VGF library find the same in it."""
    older = _compiled("0.4", tmp_path)
    assert older == (tmp_path / "vgf.vgf").read_bytes() == with_version(vgf, (0, 4, 3))
    assert _compiled("0.5") == vgf and vgf[8:11] == bytes((0, 5, 0))
    assert ports(older) == ports(vgf) and operators_of(older) == operators_of(vgf)
    first, second = (_dumped(data, tmp_path) for data in (vgf, older))
    assert first.pop("header") == {"major": 0, "minor": 5, "patch": 0}
    assert second.pop("header") == {"major": 0, "minor": 4, "patch": 3}
    assert first == second and first["constants"]


def test_a_version_stays_as_it_is(vgf: bytes) -> None:
    older = with_version(vgf, (0, 4, 1))
    assert as_version(older, "0.4") == older


@pytest.mark.parametrize("version", ["0.6", "", "0.4.3", 0.4])
def test_a_version_that_is_none(version: str) -> None:
    with pytest.raises(UsageError, match=r"vgf_version is 0.4 or 0.5, not"):
        VgfCompileSpec(vgf_version=version)
    with pytest.raises(UsageError, match=r"vgf_version is 0.4 or 0.5, not"):
        VgfCompileSpec._from_options(SPEC, [], {"vgf_version": version})


def test_another_converter(vgf: bytes) -> None:
    for version, made in (("0.5", (0, 4, 3)), ("0.4", (0, 6, 0))):
        with pytest.raises(UsageError, match=rf"{version}: the model converter .* writes VGF {made[0]}.{made[1]}"):
            as_version(with_version(vgf, made), version)


def _bindings(vgf: bytes) -> tuple[int, int]:
    """Where the vector of the constants' bindings begins in the file, and its count."""
    (begin,) = struct.unpack_from("<Q", vgf, 32)
    at, count = Table.root(section(vgf, 1)).tables(0)[0].vector(9)
    return begin + at, count


def test_constants_in_another_order_are_refused(vgf: bytes) -> None:
    """The second binding is that of the first."""
    at, count = _bindings(vgf)
    assert count == 2
    data = bytearray(vgf)
    struct.pack_into("<I", data, at + 4, struct.unpack_from("<I", vgf, at)[0] - 4)
    with pytest.raises(UsageError, match="constants in another order"):
        as_version(bytes(data), "0.4")


def _with_shader(vgf: bytes) -> bytes:
    """The type of the only segment is another one."""
    (begin,) = struct.unpack_from("<Q", vgf, 32)
    place = begin + Table.root(section(vgf, 1)).tables(0)[0]._field(0)
    assert vgf[place] == 1
    return vgf[:place] + b"\0" + vgf[place + 1 :]


def test_shaders_are_refused(vgf: bytes) -> None:
    with pytest.raises(UsageError, match="compute shaders, which VGF 0.4 says less of: use 0.5"):
        as_version(_with_shader(vgf), "0.4")


@pytest.mark.usefixtures("no_estimator")
def test_the_estimator_is_not_asked_about_shaders(vgf: bytes, tmp_path: Path) -> None:
    estimator = NxEstimator.of(installed(tmp_path / "bin"), None)
    asked = estimator.estimate(vgf)
    assert asked.figures and len(runs(estimator.program)) == 1
    assert not estimator.estimate(_with_shader(vgf)).figures and len(runs(estimator.program)) == 1
    compiled = in_detail(_with_shader(vgf), _tosa(), estimator.estimate(_with_shader(vgf)))
    assert [note.endswith("this program has compute shaders too") for note in compiled.notes] == [True]


def test_what_is_damaged_is_refused(vgf: bytes) -> None:
    with pytest.raises(UsageError, match="not a whole VGF"):
        as_version(vgf[:128] + b"\xff" * (len(vgf) - 128), "0.4")


def test_a_version_travels() -> None:
    spec = VgfCompileSpec(vgf_version="0.4")
    assert VgfCompileSpec.from_list(spec.to_list()) == spec != VgfCompileSpec()
