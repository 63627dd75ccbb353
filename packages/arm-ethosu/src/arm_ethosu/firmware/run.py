"""Building a firmware, and running it on this machine."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import run_tool

from .app import file_of
from .board import Board, find_board
from .manifest import DeployedModel, read_manifest
from .model import Port

Array = np.ndarray[Any, Any]
_BUILD_SECONDS = 600
_RUN_SECONDS = 600


def run_firmware(folder: Path, arrays: Sequence[Array], seconds: float = _RUN_SECONDS) -> list[Array]:
    """Builds a firmware if needed, and runs its model once: in an emulator, or where the board's ``run`` says.

    Args:
        arrays: the inputs, as ``arm-tosa run`` gives them to the ``.pte``: reals are quantized here as ExecuTorch does.
        seconds: after so many the emulator is killed.

    Raises:
        UsageError: no firmware there, several models in it, no way to run the board's programs, or wrong inputs.
        ToolError: CMake or the emulator failed, with its last lines.
    """
    manifest = read_manifest(folder)
    where = find_board(manifest.board)
    if len(manifest.models) != 1:
        names = ", ".join(model.name for model in manifest.models)
        raise UsageError(f"{folder} holds several models ({names}); `arm-tosa run` runs firmware with one")
    (model,) = manifest.models
    if not where.run:
        raise UsageError(f"board {where.name!r} says no way to run its firmware on this machine")
    data = _inputs(folder, model, arrays)
    program = build(folder, where)
    with tempfile.TemporaryDirectory() as files:
        for port, array in zip(model.inputs, data, strict=True):
            (Path(files) / file_of(model.name, port)).write_bytes(array.tobytes())
        command = [word.format(firmware=program.resolve()) for word in where.run]
        _require(command[0], where)
        run_tool(command[0], command, cwd=files, timeout=seconds)
        return [_output(port, (Path(files) / file_of(model.name, port)).read_bytes()) for port in model.outputs]


def build(folder: Path, where: Board) -> Path:
    """Builds a firmware, where it is not built yet, and returns the program's file."""
    _require("cmake", where)
    # Each time: it costs little, and CMake refuses a folder that was built elsewhere.
    for command in (["cmake", "--preset", "board"], ["cmake", "--build", "build", "--parallel"]):
        run_tool("cmake", command, cwd=folder, timeout=_BUILD_SECONDS, fix=f"the board needs: {where.needs}")
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


def _inputs(folder: Path, model: DeployedModel, arrays: Sequence[Array]) -> list[Array]:
    if len(arrays) != len(model.inputs):
        raise UsageError(
            f"{folder} takes inputs {', '.join(port.name for port in model.inputs)}; {len(arrays)} --input given"
        )
    out = []
    for port, array in zip(model.inputs, arrays, strict=True):
        if array.shape != port.shape:
            raise UsageError(
                f"{folder} takes {port.name} of shape {list(port.shape)}; the array given has {list(array.shape)}"
            )
        if array.dtype not in (port.dtype, port.program_dtype):
            wanted = " or ".join(dict.fromkeys((port.program_dtype, port.dtype)))
            raise UsageError(f"{folder} takes {port.name} of {wanted}; the array given is of {array.dtype}")
        if array.dtype != port.dtype:
            array = _narrowed(folder, port, array) if port.scale is None else _quantized(port, array)
        out.append(np.ascontiguousarray(array))
    return out


def _narrowed(folder: Path, port: Port, array: Array) -> Array:
    narrow = array.astype(port.dtype)
    if not np.array_equal(narrow, array):
        raise UsageError(f"{folder} takes {port.name} of {port.dtype}, and a number of the array given does not fit")
    return narrow


def _quantized(port: Port, array: Array) -> Array:
    """As ExecuTorch's ``quantize_per_tensor`` does: times the reciprocal in float32, to the nearest even."""
    assert port.scale is not None
    inverse = np.float32(1.0 / port.scale)
    integers: Array = np.clip(np.rint(array * inverse) + port.zero_point, *port.bounds).astype(port.dtype)
    return integers


def _output(port: Port, data: bytes) -> Array:
    array = np.frombuffer(data, port.dtype).reshape(port.shape)
    if port.scale is None:
        return array.astype(port.program_dtype)
    return (array.astype(np.int32) - port.zero_point).astype(np.float32) * np.float32(port.scale)
