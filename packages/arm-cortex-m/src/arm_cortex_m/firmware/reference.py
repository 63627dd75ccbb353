"""The reference of a firmware's models: TOSA graphs in its folder, for the TOSA reference model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.loader import load

from .model import Model, Port

Array = np.ndarray[Any, Any]
_FOLDER = "reference"


@dataclass(frozen=True)
class StoredStep:
    """A TOSA graph: its file in the firmware's folder, and the values that it reads and makes, by number."""

    file: str
    reads: tuple[int, ...]
    makes: tuple[int, ...]


@dataclass(frozen=True)
class StoredReference:
    """As :class:`~arm_cortex_m.firmware.model.Reference`, the graphs in files.

    Args:
        examples: the files of an example's inputs; none if there is no example.
    """

    steps: list[StoredStep]
    taken: tuple[tuple[int, ...], ...]
    given: tuple[int, ...]
    examples: list[str]


def stored(model: Model, example: Sequence[Array]) -> tuple[StoredReference | None, dict[str, bytes]]:
    """A model's graphs: their entry in the manifest, and their files.

    Args:
        example: integers, one array for each input; or none.
    """
    if model.reference is None:
        return None, {}
    start = f"{_FOLDER}/{model.name}"
    files = {f"{start}_{number}.tosa": step.tosa for number, step in enumerate(model.reference.steps)}
    steps = [StoredStep(file, step.reads, step.makes) for file, step in zip(files, model.reference.steps, strict=True)]
    inputs = {
        f"{start}_{port.name}.bin": array.tobytes()
        for port, array in zip(model.inputs if example else (), example, strict=True)
    }
    return StoredReference(steps, model.reference.taken, model.reference.given, list(inputs)), files | inputs


def example_of(folder: Path, reference: StoredReference, ports: Sequence[Port]) -> list[Array]:
    """The inputs that were deployed with a model, in a firmware's folder; none if there are none."""
    return [
        np.frombuffer((folder / file).read_bytes(), port.dtype).reshape(port.shape)
        for file, port in zip(reference.examples, ports if reference.examples else (), strict=True)
    ]


def expected(folder: Path, reference: StoredReference, inputs: Sequence[Array], outputs: Sequence[Port]) -> list[Array]:
    """A model's outputs as the TOSA reference model computes them from its inputs, both as integers.

    Raises:
        ToolError: the reference model refuses a graph or these numbers.
    """
    values: dict[int, Array] = {}
    for numbers, array in zip(reference.taken, inputs, strict=True):
        values.update(dict.fromkeys(numbers, array))
    for step in reference.steps:
        tosa = (folder / step.file).read_bytes()
        # In the order of memory, which for a transposed tensor is not that of PyTorch.
        arrays = [
            values[number].reshape(tensor.shape) for number, tensor in zip(step.reads, load(tosa).inputs, strict=True)
        ]
        values.update(zip(step.makes, reference_model.run(tosa, arrays, isolated=True), strict=True))
    return [values[number].reshape(port.shape) for number, port in zip(reference.given, outputs, strict=True)]
