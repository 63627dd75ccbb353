"""``arm-tosa run``: a ``.tosa``, a ``.pte``, or a file of a target on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from ..accuracy.against_reference_model import compiled, run_payload
from ..exir.target_options import target_of_name
from ..frontends.file_runtime import RUNTIMES, run_file
from ..plugin import entry_points as plugins
from ..plugin.target import Target
from ..support.atomic_files import require_writable
from ..support.errors import UsageError
from ..support.runtime_package import Arrays
from ..tosa.dtypes import numpy_dtype
from ..tosa.graph import Graph
from ..tosa.loader import load
from .deployed import run_firmware
from .files import read, read_array, read_program, read_tosa, write_array
from .options import DataFiles
from .profile import Event, data_of, nested, show_events
from .report import Result, table
from .timing import Timed, estimated, write_trace
from .timing import data_of as times_of
from .timing import show as show_times


def run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A .tosa, a .pte, a file in a target's own format (.vgf), a folder of `arm-tosa deploy`, or an .onnx "
            "or .tflite file, which its own runtime runs (onnxruntime, ai-edge-litert), if that is installed.",
        ),
    ],
    inputs: Annotated[list[Path] | None, typer.Option("--input", help=".npy, one per input, in order.")] = None,
    outputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--output", help=".npy, one per output; of several outputs, a single y.npy becomes y_0.npy, y_1.npy, ..."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="For a .tosa: compile it for this target, then run it.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            help="Print where the time of a compiled file goes, here and as estimated on the device, and write a trace "
            "for Perfetto to this file."
        ),
    ] = None,
    data: DataFiles = None,
) -> Result:
    """Run a compiled model on this machine; a .tosa without --target runs on Arm's reference model."""
    arrays = [read_array(path) for path in inputs or ()]
    for path in (*(outputs or ()), *((profile,) if profile else ())):
        require_writable(path)
    events: list[Event] = []
    if profile is not None and (file.suffix in (".tosa", *RUNTIMES) or file.is_dir()):
        raise UsageError("--profile is for compiled files; compile the model for a target, or run firmware's .pte")
    if data and file.suffix != ".pte":
        raise UsageError(f"--data goes with a .pte, and {file} is none")
    if file.is_dir():
        results = run_firmware(file, arrays)
    elif file.suffix == ".tosa":
        results = _run_tosa(file, arrays, target)
    elif file.suffix in RUNTIMES:
        if target is not None:
            raise UsageError(f"{file} runs as it is; to run what --target {target} makes of it, compile it to a .pte")
        results = run_file(file, arrays)
    elif target is not None:
        raise UsageError(f"--target and --chip are for .tosa files, and {file} is none: give it without them")
    elif file.suffix == ".pte":
        from .run_pte import run_pte

        results, events = run_pte(file, arrays, profile=profile is not None, data=data or ())
    else:
        results, events = _run_compiled(file, arrays, profile is not None)
    paths = _output_paths(outputs or [], len(results))
    for path, array in zip(paths, results, strict=False):  # no paths: only shown
        write_array(path, array)
    timed: list[Timed] = []
    if profile is None:
        events = []
    else:
        timed = _estimates(file, data)
        write_trace(profile, timed, events)
    rows = [
        {
            "shape": list(array.shape),
            "dtype": array.dtype.name,
            "min": array.min().item() if array.size else None,
            "max": array.max().item() if array.size else None,
            "file": str(paths[index]) if paths else None,
        }
        for index, array in enumerate(results)
    ]

    def show(console: Console) -> None:
        cells = [[str(index), *map(_cell, row.values())] for index, row in enumerate(rows)]
        console.print(table("outputs", ("", "shape", "dtype", "min", "max", "file"), cells))
        if events:
            show_events(console, events)
        show_times(console, timed)

    measured = {"profile": data_of(events), "timing": times_of(timed)} if profile else {}
    return Result({"outputs": rows, **measured}, show)


def _cell(value: object) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _estimates(file: Path, data: Sequence[Path] | None) -> list[Timed]:
    """What timing models say of a compiled file; nothing where its targets have none."""
    if file.suffix != ".pte":
        owner = _owner(file)
        return [estimated(str(file), owner, read(file))] if owner.report.timing else []
    from ..exir.pte import target_of

    timed = []
    for delegate in read_program(file, data).delegates:
        with suppress(UsageError):  # a program of another compiler, which ran all the same, may not say its target
            if (target := target_of(delegate)).report.timing:
                timed.append(estimated(f"delegate {delegate.index} of {delegate.method!r}", target, delegate.payload))
    return timed


def _run_compiled(file: Path, arrays: Arrays, profile: bool) -> tuple[Arrays, list[Event]]:
    """Runs a file in the format of a target."""
    target, data = _owner(file), read(file)
    if target.host.run is None:
        raise _cannot_run(target)
    if not profile or (target.host.profile is None and target.report.timing is not None):
        return target.host.run(data, arrays), []
    if target.host.profile is None:
        raise UsageError(f"--profile: {target.name!r} cannot tell where the time of a run goes")
    results, spans = target.host.profile(data, arrays)
    return results, nested(spans)


def _owner(file: Path) -> Target:
    """The target in whose format a file is; one of several that share it."""
    able = {target.compiler.suffix: target for target in plugins.targets().values()}
    if file.suffix not in able:
        suffixes = ", ".join(dict.fromkeys((".tosa", ".pte", *sorted(able))))
        advice = " (compile it first: `arm-tosa compile`)" if file.suffix == ".pt2" else ""
        raise UsageError(f"cannot run {file}{advice}: files that run have one of the suffixes {suffixes}")
    return able[file.suffix]


def _run_tosa(file: Path, arrays: Arrays, name: str | None) -> Arrays:
    tosa = read_tosa(file)
    if name is None:
        from ..tosa import reference_model as reference

        return reference.run(tosa, arrays, isolated=True)  # it aborts its process on some inputs
    return run_on(target_of_name(name), tosa, arrays)


def run_on(target: Target, tosa: bytes, arrays: Arrays) -> Arrays:
    """Compiles a TOSA graph for a target and runs it there; outputs have the graph's shapes and data types.

    Raises:
        UsageError: the target cannot run here, or the inputs do not fit the graph.
        ToolError: its compiler failed, or the run did.
    """
    if target.host.run is None:
        raise _cannot_run(target)
    graph = load(tosa)
    check_inputs(graph, arrays)
    return as_outputs(graph, run_payload(target, compiled(target, tosa), arrays))


def _cannot_run(target: Target) -> UsageError:
    return UsageError(f"target {target.name!r} cannot run on this machine; `arm-tosa doctor` says what is missing")


def check_inputs(graph: Graph, arrays: Arrays) -> None:
    """Compares the inputs given with those of the graph.

    Raises:
        UsageError: their number, a shape or a data type differs.
    """
    if len(arrays) != len(graph.inputs):
        raise UsageError(f"the graph takes {len(graph.inputs)} --input, one for each input; {len(arrays)} given")
    for index, (array, tensor) in enumerate(zip(arrays, graph.inputs, strict=True)):
        if array.shape != tensor.shape or array.dtype != numpy_dtype(tensor.dtype):
            wanted = f"{numpy_dtype(tensor.dtype)}{list(tensor.shape)}"
            raise UsageError(f"input {index} is {array.dtype}{list(array.shape)}; the graph takes {wanted}")


def as_outputs(graph: Graph, results: Arrays) -> Arrays:
    """What a target's payload gave, in the graph's shapes and data types: a payload may know only sizes."""
    return [
        np.ascontiguousarray(result).view(numpy_dtype(tensor.dtype)).reshape(tensor.shape)
        for result, tensor in zip(results, graph.outputs, strict=True)
    ]


def _output_paths(paths: Sequence[Path], count: int) -> list[Path]:
    if len(paths) == 1 and count > 1:
        (path,) = paths
        return [path.with_name(f"{path.stem}_{index}{path.suffix}") for index in range(count)]
    if paths and len(paths) != count:
        raise UsageError(f"the model has {count} outputs and {len(paths)} --output were given")
    return list(paths)
