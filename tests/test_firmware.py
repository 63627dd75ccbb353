"""Firmware end to end: deployed, built, and run on this machine and in QEMU, beside the program that it was made of."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import lower
from arm_tosa_core.cli.main import app
from arm_tosa_core.testing.harness import exported

pytest.importorskip("arm_runtime")

CASES = {
    "host": ("host", "ethos-u55-128", "int8"),
    "QEMU": ("mps3-an547", "ethos-u55-128", "int8"),
    "QEMU, 16 bits": ("mps3-an547", "ethos-u85-256", "int16x8"),
}


class Net(torch.nn.Module):
    """A convolution, a pool and a linear layer, of two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.last = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = torch.relu(self.first(x)) + y
        return self.last(out.mean((2, 3))), torch.tanh(out)


def invoke(*words: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output + str(done.exception)
    return done.output


@pytest.mark.parametrize("case", CASES)
def test_firmware_gives_the_programs_bits(case: str, tmp_path: Path) -> None:
    board, target, scheme = CASES[case]
    if board != "host" and (shutil.which("qemu-system-arm") is None or shutil.which("arm-none-eabi-gcc") is None):
        pytest.skip("apt-get install gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm")
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 8, 8), torch.randn(1, 8, 8, 8))
    spec = EthosUCompileSpec(target)
    (tmp_path / "net.pte").write_bytes(lower(exported(Net().eval(), inputs, spec, scheme), spec).buffer)
    words = []
    for index, array in enumerate(inputs):
        np.save(tmp_path / f"x{index}.npy", array.numpy())
        words += ["--input", tmp_path / f"x{index}.npy"]
    said = json.loads(
        invoke(
            "deploy",
            "--json",
            tmp_path / "net.pte",
            "--board",
            board,
            "-o",
            tmp_path / "firmware",
        )
    )
    assert {row["part"] for row in said["memory"]} == {"net: commands", "net: weights", "arena"}
    invoke("run", tmp_path / "firmware", *words, "--output", tmp_path / "firmware.npy")
    invoke("run", tmp_path / "net.pte", *words, "--output", tmp_path / "pte.npy")
    for index in range(2):
        one, other = (np.load(tmp_path / f"{name}_{index}.npy") for name in ("firmware", "pte"))
        assert one.dtype == other.dtype == np.float32 and np.array_equal(one, other)
        assert one.min() < one.max(), "of a constant, a comparison says nothing"


def test_without_an_npu_everything_else_is_small(tmp_path: Path) -> None:
    """Code of the models, of the application and of the board, in bytes; the null device is one instruction."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi")
    inputs = (torch.randn(1, 3, 8, 8), torch.randn(1, 8, 8, 8))
    spec = EthosUCompileSpec("ethos-u55-128")
    (tmp_path / "net.pte").write_bytes(lower(exported(Net().eval(), inputs, spec, "int8"), spec).buffer)
    invoke("deploy", tmp_path / "net.pte", "--board", "mps3-an547", "-o", tmp_path / "firmware")
    build = tmp_path / "firmware" / "build"
    for words in (["--preset", "board", "-DNPU=null", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=build.parent, check=True, capture_output=True, timeout=300)
    symbols = subprocess.run(
        ["arm-none-eabi-nm", "--print-size", str(build / "firmware.elf")], capture_output=True, text=True, check=True
    ).stdout
    sizes = {line.split()[3]: int(line.split()[1], 16) for line in symbols.splitlines() if len(line.split()) == 4}
    assert not {"malloc", "_malloc_r", "_sbrk"} & set(sizes), "nothing takes memory from a heap"
    assert sizes["net_init"] + sizes["net_run"] < 512
