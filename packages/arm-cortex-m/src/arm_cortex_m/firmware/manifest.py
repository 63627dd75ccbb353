"""``arm-firmware.json``: the files that ``arm-tosa deploy`` wrote, and the inputs and outputs of the firmware."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from arm_tosa_core.plugin.firmware import MANIFEST
from arm_tosa_core.support import foreign
from arm_tosa_core.support.errors import UsageError

from .model import Port
from .reference import StoredReference


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
    target: that its models were compiled for.
    models: in the order in which the firmware runs them.
    files: SHA-256 of each file, by path.
    unfinished: while the folder is being written, every SHA-256 that each file may have; empty when all is written.
    """

    board: str
    target: str
    models: list[DeployedModel]
    files: dict[str, str]
    unfinished: dict[str, list[str]] = field(default_factory=dict)

    def known(self) -> dict[str, list[str]]:
        """Every SHA-256 that a file may have from ``arm-tosa deploy``, the oldest first, by path."""
        return {path: [digest] for path, digest in self.files.items()} | self.unfinished

    def text(self) -> str:
        """As the file has it."""
        return json.dumps(asdict(self), indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder.

    Raises:
        UsageError: the folder holds no firmware, or its manifest is damaged.
    """
    file = folder / MANIFEST
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{folder} holds no firmware ({MANIFEST}: {error.strerror}); `arm-tosa deploy` makes one"
        ) from error
    try:
        manifest = foreign.record(Manifest, foreign.parsed(data))
        _require_safe(folder, manifest)
    except (TypeError, ValueError) as error:
        kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
        raise UsageError(f"{file} is damaged: {kind}{error}. Deploy into another folder") from error
    return manifest


def _require_safe(folder: Path, manifest: Manifest) -> None:
    """Refuses names that might be code, or lead out of the folder, and sizes and types that are none."""
    foreign.words(manifest.board, "the board")
    foreign.words(manifest.target, "the target")
    files = [*manifest.files, *manifest.unfinished]
    for model in manifest.models:
        foreign.c_identifier(model.name, "a model")
        for port in (*model.inputs, *model.outputs):
            foreign.c_identifier(port.name, "an input or output")
            foreign.sizes(port.shape, "an input or output")
            for dtype in (port.dtype, port.program_dtype):
                np.dtype(foreign.c_identifier(dtype, "a type"))
            if len(port.bounds) != 2:
                raise UsageError(f"{port.name} has the bounds {list(port.bounds)}")
        if model.reference is not None:
            files += [*(step.file for step in model.reference.steps), *model.reference.examples]
    for file in files:
        foreign.inside(folder, file)
