"""A model as a lowered program, for commands that write one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..compat.light_imports import import_exporter
from ..exir.compile_spec import ArmCompileSpec
from ..flow.kept import file_fingerprint, kept
from ..flow.lowered_program import LoweredProgram
from ..support.errors import MissingKernelWarning, NothingDelegatedWarning, UsageError
from ..support.library_messages import without_import_messages
from .files import read
from .model import load_program, require_file
from .progress import progress
from .quantize import hint

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..flow import ExecuTorchOptions

#: Files that are all there is of a model: an .onnx may have its weights in other files, a .pt2 may run code.
_WHOLE_FILES = {".tflite", ".tosa"}


def is_whole_file(model: str) -> bool:
    """Whether MODEL is a file whose bytes say all of the model, which ``lowered_file`` takes."""
    return Path(model).suffix in _WHOLE_FILES


def lowered_file(
    model: str,
    spec: ArmCompileSpec,
    shapes: Sequence[str] | None,
    values: Sequence[str] | None,
    memory_format: str,
    integer_io: bool,
    cache: bool,
    allow_missing_kernels: bool,
) -> LoweredProgram:
    """As ``lowered_program`` of a file as it is; from the cache without PyTorch, if the same was asked for before."""
    require_file(path := Path(model))

    def make() -> LoweredProgram:
        with without_import_messages():
            import_exporter()
        program = load_program(model, shapes=shapes, values=values)
        with progress() as shown:
            return lowered_program(
                program,
                spec,
                cache=cache and key is None,
                memory_format=memory_format,
                integer_io=integer_io,
                allow_missing_kernels=True,
                progress=lambda stage, done: shown(stage, round(100 * done), 100),
            )

    def key_now() -> str | None:
        return file_fingerprint(path, read(path), spec, shapes, values, memory_format, integer_io)

    key = key_now() if cache and path.is_file() else None  # a pipe can be read once
    return _runnable(make() if key is None else kept(key, make, key_now), allow_missing_kernels)


def lowered_program(
    program: ExportedProgram,
    spec: ArmCompileSpec,
    *,
    quantization: str | None = None,
    cache: bool = True,
    memory_format: str = "contiguous",
    integer_io: bool = False,
    allow_missing_kernels: bool = False,
    progress: Callable[[str, float], None] = lambda _stage, _done: None,
    remainder: Sequence[ArmCompileSpec] = (),
    executorch: ExecuTorchOptions | None = None,
) -> LoweredProgram:
    """The program, of which at least one operator is delegated; arguments are those of ``lower``.

    Args:
        quantization: that the program went through, if any.
        memory_format: a key of ``MEMORY_FORMATS``.
        allow_missing_kernels: also where ExecuTorch has no kernel for an operator that stays on the CPU.

    Raises:
        UsageError: nothing can be delegated, or ExecuTorch has no kernel for what is not.
    """
    from ..aten.memory_format import MEMORY_FORMATS  # late: it loads PyTorch
    from ..flow.lowered import lower

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDelegatedWarning)  # both are errors here
        warnings.simplefilter("ignore", MissingKernelWarning)
        lowered = lower(
            program,
            spec,
            cache=cache,
            memory_format=MEMORY_FORMATS[memory_format],
            integer_io=integer_io,
            progress=progress,
            remainder=remainder,
            executorch=executorch,
        )
    if not lowered.report.delegated:
        advice = hint(program, spec, quantization)
        raise UsageError(f"{lowered.report.nothing_delegated()}. Nothing was written. {advice}".rstrip())
    return _runnable(lowered, allow_missing_kernels)


def _runnable(lowered: LoweredProgram, allow_missing_kernels: bool) -> LoweredProgram:
    """The program, unless it has operators on the CPU that ExecuTorch has no kernel for.

    Raises:
        UsageError: it has, and that is not allowed.
    """
    if (lacking := lowered.report.without_kernels()) and not allow_missing_kernels:
        raise UsageError(
            f"{lacking}: compile with `arm-tosa compile --allow-missing-kernels` for it. Nothing was written"
        )
    return lowered
