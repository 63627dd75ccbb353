"""Which engine and which device run a program, why, and what is kept between processes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from vgf_files import Load, graph_vgf
from vgf_process import child

from arm_tosa_core.tosa.ir import DType

NATIVE = "VK_ARM_tensors and VK_ARM_data_graph"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "abs.vgf"
    path.write_bytes(graph_vgf("ABS", DType.INT32, 4))
    return path


@pytest.fixture
def emulated(vgf: Any) -> None:
    """This machine's devices lack Arm's extensions; skips where one has them."""
    if vgf.find_device().engine == "native":
        pytest.skip("a device of this machine runs VGF itself")


def test_without_a_device_that_can_the_default_is_compute(vgf: Any, file: Path, emulated: None) -> None:
    with vgf.Session(file.read_bytes()) as session:
        assert session.engine == "compute"
        assert session.engine_reason == "no device has both " + NATIVE
        assert vgf.find_device() == vgf.Device(session.device, session.engine, session.engine_reason)
        assert not session.device.endswith("(emulated)")


def test_an_engine_is_asked_for(vgf: Any, layer: Load, file: Path) -> None:
    with vgf.Session(file.read_bytes(), engine="compute") as ours, layer(file.read_bytes()) as emulated:
        assert (ours.engine, emulated.engine) == ("compute", "layer")
        assert ours.engine_reason == emulated.engine_reason == "it was asked for"
        assert emulated.device == f"{ours.device} (emulated)"
        assert len(ours.plan()) == 1 and emulated.plan() == []


def test_the_option_goes_before_the_variable(vgf: Any, layer: Load, file: Path) -> None:
    code = f"vgf = open({str(file)!r}, 'rb').read(); print(Session(vgf).engine, Session(vgf, engine='compute').engine)"
    done = child(code, ARM_VGF_ENGINE="layer")
    assert done.stdout.split() == ["layer", "compute"], done.stderr


def test_an_engine_that_does_not_exist(vgf: Any, file: Path) -> None:
    with pytest.raises(vgf.VgfError, match="no VGF engine 'warp': it is native, compute or layer"):
        vgf.Session(file.read_bytes(), engine="warp")
    done = child(f"Session(open({str(file)!r}, 'rb').read())", ARM_VGF_ENGINE="Compute")
    assert "no VGF engine 'Compute'" in done.stderr


def test_native_needs_a_device_that_can(vgf: Any, file: Path, emulated: None) -> None:
    with pytest.raises(vgf.VgfError, match=f"the engine `native` needs a device with {NATIVE}; this machine has 0: "):
        vgf.Session(file.read_bytes(), engine="native")


def test_device_choice(vgf: Any, file: Path) -> None:
    """By number, by part of its name, by option before variable; an unknown one lists those there are."""
    load = f"print(Session(open({str(file)!r}, 'rb').read(), *%s).device)"
    every = child(load % "[]").stdout.strip()
    assert child(load % "['0']").stdout.strip()
    name = every.split()[0].upper()
    assert child(load % [name], ARM_VGF_DEVICE="no such").stdout.strip() == every
    failed = child(load % "[]", ARM_VGF_DEVICE="no such").stderr
    assert "needs a Vulkan 1.1 device that fits 'no such'; this machine has 0: " in failed
    assert f"{every}: give a number of these, or a part of a name" in failed


def test_what_is_missing_is_said(vgf: Any, file: Path, tmp_path: Path) -> None:
    load = f"Session(open({str(file)!r}, 'rb').read())"
    none = child(load, VK_ICD_FILENAMES="/nowhere.json", VK_DRIVER_FILES="/nowhere.json")
    assert "no Vulkan driver on this machine: install" in none.stderr
    (tmp_path / "libvulkan.so.1").write_bytes(b"")
    loader = child(load, LD_LIBRARY_PATH=str(tmp_path))
    assert re.search(r"no Vulkan loader on this machine \(.*too short\): install it", loader.stderr), loader.stderr


def test_compute_needs_no_layer_and_no_variable(vgf: Any, file: Path, tmp_path: Path) -> None:
    load = f"print(Session(open({str(file)!r}, 'rb').read(), engine='compute').engine)"
    done = child(load, VK_LAYER_PATH="/nowhere", TMPDIR="/nowhere")
    assert done.stdout.split() == ["compute"], done.stderr


@pytest.mark.parametrize("engine", ["compute", "layer"])
def test_what_is_kept_between_processes(layer: Load, file: Path, tmp_path: Path, engine: str) -> None:
    """A file of pipelines; what was cut or holds something else is replaced."""
    cache = tmp_path / "cache"
    load = f"import numpy as np; print(Session(open({str(file)!r}, 'rb').read()).run([np.full(4, -1, np.int32)]))"
    whole = b""
    for broken in (lambda data: data[:-3], lambda data: bytes(len(data)), lambda data: b""):
        assert "[1, 1, 1, 1]" in child(load, ARM_VGF_CACHE=str(cache), ARM_VGF_ENGINE=engine).stdout
        (kept,) = cache.iterdir()
        whole = whole or kept.read_bytes()
        assert kept.read_bytes() == whole
        kept.write_bytes(broken(whole))
    assert child(load, ARM_VGF_CACHE="", ARM_VGF_ENGINE=engine).returncode == 0
    assert child(load, ARM_VGF_CACHE="/proc/no such folder", ARM_VGF_ENGINE=engine).returncode == 0
