"""Running a ``.pte`` with ExecuTorch's Python runtime."""

from __future__ import annotations

import contextlib
import operator
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..compat.executorch import register_quantized_kernels
from ..exir.pte import InputTensor
from ..support.errors import UsageError
from .files import read_program
from .profile import Event, read_events
from .runtime import Arrays, import_runtime


def run_pte(file: Path, arrays: Arrays, *, profile: bool = False) -> tuple[Arrays, list[Event]]:
    """Runs method ``forward`` of a program once.

    Returns:
        The outputs, and the events of loading and running it if ``profile``.

    Raises:
        UsageError: the file is no program, a delegate that it needs is not registered, an input is missing or of
            another shape or data type than the program's, or execution fails; with what ExecuTorch logged.
    """
    pte = read_program(file)
    backends = sorted({delegate.backend_id for delegate in pte.delegates})
    if backends:
        import_runtime(f"{file} is delegated to {' and '.join(backends)}, and running it")
    import torch
    from executorch.runtime import Runtime, Verification

    register_quantized_kernels()
    runtime = Runtime.get()
    missing = sorted(set(backends) - set(runtime.backend_registry.registered_backend_names))
    if missing:
        raise UsageError(f"{file} is delegated to {' and '.join(missing)}, which nothing on this machine provides")
    with _logged(f"ExecuTorch cannot load {file}"):
        program = runtime.load_program(pte.data, verification=Verification.InternalConsistency, enable_etdump=profile)
        method = program.load_method("forward")
    if method is None:
        raise UsageError(f"{file} has no method 'forward'")
    try:
        tensors = [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]
    except TypeError as error:
        raise UsageError(f"an input's elements are of a type that PyTorch does not have: {error}") from error
    taken = pte.inputs["forward"]
    _check_inputs(file, method.metadata, tensors, taken)
    tensors = [_arranged(tensor, expected) for tensor, expected in zip(tensors, taken, strict=True)]
    with _logged(f"running {file} failed"):
        results = method.execute(tensors)
    outputs = [result.numpy() if isinstance(result, torch.Tensor) else np.asarray(result) for result in results]
    return outputs, _events(program) if profile else []


@contextlib.contextmanager
def _logged(what: str) -> Iterator[None]:
    """Turns a failure into an error with what ExecuTorch and the delegates logged to the process's standard error."""
    saved = os.dup(2)
    try:
        with tempfile.TemporaryFile() as log:
            os.dup2(log.fileno(), 2)
            try:
                yield
            except RuntimeError as error:
                log.seek(0)
                lines = log.read().decode(errors="replace").strip().splitlines()[-24:]
                raise UsageError("\n".join([f"{what}: {error}", *(f"    {line}" for line in lines)])) from error
            finally:
                os.dup2(saved, 2)
    finally:
        os.close(saved)


def _events(program: Any) -> list[Event]:
    with tempfile.TemporaryDirectory(prefix="arm_tosa_") as folder:
        dump = Path(folder, "run.etdp")
        program.write_etdump_result_to_file(str(dump), str(Path(folder, "debug.bin")))
        return read_events(dump.read_bytes())


def _arranged(tensor: Any, expected: InputTensor | None) -> Any:
    """The tensor with its elements in memory as the program takes them: ExecuTorch reads them without looking."""
    if expected is None or expected.order == tuple(range(tensor.dim())):
        return tensor
    back = sorted(range(tensor.dim()), key=expected.order.__getitem__)
    return tensor.permute(expected.order).contiguous().permute(back)


def _check_inputs(file: Path, metadata: Any, tensors: list[Any], taken: list[InputTensor | None]) -> None:
    count = metadata.num_inputs()
    if count != len(tensors):
        raise UsageError(f"{file} has {count} inputs and {len(tensors)} --input were given")
    for index, tensor in enumerate(tensors):
        expected = metadata.input_tensor_meta(index)
        shape, largest = tuple(tensor.shape), tuple(expected.sizes())
        bounded = getattr(taken[index], "bounded", False)
        smaller = bounded and len(shape) == len(largest) and all(map(operator.le, shape, largest))
        if shape != largest and not smaller:
            bound = "at most " if bounded else ""
            raise UsageError(f"input {index} has shape {list(shape)}; {file} takes {bound}{list(largest)}")
        dtype = _dtype(expected.dtype())
        if tensor.dtype != dtype:
            raise UsageError(f"input {index} is {tensor.dtype}; {file} takes {dtype}")


def _dtype(code: int) -> Any:
    """ExecuTorch's ScalarType number as a torch data type."""
    import torch
    from executorch.exir.tensor import scalar_type_enum

    every = (value for value in vars(torch).values() if isinstance(value, torch.dtype))
    return next(dtype for dtype in every if _code(scalar_type_enum, dtype) == code)


def _code(scalar_type_enum: Any, dtype: Any) -> int | None:
    try:
        return int(scalar_type_enum(dtype))
    except KeyError:  # a type that ExecuTorch does not have
        return None
