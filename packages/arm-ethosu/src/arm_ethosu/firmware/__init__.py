"""Firmware without an interpreter: the C library of a model, and a project that builds it for a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .board import board as _board
from .model import identifier, model_of
from .project import Written, project, write_project
from .run import run_firmware

__all__ = ["deploy", "run_firmware"]


def deploy(programs: Mapping[str, bytes], target: str, board: str, folder: Path) -> Written:
    """Writes a folder that CMake makes firmware of.

    Args:
        programs: ``.pte`` files, by the name that their C functions get.
        target: the accelerator that they were compiled for.

    Raises:
        UsageError: no such board, a program that firmware cannot run, or a folder with files of the user's in the way.
    """
    models = [model_of(identifier(name), pte, target, 0) for name, pte in programs.items()]
    where = _board(board)
    return write_project(folder, project(models, where), board, models)
