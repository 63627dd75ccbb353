"""``arm-firmware.json``: the files that ``arm-tosa deploy`` wrote, and the inputs and outputs of the firmware."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.plugin.firmware import MANIFEST
from arm_tosa_core.support import foreign
from arm_tosa_core.support.errors import UsageError

from .model import Port
from .reference import StoredReference, StoredStep

_DTYPES = ("dtype", "program_dtype")


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
    models: Sequence[DeployedModel]
    files: Mapping[str, str]
    unfinished: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def known(self) -> dict[str, Sequence[str]]:
        """Every SHA-256 that a file may have from ``arm-tosa deploy``, the oldest first, by path."""
        return {path: [digest] for path, digest in self.files.items()} | dict(self.unfinished)

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
        fields = foreign.parsed(data)
        manifest = Manifest(
            foreign.words(fields["board"], "the board"),
            foreign.words(fields["target"], "the target"),
            [_model(folder, each) for each in fields["models"]],
            {_path(folder, path): str(digest) for path, digest in fields["files"].items()},
            {_path(folder, path): list(map(str, each)) for path, each in fields.get("unfinished", {}).items() if each},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
        raise UsageError(f"{file} is damaged: {kind}{error}. Deploy into another folder") from error
    return manifest


def _path(folder: Path, name: object) -> str:
    return foreign.inside(folder, name).relative_to(folder).as_posix()


def _model(folder: Path, fields: Mapping[str, Any]) -> DeployedModel:
    inputs, outputs = (tuple(map(_port, fields[key])) for key in ("inputs", "outputs"))
    name, reference = foreign.c_identifier(fields["name"], "a model"), fields.get("reference")
    return DeployedModel(name, inputs, outputs, None if reference is None else _reference(folder, reference))


def _reference(folder: Path, fields: Mapping[str, Any]) -> StoredReference:
    steps = [
        StoredStep(_path(folder, step["file"]), *map(_numbers, (step["reads"], step["makes"])))
        for step in fields["steps"]
    ]
    inputs, outputs = list(map(_numbers, fields["taken"])), _numbers(fields["given"])
    return StoredReference(steps, inputs, outputs, [_path(folder, example) for example in fields["examples"]])


def _numbers(values: Any) -> list[int]:
    return [int(number) for number in values]


def _port(fields: Mapping[str, Any]) -> Port:
    least, most = map(int, fields["bounds"])
    scale = fields["scale"]
    dtype, program_dtype = (np.dtype(foreign.c_identifier(fields[key], "a type")).name for key in _DTYPES)
    return Port(
        foreign.c_identifier(fields["name"], "an input or output"),
        foreign.sizes(fields["shape"], "an input or output"),
        dtype,
        program_dtype,
        None if scale is None else float(scale),
        int(fields["zero_point"]),
        (least, most),
    )
