"""Runs a model file as it is, by the runtime of its own framework: the judge of what is compiled from it.

The runtime is the user's to install. It runs in a process of its own (``python -m`` of this module), because a damaged
file may kill it.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Sequence
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
    run: Callable[[Path, Arrays], Arrays]


def run_file(path: Path, inputs: Sequence[np.ndarray[Any, Any]]) -> Arrays:
    """The outputs of the model in a file, in the file's order.

    Args:
        path: an ``.onnx`` or ``.tflite`` file.
        inputs: in the file's order, of its shapes and data types.

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


def _onnx(path: Path, inputs: Arrays) -> Arrays:
    import onnxruntime  # type: ignore[import-not-found, import-untyped, unused-ignore]

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # its fusions round otherwise
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    wanted = session.get_inputs()
    _require_count([one.name for one in wanted], inputs)
    return list(session.run(None, {one.name: array for one, array in zip(wanted, inputs, strict=True)}))


def _tflite(path: Path, inputs: Arrays) -> Arrays:
    from ai_edge_litert.interpreter import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        Interpreter,
        OpResolverType,
    )

    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES  # XNNPACK rounds otherwise than the format says
    interpreter = Interpreter(str(path), experimental_op_resolver_type=resolver)
    wanted = interpreter.get_input_details()
    _require_count([one["name"] for one in wanted], inputs)
    for one, array in zip(wanted, inputs, strict=True):
        if tuple(one["shape"]) != array.shape:
            interpreter.resize_tensor_input(one["index"], array.shape, strict=True)
    interpreter.allocate_tensors()
    for one, array in zip(wanted, inputs, strict=True):
        interpreter.set_tensor(one["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(one["index"]) for one in interpreter.get_output_details()]


RUNTIMES = {".onnx": Runtime("onnxruntime", _onnx), ".tflite": Runtime("ai-edge-litert", _tflite)}


def _require_count(names: Sequence[str], inputs: Sequence[Any]) -> None:
    if len(names) != len(inputs):
        raise UsageError(f"it takes {len(names)} --input, one for each of {', '.join(names)}; {len(inputs)} given")


def _main(path: Path, folder: Path) -> None:
    """The process of ``run_file``: a refusal is in ``problem.txt``, anything else in what it prints."""
    runtime = RUNTIMES[path.suffix]
    count = len(list(folder.glob("*.in.npy")))
    inputs = [np.load(folder / f"{number}.in.npy", allow_pickle=False) for number in range(count)]
    try:
        outputs = runtime.run(path, inputs)
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
