"""``arm-firmware.json``: what ``arm-tosa deploy`` wrote into a folder, and what the firmware takes and gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arm_tosa_core.plugin.firmware import MANIFEST
from arm_tosa_core.support.errors import UsageError

from .model import Port
from .reference import StoredReference, StoredStep


@dataclass(frozen=True)
class DeployedModel:
    """A model of a firmware; ``reference`` is None if it was deployed without its TOSA graphs."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    reference: StoredReference | None = None


@dataclass(frozen=True)
class Manifest:
    """Args:
    board: its name.
    target: what its models were compiled for.
    models: in the order in which the firmware runs them.
    files: SHA-256 of each file, by path.
    unfinished: while the folder is being written, every SHA-256 that each file may have; empty when all is written.
    """

    board: str
    target: str
    models: Sequence[DeployedModel]
    files: Mapping[str, str]
    unfinished: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def known(self) -> dict[str, Sequence[str]]:
        """Every SHA-256 that a file may have by what ``arm-tosa deploy`` wrote there, the oldest first, by path."""
        return {path: [digest] for path, digest in self.files.items()} | dict(self.unfinished)

    def text(self) -> str:
        """As the file has it."""
        return json.dumps(asdict(self), indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """What a folder's manifest says.

    Raises:
        UsageError: the folder holds no firmware, or its manifest is damaged.
    """
    file = folder / MANIFEST
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(
            f"{folder} holds no firmware ({MANIFEST}: {error.strerror}); `arm-tosa deploy` makes one"
        ) from error
    except ValueError as error:
        raise UsageError(f"{file} is damaged: {error}. Deploy into another folder") from error
    try:
        return Manifest(
            str(found["board"]),
            str(found["target"]),
            [_model(each) for each in found["models"]],
            dict(found["files"]),
            {path: list(digests) for path, digests in found.get("unfinished", {}).items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{file} is damaged: {type(error).__name__}: {error}. Deploy into another folder") from error


def _model(found: Mapping[str, Any]) -> DeployedModel:
    inputs, outputs = (tuple(map(_port, found[key])) for key in ("inputs", "outputs"))
    return DeployedModel(found["name"], inputs, outputs, _reference(found.get("reference")))


def _reference(found: Mapping[str, Any] | None) -> StoredReference | None:
    if found is None:
        return None
    return StoredReference(**{**found, "steps": [StoredStep(**step) for step in found["steps"]]})


def _port(found: Mapping[str, Any]) -> Port:
    least, most = found["bounds"]
    return Port(**{**found, "shape": tuple(found["shape"]), "bounds": (int(least), int(most))})
