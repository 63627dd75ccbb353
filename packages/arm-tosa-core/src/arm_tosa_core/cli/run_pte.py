"""Running a ``.pte`` with ExecuTorch's Python runtime."""

from __future__ import annotations

import json
import operator
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..compat.executorch import scalar_type_code
from ..exir.pte import InputTensor, Pte
from ..exir.pte_runtime import arranged, load_method, load_program, logged, with_log
from ..exir.pte_steps import method
from ..support.atomic_files import write_atomic
from ..support.errors import ToolError, UsageError
from ..support.external_tools import run_tool
from ..support.runtime_package import Arrays
from .files import read, read_array, read_program, write_array
from .profile import Event, read_events
from .report import say

#: Files of the folder that both processes share.
_REQUEST, _PROBLEM, _DUMP = "request.json", "problem.txt", "run.etdp"


def run_pte(
    file: Path, arrays: Arrays, *, profile: bool = False, data: Sequence[Path] = ()
) -> tuple[Arrays, list[Event]]:
    """Runs method ``forward`` of a program once, in a process of its own: ExecuTorch's kernels abort on some programs.

    Args:
        data: the ``.ptd`` files that belong to it.

    Returns:
        The outputs, and the events of loading and running it if ``profile``.

    Raises:
        UsageError: the file is no program, a delegate that it needs is not registered, an input is missing or of
            another shape or data type than the program's, or execution fails; with what ExecuTorch logged.
        ToolError: the process was killed; with what ExecuTorch logged.
    """
    with tempfile.TemporaryDirectory(prefix="arm_tosa_") as name:
        folder = Path(name)
        for number, array in enumerate(arrays):
            write_array(folder / f"{number}.in.npy", array)
        request = {"file": str(file), "data": [str(path) for path in data], "profile": profile}
        (folder / _REQUEST).write_text(json.dumps(request))
        # -P: not the modules of the folder that the command is called in.
        command = [sys.executable, "-P", "-m", "arm_tosa_core.cli.run_pte", name]
        try:
            run_tool("ExecuTorch's runtime", command, timeout=None, fix=f"it ran {file}, which may be damaged")
        except ToolError as error:
            if not (problem := folder / _PROBLEM).exists():
                raise
            raise UsageError(with_log(problem.read_text("utf-8"), error.output)) from None
        _tell_of_nan(file, arrays)
        outputs = sorted(folder.glob("*.out.npy"), key=lambda path: int(path.name.partition(".")[0]))
        return [read_array(path) for path in outputs], read_events((folder / _DUMP).read_bytes()) if profile else []


def _tell_of_nan(file: Path, arrays: Arrays) -> None:
    """Notes NaN in an input that the program quantizes: it becomes some integer, without a word."""
    counts = {n: int(np.isnan(x).sum()) for n, x in enumerate(arrays) if x.dtype.kind == "f" and np.isnan(x).any()}
    if not counts:
        return
    with suppress(UsageError):  # a method with branches, which another compiler made
        forward = method(read(file))
        read_by = {call.arguments[0] for call in forward.calls if "::quantize_per" in call.operator}
        for number, count in counts.items():
            if forward.inputs[number] in read_by:
                nan = f"{count} of the numbers of input {number} are NaN"
                say(f"warning: {nan}. Integers have no NaN: the results mean nothing")


def _main(folder: Path) -> None:
    """The process of ``run_pte``."""
    request = json.loads((folder / _REQUEST).read_text())
    file, data = Path(request["file"]), [Path(path) for path in request["data"]]
    arrays = [read_array(folder / f"{number}.in.npy") for number in range(len(list(folder.glob("*.in.npy"))))]
    try:
        pte = read_program(file, data)
        program = load_program(pte, str(file), profile=request["profile"], data=data, in_child=True)
        for number, output in enumerate(_outputs(file, pte, program, arrays)):
            write_array(folder / f"{number}.out.npy", output)
    except (UsageError, MemoryError) as error:
        little = "" if isinstance(error, UsageError) else f"{file} needs more memory than there is: "
        write_atomic(folder / _PROBLEM, f"{little}{error}")
        sys.exit(1)
    if request["profile"]:
        program.write_etdump_result_to_file(str(folder / _DUMP), str(folder / "debug.bin"))


def _outputs(file: Path, pte: Pte, program: Any, arrays: Arrays) -> Arrays:
    forward = load_method(program, "forward", str(file), in_child=True)
    import torch

    try:
        tensors = [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]
    except TypeError as error:
        raise UsageError(f"an input's elements are of a type that PyTorch does not have: {error}") from error
    formats = pte.inputs["forward"]
    _check_inputs(file, forward.metadata, tensors, formats)
    tensors = [arranged(tensor, expected) for tensor, expected in zip(tensors, formats, strict=True)]
    with logged(f"running {file} failed", in_child=True):
        results = forward.execute(tensors)
    return [result.numpy() if isinstance(result, torch.Tensor) else np.asarray(result) for result in results]


def _check_inputs(file: Path, metadata: Any, tensors: list[Any], formats: list[InputTensor | None]) -> None:
    count = metadata.num_inputs()
    if count != len(tensors):
        raise UsageError(f"{file} takes {count} --input, one for each input; {len(tensors)} given")
    for index, tensor in enumerate(tensors):
        expected = metadata.input_tensor_meta(index)
        shape, largest = tuple(tensor.shape), tuple(expected.sizes())
        bounded = getattr(formats[index], "bounded", False)
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


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
