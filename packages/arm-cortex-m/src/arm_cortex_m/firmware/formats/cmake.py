"""A CMake project that builds firmware for a board."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...cores import BESIDE_NPU, CORES
from ..app import main_source
from ..board import Board
from ..c_text import filled, names, text
from ..memory import linker_fragment
from ..model import Model
from ..npu import Npu
from .sources import model_files, processor_files, sources

#: The functional model's error messages take memory from a heap, and its memory is as large as the board says.
_UNLESS_HEAP = " AND NOT TARGET npu_functional_model) # whose error messages take memory from a heap"
_WORKSPACE = """if(TARGET npu_functional_model)
  target_compile_definitions(npu_functional_model PRIVATE NPU_MODEL_WORKSPACE=${MODEL_WORKSPACE})
endif()
"""
#: Their loops take a fifth fewer instructions so, and they are a few functions.
_FAST = """# The functions of operators are built for speed, also where the rest is built for size.
set_source_files_properties({files} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:MinSizeRel>:-O2>")
"""


def cmake_project(models: Sequence[Model], board: Board, npu: Npu | None) -> dict[str, bytes]:
    """All files, by path: the sources, the board's, a program that runs the models, and the NPU's functional model."""
    out = sources(models, npu)
    out |= {f"cmake/{name}": text(f"cmake/{name}") for name in names("cmake")}
    out["app/main.c"] = main_source(models)
    out["models/models.ld"] = linker_fragment(models)
    out["boards/board.h"] = text("boards/board.h")
    out["CMakeLists.txt"] = filled(
        "CMakeLists.txt.in",
        {
            "models": "\n".join(
                f"  {file}"
                for file in (*(file for model in models for file in model_files(model)), *processor_files(models))
            ),
            "languages": "C CXX" if npu else "C",
            "fast": _FAST.format(files=" ".join(fast)) if (fast := processor_files(models)) else "",
            "npu_folder": " npu" if npu else "",
            "npu": npu.build("npu.cmake") if npu else "",
            "unless_heap": _UNLESS_HEAP if npu else ")",
            "workspace": _WORKSPACE if npu else "",
        },
        board=board.name,
        names=",".join(model.name for model in models),
    )
    out["CMakePresets.json"] = _presets(board)
    files = {path: body.encode() for path, body in out.items()}
    files |= {f"boards/{path}": body for path, body in board.files(CORES.get(models[0].target, BESIDE_NPU)).items()}
    stand_in = npu.functional_model() if npu else {}
    return files | {f"npu/functional_model/{name}": body for name, body in stand_in.items()}


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
