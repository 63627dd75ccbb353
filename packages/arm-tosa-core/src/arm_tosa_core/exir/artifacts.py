"""Intermediate artifacts: one folder of files for each delegate; those of the last compilation only."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from ..plugin.target import CompiledLayer, Target
from ..support.atomic_files import write_atomic
from ..support.errors import UsageError
from ..tosa.graph import Graph
from .model_explorer import cost_files

#: In each folder: the names of the files that the compilation left there.
_LEFT = ".arm-tosa"


@contextmanager
def alone_in(path: str | None) -> Iterator[None]:
    """Waits until no other process leaves artifacts in a folder, which is made.

    Raises:
        UsageError: it cannot be made.
    """
    if not path:
        yield
        return
    lock = FileLock(_lock_of(path))
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except OSError as why:
        raise UsageError(f"cannot write intermediate artifacts to {path}: {why.strerror}") from why
    try:
        yield
    finally:
        lock.release()


def _lock_of(path: str) -> Path:
    """A user's lock of a folder, which is not in it: locks stay when they are released."""
    digest = hashlib.sha256(os.fsencode(f"{Path.home()}|{Path(path).resolve()}")).hexdigest()[:32]
    return Path(tempfile.gettempdir()) / f"arm-tosa-{digest}.lock"


def clear_artifacts(path: str | None, target: Target) -> None:
    """Removes what an earlier compilation for ``target`` left under ``path``, if that is a folder.

    Folders of other targets stay, and whatever has no TOSA flatbuffer of this target in it. So do files that no
    compilation wrote.

    Raises:
        UsageError: a file cannot be removed.
    """
    if not path or not Path(path).is_dir():
        return
    for folder in Path(path).iterdir():
        if re.fullmatch(r"delegate_\d+", folder.name) and (folder / f"{target.name}.tosa").is_file():
            try:
                for name in _left(folder, target):
                    (folder / name).unlink(missing_ok=True)
                if not any(folder.iterdir()):
                    folder.rmdir()
            except OSError as why:
                raise UsageError(f"cannot remove old artifacts in {folder}: {why.strerror or why}") from why


def _left(folder: Path, target: Target) -> list[str]:
    """The names of files that a compilation left in a folder; of one that failed, the first ones."""
    with suppress(OSError, UnicodeDecodeError):
        names = (folder / _LEFT).read_text("utf-8").splitlines()
        return [name for name in names if Path(name).name == name] + [_LEFT]
    return [f"{target.name}.tosa", "debug.json"]


def note_files(folder: Path) -> None:
    """Notes that all files of a folder, which ``artifact_folder`` made, are the compilation's."""
    write_atomic(folder / _LEFT, "\n".join(sorted(file.name for file in folder.iterdir())))


def artifact_folder(path: str, tosa: bytes, target: Target) -> Path:
    """Makes a new folder ``delegate_N`` under ``path`` and leaves the TOSA flatbuffer in it.

    Raises:
        UsageError: the folder cannot be made or written.
    """
    number = 0
    while True:
        folder = Path(path) / f"delegate_{number}"
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            number += 1
        except OSError as why:
            raise UsageError(f"cannot write intermediate artifacts to {path}: {why.strerror}") from why
    write_atomic(folder / f"{target.name}.tosa", tosa)
    return folder


def drop_last(path: str | None, target: Target) -> None:
    """Removes the folder of the delegate that was compiled last, which will be compiled again."""
    folders = [] if path is None else Path(path).glob(f"delegate_*/{target.name}.tosa")
    if last := max((file.parent for file in folders), key=lambda folder: folder.stat().st_mtime_ns, default=None):
        shutil.rmtree(last)


def write_debug_info(folder: Path, graph: Graph) -> None:
    """``debug.json``: each TOSA operator with the ATen node and the source line it comes from."""
    rows: list[dict[str, Any]] = []
    for i, op in enumerate(graph.ops):
        where = op.origin
        rows.append(
            {
                "index": i,
                "tosa": op.name,
                "outputs": [{"shape": list(t.shape), "dtype": str(t.dtype)} for t in op.outputs],
                "node": where.node if where else None,
                "aten": where.target if where else None,
                "source": where.source if where else None,
            }
        )
    write_atomic(folder / "debug.json", json.dumps(rows, indent=1))


def write_layer_costs(folder: Path, target: Target, tosa: bytes, layers: Sequence[CompiledLayer]) -> None:
    """``TARGET.cycles.json`` and ``TARGET.bytes.json``: what layers cost, for Model Explorer; those that are known."""
    for cost, data in cost_files(tosa, layers).items():
        write_atomic(folder / f"{target.name}.{cost}.json", json.dumps(data, indent=1))
