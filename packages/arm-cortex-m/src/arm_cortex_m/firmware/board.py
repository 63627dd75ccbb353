"""Boards: folders with a ``board.toml``, a ``board.cmake`` and the sources that a board needs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from arm_tosa_core.support import foreign
from arm_tosa_core.support.errors import UsageError

from ..cores import Core
from .c_text import FOLDER, filled

#: Installed packages add boards: an entry point's name is the board's, its object the folder's path.
GROUP = "arm_tosa.boards"
_OWN = "boards"
_SHARED = FOLDER / "shared"


@dataclass(frozen=True)
class Board:
    """A board.

    Args:
        folder: its files; all of them are copied into the firmware.
        description: one line.
        toolchain: CMake's toolchain file in the folder; empty: this machine's compilers.
        shares: names of folders in ``files/shared``, which are copied beside the board's.
        run: the command that runs firmware on this machine, with ``{firmware}`` for the file; empty: none can.
        needs: the command that installs the tools for building and running.
        core: of the board, as the targets are called; empty: any.
        npu: the NPU of the board, as the beginning of targets' names, such as ``ethos-u55``; empty: none, or any.
    """

    name: str
    folder: Path
    description: str
    toolchain: str = ""
    shares: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    needs: str = ""
    npu: str = ""
    core: str = ""

    def files(self, core: Core) -> dict[str, bytes]:
        """Its files and those that it shares, by the name of their folder and their own.

        Args:
            core: fills the gaps of files that end in ``.in``.
        """
        folders = {self.name: self.folder, **{name: _SHARED / name for name in self.shares}}
        return {
            f"{name}/{entry.name.removesuffix('.in')}": _contents(entry, core)
            for name, folder in folders.items()
            for entry in sorted(folder.iterdir())
            if entry.is_file()
        }


def _contents(file: Path, core: Core) -> bytes:
    if file.suffix != ".in":
        return file.read_bytes()
    return filled(file, {"core": core.name, "flags": core.flags}).encode()


def boards() -> dict[str, Path]:
    """The folder of each board that there is, by name."""
    own = {entry.name: entry for entry in sorted((FOLDER / _OWN).iterdir()) if entry.is_dir()}
    return own | {point.name: Path(point.load()) for point in entry_points(group=GROUP)}


def find_board(name: str) -> Board:
    """The board of that name.

    Raises:
        UsageError: there is none, or its ``board.toml`` is not right.
    """
    folders = boards()
    if name not in folders:
        raise UsageError(f"there is no board {name!r}; boards are: {', '.join(folders)}")
    file = folders[name] / "board.toml"
    try:
        fields = foreign.parsed(file.read_bytes(), tomllib.loads)
    except (OSError, UsageError) as error:
        raise UsageError(f"board {name!r}: {file}: {error}") from error
    return Board(name, folders[name], **dict(_checked(file, fields)))


def _checked(file: Path, fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    texts = ("description", "toolchain", "needs", "npu", "core")
    for key, value in fields.items():
        if key in texts and isinstance(value, str):
            yield key, value
        elif key in ("run", "shares") and isinstance(value, list) and all(isinstance(word, str) for word in value):
            yield key, tuple(value)
        else:
            raise UsageError(
                f"{file}: {key} = {value!r}: it takes {', '.join(texts)} (texts), run and shares (lists of texts)"
            )
    shareable = sorted(entry.name for entry in _SHARED.iterdir())
    if unknown := [name for name in fields.get("shares", ()) if name not in shareable]:
        raise UsageError(f"{file}: shares {unknown[0]!r}; what there is to share: {', '.join(shareable)}")
    if "description" not in fields:
        raise UsageError(f"{file}: description is missing")
