"""The files that firmware is made of: C, CMake and linker scripts, in ``files/`` beside this module.

Files that end in ``.in`` have gaps, written as :class:`string.Template` has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template

from arm_tosa_core.support import foreign

FOLDER = Path(__file__).parent / "files"


def text(name: str) -> str:
    """A file as it is."""
    return (FOLDER / name).read_text("utf-8")


def filled(file: str, /, code: Mapping[str, str] = {}, **words: str) -> str:
    """A file with its gaps filled.

    Args:
        code: text in the language of the file, put together here.
        words: names and numbers. They may come from files of others, and must not mean anything to that language.

    Raises:
        UsageError: a word has a character that might.
    """
    return Template(text(file)).substitute(code, **{gap: foreign.words(word, gap) for gap, word in words.items()})


def names(folder: str) -> list[str]:
    """The files of a folder, sorted."""
    return sorted(entry.name for entry in (FOLDER / folder).iterdir() if entry.is_file())
