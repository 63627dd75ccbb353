"""A CMake project that builds firmware for a board."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..app import main_source
from ..board import Board
from ..c_text import filled, names, text
from ..memory import linker_fragment
from ..model import Model
from ..npu import Npu
from .sources import model_files, sources


def cmake_project(models: Sequence[Model], board: Board, npu: Npu) -> dict[str, bytes]:
    """All files, by path: the sources, the board's, a program that runs the models, and the NPU's functional model."""
    out = sources(models, npu)
    out |= {f"cmake/{name}": text(f"cmake/{name}") for name in names("cmake")}
    out["app/main.c"] = main_source(models)
    out["models/models.ld"] = linker_fragment(models)
    out["boards/board.h"] = text("boards/board.h")
    out["CMakeLists.txt"] = filled(
        "CMakeLists.txt.in",
        {"models": "\n".join(f"  {file}" for model in models for file in model_files(model))},
        board=board.name,
        names=",".join(model.name for model in models),
    )
    out["CMakePresets.json"] = _presets(board)
    files = {path: body.encode() for path, body in out.items()}
    files |= {f"boards/{path}": body for path, body in board.files().items()}
    return files | {f"npu/functional_model/{name}": body for name, body in npu.functional_model().items()}


def _presets(board: Board) -> str:
    preset = {
        "name": "board",
        "displayName": board.description,
        "binaryDir": "${sourceDir}/build",
        **({"toolchainFile": f"${{sourceDir}}/boards/{board.name}/{board.toolchain}"} if board.toolchain else {}),
        "cacheVariables": {"CMAKE_BUILD_TYPE": "MinSizeRel", "CMAKE_EXPORT_COMPILE_COMMANDS": "ON"},
    }
    presets = {
        "version": 3,
        "cmakeMinimumRequired": {"major": 3, "minor": 21, "patch": 0},
        "configurePresets": [preset],
    }
    return json.dumps(presets, indent=2) + "\n"
