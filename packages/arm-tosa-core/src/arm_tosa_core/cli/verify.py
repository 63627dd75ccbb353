"""``arm-tosa verify``: what a compiled model computes, beside the TOSA reference model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..accuracy.against_reference_model import Finding, compiled, run_payload
from ..accuracy.against_reference_model import verify as verify_graph
from ..accuracy.random_inputs import random_inputs
from ..exir.pte import Delegate, target_of
from ..exir.target_options import target_of_name
from ..frontends import fixed_inputs
from ..frontends.file_runtime import RUNTIMES
from ..plugin.target import Target
from ..support import foreign
from ..support.errors import UsageError
from ..support.runtime_package import Arrays
from ..tosa.graph import Graph
from ..tosa.loader import load
from .deployed import verify_firmware
from .files import read_array, read_program, read_tosa
from .model import load_program
from .options import DataFiles, InputShapes, InputValues, Trust, parse_shapes, parse_values
from .original_file import with_original
from .report import Result
from .run import check_inputs
from .timing import Timed, data_of, estimated
from .timing import show as show_times
from .whole_program import with_whole, without_whole

if TYPE_CHECKING:
    from torch.export import ExportedProgram


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .pte, a .tosa with --target, or a folder of `deploy`.")
    ],
    tosa: Annotated[
        Path | None,
        typer.Option(
            help="For a .pte: the folder of `compile --artifacts`, or the .tosa of its one delegate. Default: that "
            "folder, if it lies beside the .pte."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="For a .tosa: the target to compile it for.")
    ] = None,
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            help=".npy, one per input, in order; with --model, of the whole program. Default: random numbers; for "
            "firmware and --model the example.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.")] = 0,
    details: Annotated[
        bool, typer.Option("--details", help="Also estimate how long it takes on the device, by operator.")
    ] = False,
    data: DataFiles = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="For a .pte: the MODEL it was compiled from. Also run the whole program, delegates "
            "and CPU, and compare its outputs with PyTorch's. An .onnx or .tflite file is run by its own runtime, too.",
        ),
    ] = None,
    trust: Trust = False,
    input_shape: InputShapes = None,
    input_value: InputValues = None,
) -> Result:
    """Run a compiled model and the TOSA reference model on the same inputs; show the first operator that differs.

    Compile with --artifacts first: the reference model needs the TOSA graphs. Programs for Cortex-M hold theirs.
    """
    if model is not None:
        if file.suffix != ".pte":
            raise UsageError(f"--model goes with a .pte, which {file} is not")
        result = Result({"file": str(file), "graphs": []}, lambda console: None)
        if tosa is not None or target is not None or _tosa_of(file, read_program(file, data).delegates) is not None:
            result = _graphs_of(file, tosa, target, None, seed, details, data)
        program = load_program(model, trust=trust, shapes=input_shape, values=input_value)
        is_file = Path(model).suffix in RUNTIMES
        result = _with_whole(result, file, inputs or (), data or (), program, at_random=is_file and not inputs)
        if not is_file:
            return result
        fixed = fixed_inputs(model, parse_shapes(input_shape), parse_values(input_value))
        return with_original(result, Path(model), program, inputs or (), fixed)
    if file.is_dir():
        if tosa is not None or target is not None or details:
            raise UsageError("of firmware, only --input can be given: --tosa, --target and --details are for files")
        return verify_firmware(file, [read_array(path) for path in inputs or ()])
    result = _graphs_of(file, tosa, target, inputs, seed, details, data)
    return without_whole(result) if file.suffix == ".pte" else result


def _graphs_of(
    file: Path,
    tosa: Path | None,
    target: str | None,
    inputs: Sequence[Path] | None,
    seed: int,
    details: bool,
    data: Sequence[Path] | None,
) -> Result:
    """What was found of the delegates, or of the graph in ``file``; arguments are those of the command."""
    rows, timed = [], []
    for job in _jobs(file, tosa, target, data):
        graph = load(job.tosa)
        if job.target.host.run is None:
            raise UsageError(f"target {job.target.name!r} cannot run on this machine; see `arm-tosa doctor`")
        arrays = [read_array(path) for path in inputs] if inputs else random_inputs(graph, seed)
        check_inputs(graph, arrays)
        rows.append(_row(job, graph, arrays))
        if details:
            timed.append(estimated(job.what, job.target, job.payload or compiled(job.target, job.tosa), job.tosa))
    return _result(file, rows, timed)


def _with_whole(
    result: Result, file: Path, inputs: Sequence[Path], data: Sequence[Path], program: ExportedProgram, at_random: bool
) -> Result:
    """What was found of the delegates, and of the whole program."""
    from ..flow.whole_program import differences  # late: it loads PyTorch

    files = {path.name: path.read_bytes() for path in data}
    unequal = differences(file.read_bytes(), program, _tensors(inputs), data_files=files)
    agree = bool(result.data["graphs"]) and not result.status
    return with_whole(result, unequal, delegates_agree=agree, at_random=at_random)


def _tensors(paths: Sequence[Path]) -> list[Any] | None:
    """The inputs of a whole program; None: its example inputs."""
    import torch  # late: the other checks need none

    return [torch.from_numpy(read_array(path)) for path in paths] or None


@dataclass(frozen=True)
class _Job:
    """One graph: its TOSA, its target and, where it is compiled already, its payload."""

    what: str
    tosa: bytes
    target: Target
    payload: bytes | None = None


def _jobs(file: Path, tosa: Path | None, name: str | None, data: Sequence[Path] | None) -> list[_Job]:
    if file.suffix == ".tosa":
        if name is None or tosa is not None:
            raise UsageError(f"{file} is TOSA itself: give --target, and no --tosa")
        return [_Job(str(file), read_tosa(file), target_of_name(name))]
    if file.suffix != ".pte":
        raise UsageError(f"cannot verify {file}: its suffix is neither .pte nor .tosa, and it is no folder")
    if name is not None:
        raise UsageError(f"{file} is compiled already: give neither --target nor --chip")
    delegates = read_program(file, data).delegates
    targets = [target_of(delegate) for delegate in delegates]
    graphs = _tosa_of(file, delegates, tosa)
    if graphs is None:
        raise UsageError(
            f"{file} does not hold its TOSA graphs, and the folder of `compile --artifacts` does not lie beside it: "
            "compile it again with --artifacts FOLDER, and give --tosa FOLDER"
        )
    return [
        _Job(f"delegate {delegate.index} of {delegate.method!r}", graph, target, delegate.payload)
        for delegate, target, graph in zip(delegates, targets, graphs, strict=True)
    ]


def _tosa_of(file: Path, delegates: Sequence[Delegate], folder: Path | None = None) -> list[bytes] | None:
    """The TOSA graph of each delegate: in a folder or, of some targets, the payload itself. None: neither is there."""
    folder = folder or _artifacts(file, delegates)
    if folder is not None:
        return [read_tosa(path) for path in _tosa_files(folder, [target_of(delegate).name for delegate in delegates])]
    payloads = [delegate.payload for delegate in delegates]
    try:
        for payload in payloads:
            load(payload)
    except UsageError:
        return None
    return payloads


def _artifacts(file: Path, delegates: Sequence[Delegate]) -> Path | None:
    """The folder in which the compiler left the TOSA graphs: it is called as the program says, and lies beside it.

    None: there is none.
    """
    for delegate in delegates:
        name = dict(delegate.compile_specs).get("debug_artifact_path", b"").decode(errors="replace")
        with suppress(UsageError):  # a path of another machine, where executorch.backends.arm wrote the program
            if (folder := foreign.inside(file.parent, name)).is_dir():
                return folder
    return None


def _tosa_files(path: Path, names: Sequence[str]) -> list[Path]:
    """The TOSA file of each delegate, in order."""
    graphs = [path]
    if path.is_dir():
        numbered = [folder for folder in path.glob("delegate_*") if re.fullmatch(r"delegate_\d+", folder.name)]
        folders = sorted(numbered, key=lambda folder: int(folder.name.rpartition("_")[2]))
        graphs = [file for folder in folders for file in (folder / f"{name}.tosa" for name in dict.fromkeys(names))]
        graphs = [file for file in graphs if file.is_file()]
    if len(graphs) != len(names):
        raise UsageError(f"the program has {len(names)} delegates, and {path} holds {len(graphs)} TOSA graphs for them")
    return graphs


def _row(job: _Job, graph: Graph, arrays: Arrays) -> dict[str, Any]:
    target, payload = job.target, job.payload
    whole = None if payload is None else (lambda _, arrays: run_payload(target, payload, arrays))
    finding = verify_graph(job.tosa, target, arrays, whole)
    row: dict[str, Any] = {
        "graph": job.what,
        "target": job.target.name,
        "ops": len(graph.ops),
        "agrees": finding is None,
    }
    return row if finding is None else {**row, **_data(finding)}


def _data(finding: Finding) -> dict[str, Any]:
    ops = [
        {
            "index": index,
            "op": op.name,
            "output": [f"{t.dtype}{list(t.shape)}" for t in op.outputs],
            "source": op.origin.source if op.origin else "",
        }
        for index, op in finding.ops
    ]
    return {
        "difference": asdict(finding.difference),
        "text": str(finding.difference),
        "first": ops,
        "cuts": finding.cuts,
    }


def _result(file: Path, rows: list[dict[str, Any]], timed: Sequence[Timed]) -> Result:
    def show(console: Console) -> None:
        for row in rows:
            start = f"{row['graph']} on {row['target']}: "
            if row["agrees"]:
                console.print(f"{start}{row['ops']} operators agree with the TOSA reference model", markup=False)
                continue
            console.print(f"{start}{row['text']}", markup=False)
            if not row["first"]:
                console.print(
                    "    the graph compiled anew agrees: the program was made from another graph or with other options",
                    markup=False,
                )
            for op in row["first"]:
                where = f", {op['source']}" if op["source"] else ""
                console.print(
                    f"    at operator {op['index']}, {op['op']} -> {', '.join(op['output'])}{where}", markup=False
                )

        show_times(console, timed)

    failed = not all(row["agrees"] for row in rows)
    data = {"file": str(file), "graphs": rows, **({"timing": data_of(timed)} if timed else {})}
    return Result(data, show, status=int(failed))
