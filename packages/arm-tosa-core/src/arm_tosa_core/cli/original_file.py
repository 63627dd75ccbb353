"""What the runtime of an ``.onnx`` or ``.tflite`` file gives, beside the program that was read from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from ..frontends.file_runtime import RUNTIMES, run_file
from ..support.errors import ToolError, UsageError
from .files import read_array
from .report import Result

if TYPE_CHECKING:
    from torch.export import ExportedProgram

#: Noise of a program that is read right, dB: what rounds otherwise in 8 bits, or only sums in another order.
_QUANTIZED_DB, _FLOAT_DB = 15.0, 60.0


@dataclass(frozen=True)
class OutputNoise:
    """An output of the program beside the file's.

    Args:
        output: its place.
        largest: the largest distance of two numbers; of integers in steps.
        sqnr_db: the file's signal over the difference; None: they are equal.
        agrees: whether the difference is one of rounding.
    """

    output: int
    largest: float
    sqnr_db: float | None
    agrees: bool

    def __str__(self) -> str:
        if self.sqnr_db is None:
            return f"output {self.output} is equal"
        return f"output {self.output} differs by at most {self.largest:.3g}, SQNR {self.sqnr_db:.1f} dB"


def with_original(
    result: Result, file: Path, program: ExportedProgram, inputs: Sequence[Path], fixed: Mapping[str, Any]
) -> Result:
    """The result, which also says how far the program is from the file; its status is 1 if that is more than rounding.

    Args:
        inputs: ``.npy`` files; none: the program's example inputs.
        fixed: tensors by name, the inputs of the file that are constants of the program.

    Raises:
        ToolError: the file's runtime dies.
    """
    package = RUNTIMES[file.suffix].package
    arrays = [read_array(path) for path in inputs] or [x.numpy() for x in (program.example_inputs or ((),))[0]]
    try:
        outputs = run_file(file, arrays, {name: value.numpy() for name, value in fixed.items()})
    except UsageError as error:
        reason = str(error)

        def show_reason(console: Console) -> None:
            result.show(console)
            console.print(f"the file itself was not run: {reason}", markup=False)

        return replace(result, data={**result.data, "original": None}, show=show_reason)
    noises = _noises(outputs, program, arrays)

    def show(console: Console) -> None:
        result.show(console)
        for noise in noises:
            console.print(f"{file.name} in {package}, and as it was read into PyTorch: {noise}", markup=False)

    agrees = all(noise.agrees for noise in noises)
    data = {**result.data, "original": {"runtime": package, "agrees": agrees, "outputs": list(map(asdict, noises))}}
    return replace(result, data=data, show=show, status=result.status or int(not agrees))


def _noises(outputs: Sequence[Any], program: ExportedProgram, arrays: Sequence[Any]) -> list[OutputNoise]:
    import torch  # late: other commands need none

    from ..compat.torch import tree_leaves
    from ..lowering.exported_program import is_quantized

    least = _QUANTIZED_DB if is_quantized(program) else _FLOAT_DB
    with torch.no_grad():
        read = tree_leaves(program.module()(*(torch.from_numpy(array) for array in arrays)))
    if len(read) != len(outputs):
        raise ToolError(
            "the file's runtime", f"gives {len(outputs)} outputs, and the program that was read {len(read)}"
        )
    return [_noise(place, x, y.numpy(), least) for place, (x, y) in enumerate(zip(outputs, read, strict=True))]


def _noise(place: int, wanted: Any, result: Any, least_db: float) -> OutputNoise:
    if wanted.shape != result.shape:
        return OutputNoise(place, math.inf, 0.0, False)
    x, y = wanted.astype(np.float64), result.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    if same.all():
        return OutputNoise(place, 0.0, None, True)
    if not np.isfinite(x[~same]).all() or not np.isfinite(y[~same]).all():
        return OutputNoise(place, math.inf, 0.0, False)
    error, power = (x - y)[~same], float((np.where(np.isfinite(x), x, 0) ** 2).sum())
    decibels = 10 * math.log10(max(power, 1e-30) / float((error**2).sum()))
    return OutputNoise(place, float(np.abs(error).max()), decibels, decibels >= least_db)
