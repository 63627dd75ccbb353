"""A firmware's outputs beside those of the TOSA reference model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.plugin.firmware import Verified
from arm_tosa_core.support.errors import UsageError

from .folder import whole_firmware
from .manifest import DeployedModel
from .ports import as_integers
from .reference import StoredReference, example_of, expected
from .run import run_models

Array = np.ndarray[Any, Any]


def verify_firmware(folder: Path, arrays: Sequence[Array]) -> list[Verified]:
    """Builds a firmware if needed, runs its models once and compares each output.

    Args:
        arrays: inputs of its one model; none: of each model, the example that it was deployed with.

    Raises:
        UsageError: no whole firmware there, it lacks graphs or examples, or the inputs are not right.
        ToolError: building or running failed, or the reference model refuses the inputs.
    """
    manifest = whole_firmware(folder)
    if arrays and len(manifest.models) != 1:
        raise UsageError(f"{folder} holds several models: verify it without --input, on the examples of its models")
    references = [_reference(folder, model) for model in manifest.models]
    inputs = {
        model.name: as_integers(str(folder), model.inputs, arrays) or example_of(folder, reference, model.inputs)
        for model, reference in zip(manifest.models, references, strict=True)
    }
    if lacking := [model.name for model in manifest.models if len(inputs[model.name]) != len(model.inputs)]:
        raise UsageError(f"{folder}: {', '.join(lacking)} came without example inputs: give each input an --input")
    results = run_models(folder, manifest, inputs)
    return [
        Verified(model.name, port.name, int(np.count_nonzero(actual != exact)), actual.size)
        for model, reference in zip(manifest.models, references, strict=True)
        for port, actual, exact in zip(
            model.outputs,
            results[model.name],
            expected(folder, reference, inputs[model.name], model.outputs),
            strict=True,
        )
    ]


def _reference(folder: Path, model: DeployedModel) -> StoredReference:
    if model.reference is None:
        raise UsageError(
            f"{folder}: {model.name} was deployed from a .pte, which does not hold its TOSA graphs: deploy the model "
            "that the .pte was made of, or compare the outputs of `arm-tosa run` on this folder and on the .pte"
        )
    return model.reference
