"""The folder of a firmware: what is written there, and how it is written again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arm_tosa_core.plugin.firmware import MANIFEST
from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import UsageError

from .manifest import DeployedModel, Manifest, read_manifest

#: Files that are there to be changed.
_USERS = ("app/", "boards/generic/")


@dataclass(frozen=True)
class Written:
    """What writing a folder did: files that are new or have changed, and files of an earlier time that were removed."""

    changed: Sequence[str]
    removed: Sequence[str]


def write_folder(
    folder: Path, files: Mapping[str, bytes], board: str, target: str, models: Sequence[DeployedModel]
) -> Written:
    """Writes the files of a firmware, over those of an earlier one if the folder holds one.

    The manifest lists every file and its SHA-256. Files that are not in it are the user's, and are left alone. So is
    what the user changed: in ``app/`` and ``boards/generic/`` it stays as it is, elsewhere it stops everything before
    anything is written.

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
    lost = [path for path in mine if not (path.startswith(_USERS) and before)]
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
