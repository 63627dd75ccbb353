"""Arm's emulation layer: how it is found and loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from vgf_files import Load, graph_vgf
from vgf_process import child, manifests

from arm_tosa_core.tosa.ir import DType

LAYER = {"ARM_VGF_ENGINE": "layer"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "abs.vgf"
    path.write_bytes(graph_vgf("ABS", DType.INT32, 4))
    return path


def test_what_is_wrong_is_said(layer: Load, file: Path, tmp_path: Path) -> None:
    """With the folder to set; and, once it is set, nothing of the environment changes."""
    code = f"import os; Session(open({str(file)!r}, 'rb').read()); print(os.popen('echo $VK_LAYER_PATH').read())"
    needed = str(manifests())
    failed = child(code, VK_LAYER_PATH=str(tmp_path), **LAYER).stderr
    said = "the Vulkan loader does not know Arm's emulation layer, which the engine `layer` needs: set VK_LAYER_PATH="
    assert failed.rstrip().endswith(said + needed)
    several = os.pathsep.join([str(tmp_path), needed])
    done = child(code, VK_LAYER_PATH=several, **LAYER)
    assert done.stdout.strip() == several, done.stderr
