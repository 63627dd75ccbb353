"""Firmware without an interpreter: the C library of a model, and a project that builds it for a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.plugin.firmware import Deployed

from .board import boards, find_board
from .memory import memory_map
from .model import identifier
from .processor import ProcessorCompileSpec
from .program import model_of
from .project import project, write_project
from .run import run_firmware

__all__ = ["FIRMWARE", "EthosUFirmware"]


class EthosUFirmware:
    """What ``arm-tosa deploy`` and ``arm-tosa run`` call (:class:`arm_tosa_core.plugin.firmware.Firmware`)."""

    def boards(self) -> dict[str, str]:
        return {name: find_board(name).description for name in boards()}

    def remainder(self) -> ArmCompileSpec:
        return ProcessorCompileSpec()

    def deploy(self, programs: Mapping[str, bytes], target: str, board: str, folder: Path) -> Deployed:
        where = find_board(board)
        models = [model_of(identifier(name), pte, target) for name, pte in programs.items()]
        written = write_project(folder, project(models, where), where.name, target, models)
        return Deployed(written.changed, written.removed, memory_map(models))

    def run(self, folder: Path, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        return run_firmware(folder, inputs)


FIRMWARE = EthosUFirmware()
