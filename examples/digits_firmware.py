"""The last part of the digits demo: the network as firmware for a Cortex-M55, which QEMU runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

PROGRAM = Path(__file__).with_name("digits_firmware.c")
BOARD = "mps3-an547"
TOOLS = ("qemu-system-arm", "arm-none-eabi-g++", "cmake")


@dataclass
class Firmware:
    """What became of the network, in bytes.

    Args:
        scores: [N, 10] of the pictures.
        elf: code and constants that QEMU runs, with the functional model of the NPU.
        elf_without_npu: the same for a chip that has the NPU, but for Arm's driver.
        arena: memory that the model works in.
    """

    scores: torch.Tensor
    elf: int
    elf_without_npu: int
    arena: int


def missing() -> list[str]:
    """The tools that this machine lacks."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def run(pte: Path, pictures: torch.Tensor, folder: Path) -> Firmware:
    """Deploys a program, builds it with a program of ours around it, and runs that on the pictures in QEMU."""
    said = _command("arm-tosa", "deploy", pte, "--name", "digits", "--board", BOARD, "-o", folder, "--json")
    memory = {row["part"]: row["bytes"] for row in json.loads(said)["memory"]}
    shutil.copy(PROGRAM, folder / "app" / "main.c")  # deploying again would leave it as it is
    elf = _build(folder, "build", "functional_model")
    np.array(len(pictures), np.uint32).tofile(folder / "count.bin")
    pictures.numpy().astype(np.float32).tofile(folder / "pictures.bin")
    machine = ("-M", BOARD, "-nographic", "-monitor", "none", "-serial", "none")
    semihosting = ("-semihosting-config", "enable=on,target=native")
    _command("qemu-system-arm", *machine, *semihosting, "-kernel", elf.resolve(), cwd=folder)
    scores = np.fromfile(folder / "scores.bin", np.float32).reshape(len(pictures), -1)
    without = _build(folder, "build-without-npu", "null")
    return Firmware(torch.from_numpy(scores), _size(elf), _size(without), memory["arena"])


def _build(folder: Path, build: str, npu: str) -> Path:
    _command("cmake", "--preset", "board", "-B", build, f"-DNPU={npu}", cwd=folder)
    _command("cmake", "--build", build, "--parallel", cwd=folder)
    return folder / build / "firmware.elf"


def _size(elf: Path) -> int:
    text, data = _command("arm-none-eabi-size", elf).splitlines()[1].split()[:2]
    return int(text) + int(data)


def _command(*words: object, cwd: Path | None = None) -> str:
    command = list(map(str, words))
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
