"""Figures that took long to find, on disk: a file for each in the cache folder."""

from __future__ import annotations

import math
from pathlib import Path

from .atomic_files import write_atomic
from .cache_folder import cache_folder
from .errors import UsageError


def read(kind: str, name: str) -> float | None:
    """The figure of a key; None where it was never found, or the file is spoiled.

    Args:
        kind: a folder of figures of one kind.
        name: the key: all that the figure depends on, as a digest.
    """
    try:
        figure = float(_path(kind, name).read_text())
    except (OSError, ValueError):
        return None
    return figure if math.isfinite(figure) else None


def keep(kind: str, name: str, figure: float) -> None:
    """Keeps a figure; where nothing can be written, it is found again next time."""
    path = _path(kind, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, repr(figure).encode())
    except (OSError, UsageError):
        pass


def _path(kind: str, name: str) -> Path:
    return cache_folder() / kind / name
