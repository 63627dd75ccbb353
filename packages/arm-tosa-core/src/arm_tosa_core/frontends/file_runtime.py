"""Runs a model file as it is, by the runtime of its own framework: the judge of what is compiled from it.

The runtime is the user's to install. It runs in a process of its own (``python -m`` of this module), because a damaged
file may kill it.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..support.errors import ToolError, UsageError
from ..support.external_tools import run_tool
from ..support.install_advice import from_index

Arrays = list[np.ndarray[Any, Any]]
_LIMIT = 600.0  # seconds


class Runtime(NamedTuple):
    """The runtime of a format: the package that has it, and how it runs a file."""

    package: str
    run: Callable[[Path, Arrays, dict[str, np.ndarray[Any, Any]]], Arrays]


def run_file(
    path: Path, inputs: Sequence[np.ndarray[Any, Any]], fixed: Mapping[str, np.ndarray[Any, Any]] | None = None
) -> Arrays:
    """The outputs of the model in a file, in the file's order.

    Args:
        path: an ``.onnx`` or ``.tflite`` file.
        inputs: in the file's order, of its shapes and data types.
        fixed: by name, inputs that are not among them.

    Raises:
        UsageError: the runtime is not installed, there are more or fewer inputs, or one is of another shape or type.
        ToolError: the runtime does not take the file, fails, or dies.
    """
    package = RUNTIMES[path.suffix].package
    if not path.is_file():
        raise UsageError(f"cannot read {path}: no such file")
    with tempfile.TemporaryDirectory(prefix="arm_tosa_") as name:
        folder = Path(name)
        for number, array in enumerate(inputs):
            np.save(folder / f"{number}.in.npy", array, allow_pickle=False)
        for number, array in enumerate((fixed or {}).values()):
            np.save(folder / f"{number}.fixed.npy", array, allow_pickle=False)
        (folder / "fixed.json").write_text(json.dumps(list(fixed or {})), "utf-8")
        # -P: not the modules of the folder that the command is called in.
        command = [sys.executable, "-P", "-m", __name__, str(path.resolve()), name]
        try:
            run_tool(package, command, timeout=_LIMIT, fix=f"it ran {path}, which may be damaged")
        except ToolError:
            if (problem := folder / "problem.txt").exists():
                raise UsageError(f"{path}: {problem.read_text('utf-8')}") from None
            raise
        outputs = sorted(folder.glob("*.out.npy"), key=lambda file: int(file.name.partition(".")[0]))
        return [np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) for file in outputs]


def _onnx(path: Path, inputs: Arrays, fixed: dict[str, np.ndarray[Any, Any]]) -> Arrays:
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # its fusions round otherwise
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    ends = list(session.get_inputs())
    if len(ends) - len(fixed) < len(inputs):
        ends += session.get_overridable_initializers()
    wanted = {one.name: _Wanted(one.shape, one.type.removeprefix("tensor(").removesuffix(")")) for one in ends}
    feeds = _by_name(wanted, inputs, fixed)
    return list(session.run(None, feeds))


def _tflite(path: Path, inputs: Arrays, fixed: dict[str, np.ndarray[Any, Any]]) -> Arrays:
    litert = import_module("ai_edge_litert.interpreter")
    resolver = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES  # XNNPACK rounds otherwise than the format says
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=resolver)
    wanted: dict[str, Any] = {}
    for one in interpreter.get_input_details():
        wanted[one["name"] + "'" * sum(name.rstrip("'") == one["name"] for name in wanted)] = one
    ends = {
        name: _Wanted([size if size >= 0 else None for size in one["shape_signature"]], np.dtype(one["dtype"]).name)
        for name, one in wanted.items()
    }
    feeds = _by_name(ends, inputs, fixed)
    for name, array in feeds.items():
        if tuple(wanted[name]["shape"]) != array.shape:
            interpreter.resize_tensor_input(wanted[name]["index"], array.shape, strict=True)
    interpreter.allocate_tensors()
    for name, array in feeds.items():
        interpreter.set_tensor(wanted[name]["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(one["index"]) for one in interpreter.get_output_details()]


RUNTIMES = {".onnx": Runtime("onnxruntime", _onnx), ".tflite": Runtime("ai-edge-litert", _tflite)}


class _Wanted(NamedTuple):
    """An input of a file: its sizes, of which those that are open are no integers, and its type's name."""

    shape: Sequence[Any]
    dtype: str

    def __str__(self) -> str:
        sizes = ", ".join(str(size) if isinstance(size, int) else str(size or "N") for size in self.shape)
        return f"{_TYPES.get(self.dtype, self.dtype)}[{sizes}]"

    def takes(self, array: np.ndarray[Any, Any]) -> bool:
        pairs = zip(self.shape, array.shape, strict=False)
        same = all(not isinstance(size, int) or size == given for size, given in pairs)
        return same and len(self.shape) == array.ndim and array.dtype.name == _TYPES.get(self.dtype, self.dtype)


#: NumPy's names of types that have others in ONNX.
_TYPES = {"float": "float32", "double": "float64"}


def _by_name(
    wanted: Mapping[str, _Wanted], inputs: Arrays, fixed: dict[str, np.ndarray[Any, Any]]
) -> dict[str, np.ndarray[Any, Any]]:
    """The inputs of a file, those that are fixed among them."""
    open_inputs = {name: one for name, one in wanted.items() if name not in fixed}
    listed = ", ".join(f"{name} {one}" for name, one in open_inputs.items())
    if len(open_inputs) != len(inputs):
        raise UsageError(f"it takes {len(open_inputs)} --input, one for each of {listed}; {len(inputs)} given")
    given = dict(zip(open_inputs, inputs, strict=True))
    if wrong := [name for name, array in given.items() if not open_inputs[name].takes(array)]:
        arrays = ", ".join(f"{name} {array.dtype.name}{list(array.shape)}" for name, array in given.items())
        raise UsageError(f"it takes {listed}; {arrays} is given: {wrong[0]} has another type or other sizes")
    return {**given, **fixed}


def _main(path: Path, folder: Path) -> None:
    """The process of ``run_file``: a refusal is in ``problem.txt``, anything else in what it prints."""
    runtime = RUNTIMES[path.suffix]
    count = len(list(folder.glob("*.in.npy")))
    inputs = [np.load(folder / f"{number}.in.npy", allow_pickle=False) for number in range(count)]
    try:
        names = json.loads((folder / "fixed.json").read_text("utf-8"))
        fixed = {name: np.load(folder / f"{i}.fixed.npy", allow_pickle=False) for i, name in enumerate(names)}
        outputs = runtime.run(path, inputs, fixed)
    except ImportError as error:
        missing = f"to run it as it is, install its runtime: {from_index(runtime.package)} ({error})"
        (folder / "problem.txt").write_text(missing, "utf-8")
        sys.exit(1)
    except UsageError as error:
        (folder / "problem.txt").write_text(str(error), "utf-8")
        sys.exit(1)
    except Exception as error:  # whatever the runtime raises for this file or these inputs
        (folder / "problem.txt").write_text(f"{runtime.package} does not run it: {error}".strip(), "utf-8")
        sys.exit(1)
    for number, array in enumerate(outputs):
        np.save(folder / f"{number}.out.npy", np.asarray(array), allow_pickle=False)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
