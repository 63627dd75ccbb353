"""The judges of tosa-tools: the TOSA reference model runs a flatbuffer, tosa-opt validates it."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..support.errors import ToolError, UsageError
from ..support.external_tools import find_tool, run_tool
from ..support.install_advice import from_index
from .dtypes import numpy_dtype
from .ir import DType, Tensor
from .loader import load
from .specification import EXTENSIONS, TosaSpecification

_REFERENCE_MODEL = "TOSA reference model"
_CONSTANT_ONLY = (DType.INT4, DType.INT48)  # types that its Python binding neither takes nor gives
_TAKEN_ONLY = (DType.FP4E2M1, DType.FP6E2M3, DType.FP6E3M2, DType.MXINT8, DType.FP8UE8M0)  # it gives no bytes of these
_T = TypeVar("_T")
_quiet = threading.Lock()


def run(
    tosa: bytes, inputs: Sequence[np.ndarray[Any, Any]], *, isolated: bool = False, timeout: float = 600
) -> list[np.ndarray[Any, Any]]:
    """Runs a flatbuffer on the TOSA reference model.

    Args:
        tosa: a flatbuffer of TOSA 1.0, or of the draft of 1.1.
        inputs: one array for each graph input, in order, of its shape and ``dtypes.numpy_dtype``; uint8 goes for int8.
        isolated: run it in a process of its own, half a second slower. The model aborts its process on some values that
            TOSA forbids (an INTDIV by 0, a GATHER index out of range); isolated, that is a ToolError too.
        timeout: seconds, when isolated.

    Returns:
        One array for each graph output, of its shape and ``dtypes.numpy_dtype``.

    Raises:
        UsageError: not a TOSA flatbuffer, or inputs that do not fit it.
        ToolError: the reference model refuses the graph or finds its result unpredictable, with its output.
    """
    graph = load(tosa)
    if len(inputs) != len(graph.inputs):
        raise UsageError(f"the graph takes {len(graph.inputs)} inputs, got {len(inputs)}")
    for tensor in graph.outputs:
        if tensor.dtype in (*_CONSTANT_ONLY, *_TAKEN_ONLY):
            raise UsageError(f"output {tensor.name} is {tensor.dtype}, which the reference model does not give back")
    raw = [_input(array, tensor) for array, tensor in zip(inputs, graph.inputs, strict=True)]
    outputs = _execute_isolated(tosa, raw, timeout) if isolated else _execute(tosa, raw)
    return [
        np.frombuffer(output, numpy_dtype(tensor.dtype)).reshape(tensor.shape)
        for output, tensor in zip(outputs, graph.outputs, strict=True)
    ]


def _execute(tosa: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[bytes]:
    """Runs the model in this process on the bytes of the inputs (arrays of uint8)."""
    try:
        import tosa_reference_model
    except ImportError as error:
        fix = f"install it with: {from_index('tosa-tools')}"
        raise ToolError(_REFERENCE_MODEL, "is not installed", fix=fix) from error
    from tosa.TosaGraph import TosaGraph

    # Without a level it calls every result of EXP2_SHAPE too large. Only the draft has that operator.
    level = "EIGHTK" if TosaGraph.GetRootAs(tosa).Version()._Draft() else "NONE"
    # Its own signature says str, but it takes the flatbuffer as bytes.
    outcome, printed = _captured(lambda: tosa_reference_model.run(tosa, inputs, tosa_level=level))
    if isinstance(outcome, ValueError):
        raise ToolError(_REFERENCE_MODEL, f"refused the graph: {outcome}", output=printed)
    outputs, status = outcome
    if status != tosa_reference_model.GraphStatus.TOSA_VALID:
        raise ToolError(_REFERENCE_MODEL, f"ended with {status.name}", output=printed)
    return [output.tobytes() for output in outputs]


def _execute_isolated(tosa: bytes, inputs: Sequence[np.ndarray[Any, Any]], timeout: float) -> list[bytes]:
    """The same in a child process, which leaves its outputs as files."""
    with tempfile.TemporaryDirectory(prefix="arm_tosa_") as folder:
        Path(folder, "graph.tosa").write_bytes(tosa)
        for number, data in enumerate(inputs):
            Path(folder, f"{number}.in").write_bytes(data.tobytes())
        command = [sys.executable, "-P", "-m", f"{__package__}.reference_model", folder]
        run_tool(_REFERENCE_MODEL, command, timeout=timeout)
        files = sorted(Path(folder).glob("*.out"), key=lambda path: int(path.stem))
        return [path.read_bytes() for path in files]


def _main(folder: Path) -> None:
    """The child process of ``_execute_isolated``."""
    files = sorted(folder.glob("*.in"), key=lambda path: int(path.stem))
    inputs = [np.frombuffer(path.read_bytes(), np.uint8) for path in files]
    try:
        outputs = _execute((folder / "graph.tosa").read_bytes(), inputs)
    except ToolError as error:
        sys.exit(str(error))
    for number, data in enumerate(outputs):
        (folder / f"{number}.out").write_bytes(data)


def _input(array: np.ndarray[Any, Any], tensor: Tensor) -> np.ndarray[Any, Any]:
    """The bytes of one input, which is how the reference model takes every type, ``ml_dtypes`` included."""
    dtype = numpy_dtype(tensor.dtype)
    if tensor.dtype in _CONSTANT_ONLY:
        raise UsageError(f"input {tensor.name} is {tensor.dtype}, which the reference model takes as a constant only")
    if array.dtype == np.uint8 and dtype == np.int8:
        array = array.view(np.int8)  # TOSA has one type of 8 bits; the RESCALE that reads it says unsigned
    if array.dtype != dtype or array.shape != tensor.shape:
        want = f"{dtype}{list(tensor.shape)}"
        raise UsageError(f"input {tensor.name} takes {want}, got {array.dtype}{list(array.shape)}")
    return np.frombuffer(array.tobytes(), np.uint8)


def _captured(call: Callable[[], _T]) -> tuple[_T | ValueError, str]:
    """Runs ``call`` with the process's standard output and error in a file, and returns their text too.

    The model is C++ that prints warnings about every TOSA 1.0 file to standard output, where ``--json`` answers go.
    """
    libc = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    with _quiet, tempfile.TemporaryFile() as file:
        saved = []
        for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
            stream.flush()
            libc.fflush(None)
            saved.append((descriptor, os.dup(descriptor)))
            os.dup2(file.fileno(), descriptor)
        result: _T | ValueError
        try:
            result = call()
        except ValueError as error:
            result = error
        finally:
            libc.fflush(None)
            for descriptor, copy in saved:
                os.dup2(copy, descriptor)
                os.close(copy)
        file.seek(0)
        return result, file.read().decode(errors="replace")


def validate(tosa: bytes, spec: TosaSpecification) -> None:
    """Has tosa-opt judge a flatbuffer against ``spec``, level 8K.

    Raises:
        ToolError: it is not valid, with tosa-opt's message; or tosa-opt is missing or hangs.
    """
    tool = find_tool("tosa-opt", package="tosa-tools")
    profiles = ",".join(f"pro_{profile.lower()}" for profile in sorted(spec.profiles))
    extensions = ",".join(EXTENSIONS[name][0] for name in sorted(spec.extensions))
    draft = ".draft" if spec.version.minor else ""
    target = f"specification_version={spec.version}{draft} level=8k profiles={profiles}"
    if extensions:
        target += f" extensions={extensions}"
    with tempfile.TemporaryDirectory(prefix="arm_tosa_") as folder:
        # Names without spaces, run from inside: tosa-opt splits its options at spaces.
        Path(folder, "graph.tosa").write_bytes(tosa)
        Path(folder, "empty.mlir").write_text("module {}\n")
        command = [
            tool,
            "--tosa-deserialize=tosa-flatbuffer-filename=graph.tosa",
            f"--tosa-attach-target={target}",
            "--tosa-validate=strict-op-spec-alignment",  # without it, profiles and data types are not looked at
            "-o=out.mlir",
            "empty.mlir",
        ]
        run_tool("tosa-opt", command, timeout=60, cwd=folder)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
