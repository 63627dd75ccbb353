"""The folder of a study: what a sweep writes there, and that nothing else is there when it begins."""

from __future__ import annotations

from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from ..support.errors import UsageError
from ..support.printable import printable
from .journal_file import has_whole_line

#: The file that ``optuna-dashboard`` shows.
JOURNAL = "journal.log"
#: The folder of quantized programs.
QUANTIZED = "quantized"
_LOCK = "lock"
_OURS = {JOURNAL, f"{JOURNAL}.damaged", QUANTIZED, _LOCK}


def locked(folder: Path) -> BaseFileLock:
    """The lock of a study's folder, which is made if it is not there.

    Raises:
        UsageError: the folder holds files and no study, it cannot be written, or another process is using it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _require_study(folder)
        lock = FileLock(folder / _LOCK, timeout=0, thread_local=False)
        lock.acquire()
    except Timeout:
        raise UsageError(f"another sweep is at work in {folder}: wait for it, or choose another --study") from None
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from error
    return lock


def _require_study(folder: Path) -> None:
    """Beside a journal of ours a user may keep files; without one the folder is somebody else's."""
    foreign = sorted({path.name for path in folder.iterdir()} - _OURS)
    if foreign and not has_whole_line(folder / JOURNAL):
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise UsageError(
            f"{folder} holds {printable(foreign[0])}{more} and no results of a sweep, which would mix with them: "
            "give --study a new or empty folder"
        )
