"""The last part of the digits demo: the network as firmware for a Cortex-M55, which QEMU runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import in_qemu

PROGRAM = Path(__file__).with_name("digits_firmware.c")


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


def run(pte: Path, pictures: torch.Tensor, folder: Path) -> Firmware:
    """Deploys a program, builds it with a program of ours around it, and runs that on the pictures in QEMU."""
    memory = in_qemu.deploy(pte, "digits", PROGRAM, folder)
    elf = in_qemu.build(folder)
    np.array(len(pictures), np.uint32).tofile(folder / "count.bin")
    pictures.numpy().astype(np.float32).tofile(folder / "pictures.bin")
    in_qemu.emulate(elf, folder)
    scores = np.fromfile(folder / "scores.bin", np.float32).reshape(len(pictures), -1)
    without = in_qemu.build(folder, "build-without-npu", "null")
    return Firmware(torch.from_numpy(scores), in_qemu.size(elf), in_qemu.size(without), memory["arena"])
