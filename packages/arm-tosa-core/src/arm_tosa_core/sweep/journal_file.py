"""The file of a study: a line for each of Optuna's operations, each with a checksum."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from . import extra

_SUM = "sha256"


def storage(file: Path) -> Any:
    """Optuna's storage in the file of a folder that this process has locked.

    The half of a line that a crash may have left is cut off. From the first damaged line on, nothing is read, because
    Optuna knows a trial by how many came before it: the file is set aside, and a warning says where.
    """
    if file.exists():
        _mend(file)
    # Optuna's own lock is a symbolic link, which outlives a process that is killed: the next one waits for it, if the
    # folder's path is relative for ever.
    backend = import_module("optuna.storages.journal").JournalFileBackend(str(file), lock_obj=_Locked())
    return extra.optuna().storages.JournalStorage(_Summed(backend))


def _mend(file: Path) -> None:
    *lines, half = file.read_bytes().split(b"\n")
    good = next((number for number, line in enumerate(lines) if not _is_whole(line)), len(lines))
    if good < len(lines):
        aside = file.with_name(f"{file.name}.damaged")
        shutil.copyfile(file, aside)
        warnings.warn(
            f"{file} is damaged from line {good + 1} on: what these lines say is worked out again. "
            f"{aside} is the file as it was",
            stacklevel=2,
        )
    if half or good < len(lines):
        with file.open("rb+") as journal:
            journal.truncate(sum(len(line) + 1 for line in lines[:good]))


def has_whole_line(file: Path) -> bool:
    """Whether it is the file of a study, damaged or not; no file is none."""
    return file.is_file() and any(map(_is_whole, file.read_bytes().split(b"\n")))


def _is_whole(line: bytes) -> bool:
    """Whether a line is as it was written; lines of other programs, such as ``optuna-dashboard``, have no checksum."""
    try:
        log = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(log, dict) and "op_code" in log and log.pop(_SUM, None) in (None, _sum(log))


def _sum(log: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps({key: value for key, value in log.items() if key != _SUM}).encode()).hexdigest()


class _Summed:
    """Optuna's backend, with a checksum in each line."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        return iter(self._backend.read_logs(log_number_from))

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        self._backend.append_logs([{**log, _SUM: _sum(log)} for log in logs])


class _Locked:
    """A lock for Optuna where the whole folder is locked already."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass
