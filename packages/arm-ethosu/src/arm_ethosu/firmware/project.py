"""The folder of a firmware: what is written there, and how it is written again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from arm_tosa_core.plugin.firmware import MANIFEST
from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import UsageError

from .app import main_source
from .board import Board
from .library import library
from .manifest import DeployedModel, Manifest, read_manifest
from .model import Model
from .templates import filled, names, text

_NPU, _PROCESSOR, _CMAKE, _APP = "npu", "processor", "cmake", "app/"


def project(models: Sequence[Model], board: Board) -> dict[str, bytes]:
    """The files of a firmware that a compiler reads, by path; same models and board, same bytes.

    Raises:
        UsageError: the names of two models are too much alike.
    """
    out = {f"models/{name}": body for name, body in _libraries(models).items()}
    folders = [_NPU, _CMAKE, *([_PROCESSOR] if any(model.operators for model in models) else [])]
    out |= {f"{folder}/{name}": text(f"{folder}/{name}") for folder in folders for name in names(folder)}
    out["app/main.c"] = main_source(models)
    out["boards/board.h"] = text("boards/board.h")
    sources = [f"  models/{model.name}{suffix}.c" for model in models for suffix in ("", "_data")]
    out["CMakeLists.txt"] = filled(
        "CMakeLists.txt.in",
        board=board.name,
        models="\n".join(sources),
        names=",".join(model.name for model in models),
    )
    out["CMakePresets.json"] = _presets(board)
    files = {path: body.encode() for path, body in out.items()}
    files |= {f"boards/{board.name}/{name}": body for name, body in board.files().items()}
    return files | {f"{_NPU}/functional_model/{name}": body for name, body in _functional_model().items()}


def _libraries(models: Sequence[Model]) -> dict[str, str]:
    out: dict[str, str] = {}
    for model in models:
        files = library(model)
        if clash := sorted(files.keys() & out.keys()):
            raise UsageError(
                f"two models would both have a file models/{clash[0]}: in C their names are "
                f"{', '.join(each.name for each in models)}. Give each model another --name"
            )
        out |= files
    return out


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


def _functional_model() -> dict[str, bytes]:
    """The functional model's sources and header, if the runtime is installed: without it, firmware needs an NPU."""
    spec = find_spec("arm_runtime")
    if spec is None or spec.origin is None:
        return {}
    installed = Path(spec.origin).parent
    folder = installed / "share" / "ethosu_model"
    sources = {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    header = "include/arm_runtime/ethosu_model.hpp"
    return {header: (installed / header).read_bytes(), **sources} if sources else {}


@dataclass(frozen=True)
class Written:
    """What writing a folder did: files that are new or have changed, and files of an earlier time that were removed."""

    changed: Sequence[str]
    removed: Sequence[str]


def write_project(
    folder: Path, files: Mapping[str, bytes], board: str, target: str, models: Sequence[DeployedModel]
) -> Written:
    """Writes the files of a firmware, over those of an earlier one if the folder holds one.

    The manifest lists every file and its SHA-256. Files that are not in it are the user's, and are left alone. So is
    what the user changed: in ``app/`` it stays as it is, elsewhere it stops everything before anything is written.

    Raises:
        UsageError: a file would be lost; names each.
    """
    before = read_manifest(folder).files if (folder / MANIFEST).exists() else {}
    mine = [
        path
        for path in sorted({*files, *before})
        if (folder / path).exists()
        and _digest((folder / path).read_bytes()) not in (before.get(path), _digest(files.get(path)))
    ]
    lost = [path for path in mine if not (path.startswith(_APP) and before)]
    if lost:
        raise UsageError(
            f"{folder}: {', '.join(lost)} would be overwritten, and not by what `arm-tosa deploy` wrote there. "
            "Move them, or deploy into another folder"
        )
    files = {path: body for path, body in files.items() if path not in mine}
    changed = [
        path for path, body in files.items() if before.get(path) != _digest(body) or not (folder / path).exists()
    ]
    for path in changed:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / path, files[path])
    removed = [path for path in before if path not in files and path not in mine and (folder / path).exists()]
    for path in removed:
        (folder / path).unlink()
    digests = {path: _digest(files[path]) for path in sorted(files)} | {
        path: before[path] for path in mine if path in before
    }
    manifest = Manifest(board, target, models, digests)
    write_atomic(folder / MANIFEST, manifest.text().encode())
    return Written(changed, removed)


def _digest(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()
