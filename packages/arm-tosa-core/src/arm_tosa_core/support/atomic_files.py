"""Writing files whole or not at all: no reader ever sees half of one."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from .errors import UsageError


def require_writable(path: str | os.PathLike[str]) -> None:
    """Finds out before long work whether ``write_atomic`` can write ``path`` after it.

    Raises:
        UsageError: its folder is missing, is no folder or cannot be written to, or ``path`` is a folder.
    """
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder")
    file = _file_behind(path)
    if file is None:
        if not os.access(path, os.W_OK):
            raise UsageError(f"cannot write {path}: {os.strerror(errno.EACCES)}")
        return
    if not file.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {file.parent}")
    _require_takes_files(file.parent, path)


def require_folder(path: str | os.PathLike[str]) -> None:
    """Finds out before long work whether files can be written in a folder, which need not be there.

    Raises:
        UsageError: it is a file or in one, or its file system takes no files there.
    """
    path = Path(path)
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise UsageError(f"cannot make the folder {path}: {nearest} is a file")
    _require_takes_files(nearest, path)


def _file_behind(path: Path) -> Path | None:
    """The file that is replaced when ``path`` is written, which need not be there; None: a pipe or a device.

    Raises:
        UsageError: links lead in a circle.
    """
    if not path.is_symlink():
        return path if path.is_file() or not path.exists() else None
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise UsageError(f"cannot write {path}: {os.strerror(errno.ELOOP)}")
    # The target of /dev/stdout need not have a name: a pipe, or a file that was removed.
    replaceable = not path.exists() or (path.is_file() and file.exists() and path.samefile(file))
    return file if replaceable else None


def _require_takes_files(folder: Path, path: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):  # permissions alone do not tell of every file system
            pass
    except OSError as error:
        raise UsageError(f"cannot write {path}: no file can be made in {folder}: {error.strerror}") from error


def write_atomic(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Writes ``data`` to ``path``: to a temporary file in its folder, then renamed over it.

    A symbolic link stays, and the file that it leads to is replaced. A pipe or a device is written to as it is.
    Text is written as UTF-8; bytes that are no text, such as those of a file's name, are escaped.

    Raises:
        UsageError: the folder is missing or not writable, or ``path`` cannot be replaced; gives the system's reason.
    """
    path = Path(path)
    content = data.encode(errors="backslashreplace") if isinstance(data, str) else data
    temporary: str | None = None
    try:
        file_behind = _file_behind(path)
        if file_behind is None:
            with path.open("wb") as stream:
                stream.write(content)
            return
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=file_behind.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files private; this one is the user's
        os.replace(temporary, file_behind)
        temporary = None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
