"""A ``.pte`` in ExecuTorch's Python runtime, in this process, with the delegates that it needs."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..compat.executorch import register_quantized_kernels, runtime_classes
from ..support.errors import UsageError
from ..support.runtime_package import import_runtime
from .host_delegates import register
from .pte import InputTensor, Pte


def load_program(
    pte: Pte, name: str, *, profile: bool = False, data: Sequence[Path] = (), in_child: bool = False
) -> Any:
    """The ``executorch.runtime.Program``.

    Args:
        name: what messages call it.
        profile: note events of its runs.
        data: the ``.ptd`` file that belongs to it, if one does.
        in_child: as for ``logged``.

    Raises:
        UsageError: there are several such files, which ExecuTorch's Python runtime does not take; or a delegate that
            the program needs is not registered, or ExecuTorch refuses the program.
    """
    if len(data) > 1:
        raise UsageError(
            f"{name} has {len(data)} .ptd files, and ExecuTorch's Python runtime takes one; arm_runner takes several"
        )
    backends = sorted({delegate.backend_id for delegate in pte.delegates})
    if backends:
        import_runtime(f"{name} is delegated to {' and '.join(backends)}, and running it")
    runtime_class, verification = runtime_classes()
    register_quantized_kernels()
    runtime = runtime_class.get()
    unknown = register(pte, set(backends) - set(runtime.backend_registry.registered_backend_names))
    missing = sorted(set(backends) - set(runtime.backend_registry.registered_backend_names) | unknown)
    if missing:
        raise UsageError(
            f"{name} is delegated to {' and '.join(missing)}, and nothing on this machine runs its parts: `arm-tosa "
            "targets` lists the targets that are installed and run here"
        )
    with logged(f"ExecuTorch cannot load {name}", in_child):
        return runtime.load_program(
            pte.data,
            verification=verification.InternalConsistency,
            enable_etdump=profile,
            data_path=next(iter(data), None),
        )


def load_method(program: Any, method: str, name: str, *, in_child: bool = False) -> Method:
    """A method of a program that ``load_program`` gave.

    Raises:
        UsageError: it has no such method, or a delegate refuses its payload.
    """
    if method not in program.method_names:
        raise UsageError(f"{name} has no method {method!r}")
    with logged(f"ExecuTorch cannot load {name}", in_child):
        return Method(program, program.load_method(method))


class Method:
    """A loaded method, and the program whose bytes it reads: ExecuTorch's own does not keep them."""

    def __init__(self, program: Any, method: Any) -> None:
        self._program, self._method = program, method

    def execute(self, inputs: Sequence[Any]) -> list[Any]:
        """Runs it once; the outputs."""
        return list(self._method.execute(inputs))

    @property
    def metadata(self) -> Any:
        """ExecuTorch's ``MethodMeta``."""
        return self._method.metadata


def arranged(tensor: Any, expected: InputTensor | None) -> Any:
    """The tensor with its elements in memory as the program takes them: ExecuTorch reads them without looking."""
    if expected is None or expected.order == tuple(range(tensor.dim())):
        return tensor
    back = sorted(range(tensor.dim()), key=expected.order.__getitem__)
    return tensor.permute(expected.order).contiguous().permute(back)


@contextlib.contextmanager
def logged(what: str, in_child: bool = False) -> Iterator[None]:
    """Turns a failure into an error with what ExecuTorch and the delegates logged to the process's standard error.

    Args:
        in_child: this process is there for the run, and its parent has the log: also if the process is killed.
    """
    if in_child:
        try:
            yield
        except RuntimeError as error:
            raise UsageError(f"{what}: {error}") from error
        return
    saved = os.dup(2)
    try:
        with tempfile.TemporaryFile() as log:
            os.dup2(log.fileno(), 2)
            try:
                yield
            except RuntimeError as error:
                log.seek(0)
                raise UsageError(with_log(f"{what}: {error}", log.read().decode(errors="replace"))) from error
            finally:
                os.dup2(saved, 2)
    finally:
        os.close(saved)


def with_log(problem: str, log: str) -> str:
    """A problem, and the last lines of a log."""
    return "\n".join([problem, *(f"    {line}" for line in log.strip().splitlines()[-24:])])
