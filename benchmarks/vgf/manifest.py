"""What is in a folder that ``--prepare`` wrote: ``manifest.json``. Needs nothing but Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

NAME = "manifest.json"


@dataclass(frozen=True)
class Program:
    """A network in the form that one runner takes.

    Args:
        kind: of the file: ``vgf``, ``ncnn`` (the name without its endings), ``iree``, and others of ``sides.py``.
        scheme: the number type in which it computes.
        file: name in the folder.
        inputs: names of ``.npy`` files in the folder.
        error: why there is no file.
    """

    kind: str
    network: str
    scheme: str
    file: str
    inputs: tuple[str, ...]
    error: str = ""


@dataclass(frozen=True)
class Manifest:
    """The programs of a folder, and of which commit, when and with what they were made."""

    commit: str
    date: str
    versions: Mapping[str, str]
    programs: Sequence[Program]

    def write(self, folder: Path) -> None:
        """Writes it into the folder."""
        (folder / NAME).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a folder.

        Raises:
            ValueError: there is none, a field is missing or unknown, or a file that it names is not there.
        """
        path = folder / NAME
        if not path.exists():
            raise ValueError(f"{path} is missing: python -m benchmarks.vgf --prepare {folder}")
        row = _known(cls, json.loads(path.read_text(encoding="utf-8")), path)
        programs = [_known(Program, program, path) for program in row["programs"]]
        found = cls(**{**row, "programs": [Program(**{**p, "inputs": tuple(p["inputs"])}) for p in programs]})
        for name in found.files():
            if not any(folder.glob(f"{name}*")):
                raise ValueError(f"{folder / name} is missing, which {NAME} names")
        return found

    def files(self) -> Iterator[str]:
        """Names of the files; those of ncnn without their endings."""
        for program in self.programs:
            yield from (program.file, *program.inputs) if program.file else ()


def _known(kind: type, row: Any, path: Path) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    if not isinstance(row, dict) or set(row) != names:
        raise ValueError(
            f"{path}: a {kind.__name__.lower()} has the fields {', '.join(sorted(names))}, not {row!r:.200}"
        )
    return row
