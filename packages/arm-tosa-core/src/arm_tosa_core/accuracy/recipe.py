"""A recipe: all that ``arm-tosa quantize --keep`` found, as a TOML file that repeats it without the search.

target = "ethos-u55-128"
scheme = "int8"
calibration = "6e3c..."

[modules]
"blocks.0.mlp" = "int16x8"

[nodes]
"add_3" = "int16x8"
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ..compat.torch import tree_leaves
from ..quantize.probe.calls import Sample
from ..support import foreign
from ..support.errors import UsageError
from ..support.printable import printable
from .scheme import Scheme


@dataclass(frozen=True)
class Recipe:
    """How a model is quantized.

    Args:
        scheme: of the whole model.
        modules, nodes: exceptions to the scheme, as ``Scheme`` has them.
        target: the target or the chip that it was made for; "" if that is not said.
        calibration: digest of the samples that it was made with; "" if that is not said.
    """

    scheme: str = "int8"
    modules: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    target: str = ""
    calibration: str = ""

    def __post_init__(self) -> None:
        self.as_scheme()

    @staticmethod
    def of(scheme: Scheme) -> Recipe:
        """The recipe of a scheme."""
        return Recipe(scheme.scheme, dict(scheme.modules), dict(scheme.nodes))

    def as_scheme(self) -> Scheme:
        """The bits of it."""
        return Scheme(self.scheme, self.modules, self.nodes)

    def to_toml(self, comment: str = "") -> str:
        """The file's text.

        Args:
            comment: what stands above it.
        """
        lines = [f"# {printable(line)}" for line in comment.splitlines()]
        for name in ("target", "scheme", "calibration"):
            if value := getattr(self, name):
                lines.append(f"{name} = {_quoted(value)}")
        for name, table in (("modules", self.modules), ("nodes", self.nodes)):
            if table:
                lines += ["", f"[{name}]", *(f"{_quoted(key)} = {_quoted(value)}" for key, value in table.items())]
        return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def read_recipe(path: Path) -> Recipe:
    """The recipe in a file.

    Raises:
        UsageError: it cannot be read or is no recipe; says what is wrong.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    try:
        return foreign.record(Recipe, foreign.parsed(data, tomllib.loads))
    except UsageError as error:
        raise UsageError(f"{path} is no recipe of `arm-tosa quantize`: {error}") from error


def digest_of(samples: Sequence[Sample]) -> str:
    """A name for the contents of samples."""
    return hashlib.sha256("".join(map(digest_of_sample, samples)).encode()).hexdigest()


def digest_of_sample(sample: Sample) -> str:
    """A name for what a model is called with."""
    args, kwargs = sample
    digest = hashlib.sha256()
    for leaf in tree_leaves((args, _sorted(kwargs))):
        if isinstance(leaf, torch.Tensor):
            leaf = leaf.detach().cpu().contiguous()
            digest.update(f"{leaf.dtype} {tuple(leaf.shape)}".encode())
            digest.update(leaf.reshape(-1).view(torch.uint8).numpy().tobytes() if leaf.numel() else b"")
        else:
            digest.update(repr(leaf).encode())
    return digest.hexdigest()


def _sorted(arguments: Mapping[str, object]) -> list[tuple[str, object]]:
    return sorted(arguments.items())
