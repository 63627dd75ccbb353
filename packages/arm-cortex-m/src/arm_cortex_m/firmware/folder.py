"""The folder of a firmware: its files as one transaction, and whether they are whole."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arm_tosa_core.plugin.firmware import MANIFEST
from arm_tosa_core.support import foreign
from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import UsageError

from .manifest import DeployedModel, Manifest, read_manifest

#: Files that are there to be changed.
_USERS = ("app/", "boards/generic/")


@dataclass(frozen=True)
class Written:
    """The changes that writing made to a folder.

    Args:
        changed: files that are new or have other contents.
        removed: files of an earlier time that are gone.
        kept: files that the user changed and whose generated contents differ from the earlier ones.
    """

    changed: Sequence[str]
    removed: Sequence[str]
    kept: Sequence[str]


def write_folder(
    folder: Path, files: Mapping[str, bytes], board: str, target: str, models: list[DeployedModel]
) -> Written:
    """Writes the files of a firmware, over those of an earlier one if the folder holds one.

    The manifest lists every file and its SHA-256. Files that are not in it are the user's, and are left alone. Files
    that the user changed stay in ``app/`` and ``boards/generic/``; elsewhere they stop everything before
    anything is written.

    A call that is interrupted leaves a manifest that says so. :func:`whole_firmware` refuses the folder, and the next
    call takes its files for its own.

    Raises:
        UsageError: a file would be lost; names each. Or one would be written or removed outside of the folder.
    """
    for path in (*files, MANIFEST):
        foreign.inside(folder, path)  # not through a link in the folder
    before = read_manifest(folder).known() if (folder / MANIFEST).exists() else {}
    new = {path: _digest(body) for path, body in files.items()}
    present = {path: _digest((folder / path).read_bytes()) for path in {*new, *before} if (folder / path).is_file()}
    edited = {path for path, digest in present.items() if digest not in (*before.get(path, ()), new.get(path))}
    lost = sorted(path for path in edited if not (path.startswith(_USERS) and before))
    if lost:
        raise UsageError(
            f"{folder}: {', '.join(lost)} would be overwritten, and not by what `arm-tosa deploy` wrote there. "
            "Move them, or deploy into another folder"
        )
    changed = [path for path in files if path not in edited and new[path] != present.get(path)]
    removed = sorted(path for path in present if path not in new and path not in edited)
    digests = {path: before[path][0] for path in edited if path in before}
    manifest = Manifest(
        board, target, models, {path: new[path] for path in sorted(new) if path not in edited} | digests
    )
    if changed or removed:
        # From here to the last line the folder is neither the old firmware nor the new one, and its manifest says so.
        folder.mkdir(parents=True, exist_ok=True)
        either = {path: [*before.get(path, ()), *([new[path]] if path in new else [])] for path in {**before, **new}}
        write_atomic(folder / MANIFEST, Manifest(board, target, [], {}, unfinished=either).text())
    for path in changed:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / path, files[path])
    for path in removed:
        (folder / path).unlink()
    write_atomic(folder / MANIFEST, manifest.text())
    return Written(changed, removed, sorted(path for path in edited if path in new and new[path] not in before[path]))


def whole_firmware(folder: Path) -> Manifest:
    """The manifest of a folder whose files are those that it was written with, except those that users may change.

    Raises:
        UsageError: the folder holds no firmware, ``arm-tosa deploy`` was interrupted there, or a file was changed or
            removed since; names each.
    """
    manifest = read_manifest(folder)
    if manifest.unfinished:
        raise UsageError(f"{folder}: `arm-tosa deploy` was interrupted while it wrote the files; deploy again")
    changed = [
        path
        for path, digest in manifest.files.items()
        if not path.startswith(_USERS)
        and not ((folder / path).is_file() and _digest((folder / path).read_bytes()) == digest)
    ]
    if changed:
        raise UsageError(
            f"{folder}: {', '.join(changed)} is not what `arm-tosa deploy` wrote there, so what {MANIFEST} says of the "
            "model's inputs and outputs may be wrong. Deploy into a new folder, or build and run the firmware yourself"
        )
    return manifest


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
