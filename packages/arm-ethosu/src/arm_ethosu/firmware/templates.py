"""The files that firmware is made of: C, CMake and linker scripts, in ``files/`` beside this module.

Files that end in ``.in`` have gaps, written as :class:`string.Template` has them.
"""

from __future__ import annotations

from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent / "files"


def text(name: str) -> str:
    """A file as it is."""
    return (FOLDER / name).read_text("utf-8")


def filled(file: str, /, **words: str) -> str:
    """A file with its gaps filled."""
    return Template(text(file)).substitute(words)


def names(folder: str) -> list[str]:
    """The files of a folder, sorted."""
    return sorted(entry.name for entry in (FOLDER / folder).iterdir() if entry.is_file())
