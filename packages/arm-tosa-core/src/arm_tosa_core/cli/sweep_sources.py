"""Model and data as the command line names them, for workers to load."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import UsageError
from .calibration import samples
from .files import read
from .model import load_function, load_program

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..accuracy.task_metric import Metric
    from ..quantize.probe.calls import Sample


@dataclass(frozen=True)
class FileSources:
    """Files; see ``sweep.sources.Sources``.

    Args:
        model: as ``load_program`` takes it.
        calibrate, judge: ``.npz`` files, or None; ``{NAME}`` in a path stands for a parameter of the model.
        metric_name: ``file.py:function``, or None.
        shapes, values, trust: as of ``load_program``; results do not depend on ``trust``.
    """

    model: str
    calibrate: str | None = None
    judge: str | None = None
    metric_name: str | None = None
    shapes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    trust: bool = field(default=False, repr=False)

    def program(self, parameters: Mapping[str, Any]) -> ExportedProgram:
        """Loads or exports the model."""
        model = model_with(self.model, parameters)
        return load_program(model, trust=self.trust, shapes=self.shapes, values=self.values)

    def calibration(self, program: ExportedProgram, parameters: Mapping[str, Any]) -> list[Sample]:
        """The samples, or else the example inputs, which do for cycles and memory."""
        if self.calibrate is not None:
            return list(samples(data_file(self.calibrate, parameters), program))
        if program.example_inputs is None:
            raise UsageError("the model was saved without example inputs; give data with --calibration")
        return [program.example_inputs]

    def evaluation(self, program: ExportedProgram, parameters: Mapping[str, Any]) -> list[Sample]:
        """The samples, if there are any."""
        return [] if self.judge is None else list(samples(data_file(self.judge, parameters), program))

    def metric(self) -> Metric | None:
        """The function."""
        return None if self.metric_name is None else load_function(self.metric_name, "--metric")

    def digest(self) -> str:
        """Of the files, and of the Python files beside them, which they may import."""
        digest = hashlib.sha256(repr(self).encode())
        for file in self._files():
            digest.update(f"{file}\n".encode() + hashlib.sha256(read(file)).digest())
        return digest.hexdigest()

    def _files(self) -> list[Path]:
        named = [self.model, self.metric_name or ""]
        code = [Path(name.rpartition(":")[0]) for name in named if ".py:" in name]
        files = {Path(self.model)} if ".py:" not in self.model else set()
        files |= {file for path in code for file in (path, *path.parent.glob("*.py"))}
        for data in filter(None, (self.calibrate, self.judge)):
            files |= {Path(data)} if "{" not in data else set(map(Path, glob.glob(_pattern(data))))
        return sorted(files)

    def require(self, parameters: Mapping[str, Any]) -> None:
        """Finds out before long work whether the files are there.

        Raises:
            UsageError: one is not, or names a parameter that the model does not have.
        """
        for data in filter(None, (self.calibrate, self.judge)):
            if not (file := data_file(data, parameters)).is_file():
                raise UsageError(f"cannot read {file}: no such file")
        for name in filter(None, (self.model, self.metric_name)):
            path = Path(name.rpartition(":")[0] if ".py:" in name else name)
            if not path.is_file():
                raise UsageError(f"cannot read {path}: no such file")


def model_with(model: str, parameters: Mapping[str, Any]) -> str:
    """MODEL with parameters of its function."""
    words = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in parameters.items()]
    return ",".join([model, *words])


def data_file(name: str, parameters: Mapping[str, Any]) -> Path:
    """A file of data for a model with these parameters.

    Raises:
        UsageError: the name has braces that are none of them.
    """
    try:
        return Path(name.format(**parameters))
    except (KeyError, IndexError, ValueError) as error:
        known = ", ".join(parameters) or "there are none"
        raise UsageError(f"{name}: in braces stands a parameter of the model ({known}), not {error}") from None


def _pattern(name: str) -> str:
    return "*".join(map(glob.escape, re.split(r"{[^}]*}", name)))
