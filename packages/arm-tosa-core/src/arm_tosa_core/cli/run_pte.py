"""Running a ``.pte`` with ExecuTorch's Python runtime."""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..compat.executorch import scalar_type_code
from ..exir.pte import InputTensor
from ..exir.pte_runtime import load_method, load_program, logged
from ..support.errors import UsageError
from ..support.runtime_package import Arrays
from .files import read_program
from .profile import Event, read_events


def run_pte(
    file: Path, arrays: Arrays, *, profile: bool = False, data: Sequence[Path] = ()
) -> tuple[Arrays, list[Event]]:
    """Runs method ``forward`` of a program once.

    Args:
        data: the ``.ptd`` files that belong to it.

    Returns:
        The outputs, and the events of loading and running it if ``profile``.

    Raises:
        UsageError: the file is no program, a delegate that it needs is not registered, an input is missing or of
            another shape or data type than the program's, or execution fails; with what ExecuTorch logged.
    """
    pte = read_program(file, data)
    program = load_program(pte, str(file), profile=profile, data=data)
    method = load_method(program, "forward", str(file))
    import torch

    try:
        tensors = [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]
    except TypeError as error:
        raise UsageError(f"an input's elements are of a type that PyTorch does not have: {error}") from error
    taken = pte.inputs["forward"]
    _check_inputs(file, method.metadata, tensors, taken)
    tensors = [_arranged(tensor, expected) for tensor, expected in zip(tensors, taken, strict=True)]
    with logged(f"running {file} failed"):
        results = method.execute(tensors)
    outputs = [result.numpy() if isinstance(result, torch.Tensor) else np.asarray(result) for result in results]
    return outputs, _events(program) if profile else []


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
        raise UsageError(f"{file} takes {count} --input, one for each input; {len(tensors)} given")
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

    every = (value for value in vars(torch).values() if isinstance(value, torch.dtype))
    return next(dtype for dtype in every if _code(dtype) == code)


def _code(dtype: Any) -> int | None:
    try:
        return scalar_type_code(dtype)
    except KeyError:  # a type that ExecuTorch does not have
        return None
