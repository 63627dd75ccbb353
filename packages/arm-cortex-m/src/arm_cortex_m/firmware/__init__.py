"""Firmware without an interpreter: the C library of a model, and a project that builds it for a board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.plugin.firmware import Deployed, Program, Verified
from arm_tosa_core.support.errors import UsageError

from ..cores import CORES
from .board import Board, boards, find_board
from .folder import Written, write_folder
from .formats import FORMATS, project
from .manifest import DeployedModel
from .memory import memory_map
from .model import identifier
from .npu import Npu
from .ports import as_integers
from .processor import ProcessorCompileSpec, on_processor
from .program import model_of
from .reference import stored
from .run import run_firmware
from .verify import verify_firmware

__all__ = ["FIRMWARE", "CortexMFirmware"]


class CortexMFirmware:
    """Functions of ``arm-tosa deploy`` and ``arm-tosa run`` (:class:`arm_tosa_core.plugin.firmware.Firmware`).

    Args:
        npu: beside the processor; None: there is none.
    """

    def __init__(self, npu: Npu | None = None) -> None:
        self.npu = npu

    def boards(self) -> dict[str, str]:
        return {name: find_board(name).description for name in boards()}

    def require_board(self, board: str, target: str) -> None:
        _require_core(find_board(board), target)

    def remainder(self, form: str = "cmake") -> Sequence[ArmCompileSpec]:
        return [ProcessorCompileSpec()] if self.npu else []  # the target itself

    def formats(self) -> Sequence[str]:
        return FORMATS

    def deploy(
        self, programs: Mapping[str, Program], target: str, board: str, folder: Path, form: str = "cmake"
    ) -> Deployed:
        where = find_board(board) if board else None
        if where is not None:
            _require_core(where, target)
        models = [model_of(identifier(name), program, target, self.npu) for name, program in programs.items()]
        files, deployed = project(models, where, form, npu=self.npu), []
        for model, program in zip(models, programs.values(), strict=True):
            reference, more = stored(model, as_integers(model.name, model.inputs, program.inputs))
            files |= more
            deployed.append(DeployedModel(model.name, model.inputs, model.outputs, reference))
        written = write_folder(folder, files, board, target, deployed)
        return Deployed(
            written.changed,
            written.removed,
            memory_map(models, linked=form == "cmake"),
            on_processor(models),
            notes=list(_notes(written, where, target)),
            runs=where is not None and bool(where.run) and len(models) == 1,
        )

    def run(self, folder: Path, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        return run_firmware(folder, inputs)

    def verify(self, folder: Path, inputs: Sequence[np.ndarray[Any, Any]]) -> list[Verified]:
        return verify_firmware(folder, inputs)


def _require_core(board: Board, target: str) -> None:
    """Refuses models for another core than the board's.

    Raises:
        UsageError: it has another.
    """
    if target in CORES and board.core not in ("", target):
        raise UsageError(
            f"board {board.name!r} has a {board.core}, and the models are for {target}: compile them for {board.core}, "
            "or take another board"
        )


def _notes(written: Written, board: Board | None, target: str) -> Iterator[str]:
    if written.kept:
        yield (
            f"{', '.join(written.kept)}: kept as you changed it, so it may not fit these models. To have it written "
            "anew, move your file away and deploy again"
        )
    if target in CORES:
        return
    if board is not None and board.npu and not target.startswith(board.npu):
        yield (
            f"board {board.name!r} has an {board.npu}, and the models are for {target}: they run on the functional "
            "model (NPU=functional_model), not on the board's NPU"
        )
    if board is not None and board.toolchain:
        yield (
            "sizes that a build with NPU=functional_model prints include the functional model and its memory, which a "
            "build for the NPU (NPU=core_driver) does not have"
        )


#: A Cortex-M alone.
FIRMWARE = CortexMFirmware()
