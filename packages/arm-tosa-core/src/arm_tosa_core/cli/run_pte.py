"""Running a ``.pte`` with ExecuTorch's Python runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError
from ..pte import delegates
from .files import read
from .run import Arrays, import_runtime


def run_pte(file: Path, arrays: Arrays) -> Arrays:
    """Runs method ``forward`` of a program.

    Raises:
        UsageError: the file is no program, a delegate that it needs is not registered, an input is missing or of
            another shape or data type than the program's, or execution fails.
    """
    pte = read(file)
    backends = sorted({delegate.backend_id for delegate in delegates(pte)})
    if backends:
        import_runtime(f"{file} is delegated to {' and '.join(backends)}, and running it")
    import torch
    from executorch.runtime import Runtime, Verification

    _register_quantized_kernels()
    runtime = Runtime.get()
    missing = sorted(set(backends) - set(runtime.backend_registry.registered_backend_names))
    if missing:
        raise UsageError(f"{file} is delegated to {' and '.join(missing)}, which nothing on this machine provides")
    try:
        method = runtime.load_program(pte, verification=Verification.InternalConsistency).load_method("forward")
    except RuntimeError as error:
        raise UsageError(f"ExecuTorch cannot load {file}: {error}") from error
    if method is None:
        raise UsageError(f"{file} has no method 'forward'")
    tensors = [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]
    _check_inputs(file, method.metadata, tensors)
    try:
        results = method.execute(tensors)
    except RuntimeError as error:
        raise UsageError(f"running {file} failed: {error}") from error
    return [result.numpy() if isinstance(result, torch.Tensor) else np.asarray(result) for result in results]


def _register_quantized_kernels() -> None:
    """Quantize and dequantize at the graph's edges are kernels of a library that registers itself when imported."""
    import executorch.kernels.quantized  # noqa: F401


def _check_inputs(file: Path, metadata: Any, tensors: list[Any]) -> None:
    count = metadata.num_inputs()
    if count != len(tensors):
        raise UsageError(f"{file} has {count} inputs and {len(tensors)} --input were given")
    for index, tensor in enumerate(tensors):
        expected = metadata.input_tensor_meta(index)
        if tuple(tensor.shape) != tuple(expected.sizes()):
            raise UsageError(f"input {index} has shape {list(tensor.shape)}; {file} takes {list(expected.sizes())}")
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
