"""Networks as firmware: bit for bit what the TOSA reference model computes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from arm_cortex_m.firmware.memory import arena_bytes
from arm_cortex_m.firmware.program import model_of
from arm_ethosu.firmware.npu import NPU
from build_tools import require
from firmware_networks import NETWORKS, TARGET, deploy, program, verify

pytest.importorskip("arm_runtime.ethosu")

#: Those that QEMU runs in seconds; `nox -s firmware` runs all there.
QUICK = ("autoencoder", "ds_cnn_int16", "lstm")
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all"


def test_networks_on_this_machine_under_sanitizers(tmp_path: Path) -> None:
    require("cmake", "c++")
    arena = deploy(tuple(NETWORKS), "host", tmp_path)
    sizes = [arena_bytes([model_of(name, program(name), TARGET, NPU)]) for name in NETWORKS]
    assert arena == max(sizes) < sum(sizes), "models that run one after the other share an arena"
    assert f"static uint8_t arena[{arena}]" in (tmp_path / "app" / "main.c").read_text()
    flags = [f"-DCMAKE_{kind}_FLAGS={SANITIZERS}" for kind in ("C", "CXX")]
    subprocess.run(["cmake", "--preset", "board", *flags], cwd=tmp_path, check=True, capture_output=True, timeout=300)
    verify(tmp_path, tuple(NETWORKS))


def test_networks_in_qemu(tmp_path: Path) -> None:
    require("cmake", "arm-none-eabi-gcc", "arm-none-eabi-g++", "qemu-system-arm")
    deploy(QUICK, "mps3-an547", tmp_path)
    verify(tmp_path, QUICK)
