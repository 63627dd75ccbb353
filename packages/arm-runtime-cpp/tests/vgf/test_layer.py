"""Arm's emulation layer: how it is found and loaded, and what is kept of its work."""

from __future__ import annotations

from pathlib import Path

import pytest
from vgf_files import SPEC, Load, graph_vgf
from vgf_process import child

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

LAYER = {"ARM_VGF_ENGINE": "layer"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "abs.vgf"
    path.write_bytes(graph_vgf("ABS", DType.INT32, 4))
    return path


def test_what_is_wrong_is_said(layer: Load, file: Path) -> None:
    load = f"Session(open({str(file)!r}, 'rb').read())"
    assert "ARM_VGF_LAYERS is /nowhere, which does not hold" in child(load, ARM_VGF_LAYERS="/nowhere", **LAYER).stderr
    assert "TMPDIR must name one that can be written to" in child(load, TMPDIR="/nowhere", **LAYER).stderr


def test_the_users_layer_path_is_kept(layer: Load, file: Path, tmp_path: Path) -> None:
    """The loader's variable is as it was after a session is loaded, and the temporary manifests are gone."""
    code = f"""
import ctypes
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
Session(open({str(file)!r}, 'rb').read())
print(getenv(b'VK_LAYER_PATH').decode())"""
    done = child(code, VK_LAYER_PATH=str(tmp_path), TMPDIR=str(tmp_path), **LAYER)
    assert done.stdout.strip() == str(tmp_path), done.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_second_load(layer: Load, tmp_path: Path) -> None:
    """A second process loads in half the time of the first at most, as it finds the shaders that the first translated;
    CPU time, which other processes disturb less. Equal operators share a pipeline: else those would take most of it."""
    graph = Graph()
    x = graph.input("x", (4,), DType.INT32)
    y = x
    for _ in range(10):
        for op in ("ABS", "BITWISE_NOT", "CLZ"):
            y = graph.append(op, [y]).output
        y = graph.append("ADD", [y, x]).output
    graph.outputs = [y]
    (tmp_path / "chain.vgf").write_bytes(convert(serialize(graph, SPEC)))
    code = f"""
import time, numpy as np
vgf = open({str(tmp_path / "chain.vgf")!r}, 'rb').read()
start = time.process_time()
session = Session(vgf)
print(time.process_time() - start, session.run([np.array([1, -2, 3, 2**30], np.int32)])[0].tolist())"""
    env = {
        "ARM_VGF_CACHE": str(tmp_path / "cache"),
        "MESA_SHADER_CACHE_DISABLE": "true",
        "OMP_NUM_THREADS": "1",
        **LAYER,
    }
    first, second = (child(code, **env).stdout.split(maxsplit=1) for _ in range(2))
    assert first[1] == second[1]
    assert float(second[0]) <= 0.5 * float(first[0])
