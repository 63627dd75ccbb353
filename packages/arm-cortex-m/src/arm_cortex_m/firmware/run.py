"""Building a firmware, and running it on this machine."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import run_tool

from .app import file_of
from .board import Board, find_board
from .folder import whole_firmware
from .manifest import Manifest
from .ports import as_integers, real

Array = np.ndarray[Any, Any]
_BUILD_SECONDS = 600
_RUN_SECONDS = 600
#: What GNU's and LLVM's linkers say of a memory that is full.
_FULL = re.compile(r"region [`'](\w+)':? overflowed by (\d+) bytes")


def run_firmware(folder: Path, arrays: Sequence[Array]) -> list[Array]:
    """Builds a firmware if needed, and runs its model once: in an emulator, or where the board's ``run`` says.

    Args:
        arrays: the inputs, as ``arm-tosa run`` gives them to the ``.pte``: reals are quantized here as ExecuTorch does.

    Raises:
        UsageError: no whole firmware there, several models in it, no way to run the board's programs, or wrong inputs.
        ToolError: CMake or the emulator failed, with its last lines.
    """
    manifest = whole_firmware(folder)
    if len(manifest.models) != 1:
        names = ", ".join(model.name for model in manifest.models)
        raise UsageError(f"{folder} holds several models ({names}); `arm-tosa run` runs firmware with one")
    (model,) = manifest.models
    if not arrays and model.inputs:
        raise UsageError(f"{folder} takes {', '.join(port.name for port in model.inputs)}: give each an --input")
    results = run_models(folder, manifest, {model.name: as_integers(str(folder), model.inputs, arrays)})
    return [real(port, array) for port, array in zip(model.outputs, results[model.name], strict=True)]


def run_models(folder: Path, manifest: Manifest, inputs: Mapping[str, Sequence[Array]]) -> dict[str, list[Array]]:
    """Builds a firmware if needed, and runs all its models once.

    Args:
        inputs: integers, by the models' names.

    Returns:
        Outputs as integers, by the models' names.

    Raises:
        UsageError: no way to run the board's programs.
        ToolError: CMake or the emulator failed, with its last lines.
    """
    if not manifest.board:
        raise UsageError(f"{folder} is a part of a system of yours, which builds it: deploy for a board to run it")
    where = find_board(manifest.board)
    if not where.run:
        raise UsageError(f"board {where.name!r} says no way to run its firmware on this machine")
    program = build(folder, where)
    with tempfile.TemporaryDirectory() as files:
        for model in manifest.models:
            for port, array in zip(model.inputs, inputs[model.name], strict=True):
                (Path(files) / file_of(model.name, port)).write_bytes(array.tobytes())
        command = [word.format(firmware=program.resolve()) for word in where.run]
        _require(command[0], where)
        run_tool(command[0], command, cwd=files, timeout=_RUN_SECONDS)
        return {
            model.name: [
                np.frombuffer((Path(files) / file_of(model.name, port)).read_bytes(), port.dtype).reshape(port.shape)
                for port in model.outputs
            ]
            for model in manifest.models
        }


def build(folder: Path, where: Board) -> Path:
    """Builds a firmware, where it is not built yet, and returns the program's file."""
    _require("cmake", where)
    # Each time: it costs little, and CMake refuses a folder that was built elsewhere.
    try:
        for command in (["cmake", "--preset", "board"], ["cmake", "--build", "build", "--parallel"]):
            run_tool("cmake", command, cwd=folder, timeout=_BUILD_SECONDS, fix=f"the board needs: {where.needs}")
    except ToolError as error:
        if full := dict(_FULL.findall(error.output)):
            lacking = " and ".join(f"{memory} lacks {int(size):,} bytes" for memory, size in full.items())
            raise UsageError(
                f"{folder} does not fit board {where.name!r}: {lacking}. Make the model or its input smaller, or give "
                f"the board's memories in {folder / 'boards' / where.name}"
            ) from error
        raise
    if "NPU:STRING=null" in (folder / "build" / "CMakeCache.txt").read_text("utf-8", errors="replace").splitlines():
        raise UsageError(
            f"{folder / 'build'} was built with NPU=null, which computes nothing: "
            f"cmake --preset board -S {folder} -DNPU=functional_model"
        )
    for name in ("firmware.elf", "firmware"):
        if (folder / "build" / name).exists():
            return folder / "build" / name
    raise ToolError("cmake", f"built no firmware in {folder / 'build'}")


def _require(tool: str, where: Board) -> None:
    if shutil.which(tool) is None:
        raise ToolError(tool, "is not installed", fix=f"board {where.name!r} needs: {where.needs}")
