"""Arm's emulation layer: how it is found and loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from vgf_files import Load, graph_vgf
from vgf_process import child

from arm_tosa_core.tosa.ir import DType

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
