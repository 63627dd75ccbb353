"""Firmware for Ethos-U without an interpreter, by :mod:`arm_cortex_m.firmware`; or with ExecuTorch's runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from arm_cortex_m.firmware import CortexMFirmware
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.plugin.firmware import Deployed, Program

from . import executorch
from .npu import NPU

__all__ = ["FIRMWARE", "EthosUFirmware"]


class EthosUFirmware(CortexMFirmware):
    """A Cortex-M with an Ethos-U beside it."""

    def __init__(self) -> None:
        super().__init__(NPU)

    def remainder(self, form: str = "cmake") -> Sequence[ArmCompileSpec]:
        return [] if form == executorch.FORMAT else super().remainder(form)

    def formats(self) -> Sequence[str]:
        return (*super().formats(), executorch.FORMAT)

    def deploy(
        self, programs: Mapping[str, Program], target: str, board: str, folder: Path, form: str = "cmake"
    ) -> Deployed:
        if form == executorch.FORMAT:
            return executorch.deploy(programs, target, board, folder)
        return super().deploy(programs, target, board, folder, form)


FIRMWARE = EthosUFirmware()
