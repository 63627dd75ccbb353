"""``arm-tosa compare``: one model on several targets, side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..support.atomic_files import require_writable, write_atomic
from ..support.errors import UsageError
from ..sweep.page import page
from ..sweep.point import AS_IS, Failure
from ..sweep.run import compare as compare_points
from ..sweep.space import Space, chips_named, schemes_named, targets_named
from .options import InputShapes, InputValues, Trust
from .progress import progress
from .report import Result, say, table
from .results_table import json_of, notes_of, rows_of
from .sweep_sources import FileSources

Metric = Annotated[
    str | None,
    typer.Option(
        help="file.py:function that judges the accuracy, besides the SQNR. It is called as function(float_outputs, "
        "outputs, samples), three lists with one element per sample, and returns a number; higher is better."
    ),
]
Calibration = Annotated[
    str | None, typer.Option(metavar="FILE", help=".npz to calibrate with; without it the example inputs are used.")
]
Evaluate = Annotated[
    str | None,
    typer.Option(metavar="FILE", help=".npz with samples to judge the accuracy with: not those of --calibration."),
]
Targets = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Targets, separated by commas; ethos-u55-* means all of a family."),
]
Chips = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Names from `arm-tosa chips`, separated by commas; alif-* means all of a family; or all that are sold.",
    ),
]
Page = Annotated[Path | None, typer.Option("-o", "--output", help="Also write the table as one .html page.")]


def compare(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A .pt2, .onnx, .tflite or .tosa file, or file.py:function.")
    ],
    targets: Targets = None,
    chips: Chips = None,
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="int8, int16x8 (a16w8), int8x4 (a8w4), float or .json files, separated by commas. Default: int8, or "
            "as-is for a file that is quantized already.",
        ),
    ] = None,
    calibration: Calibration = None,
    evaluate: Evaluate = None,
    metric: Metric = None,
    output: Page = None,
    trust: Trust = False,
    input_shape: InputShapes = None,
    input_value: InputValues = None,
) -> Result:
    """Compare a model's speed, memory and accuracy on several targets, each with its default options, or chips."""
    if targets is None and chips is None:
        raise UsageError("give --targets, --chips or both: the devices to compare")
    sources = sources_of(model, calibration, evaluate, metric, trust, input_shape, input_value)
    sources.require({})
    require_page(output)
    names = devices_named(targets, chips)
    if quantize is None:
        quantize = default_scheme(model, sources)
    schemes = schemes_named([text.strip() for text in quantize.split(",")])
    space = Space({name: {} for name in names}, schemes)
    note_calibration(calibration, schemes)
    with tempfile.TemporaryDirectory(prefix="arm-tosa-") as folder, progress() as shown:
        results = compare_points(space, sources, Path(folder), lambda done, wanted: shown("compiling", done, wanted))
    results.sort(key=lambda result: names.index(result.point.target))
    heads, rows = rows_of(results)
    failed = [f"{r.point}: {r.outcome.line}" for r in results if isinstance(r.outcome, Failure)]
    notes = notes_of(results)
    if output is not None:
        write_atomic(output, page(f"{model} on {len(names)} devices", heads, rows, notes=[*failed, *notes]))
        say(f"note: the page is in {output}")

    def show(console: Console) -> None:
        console.print(table(model, heads, rows))
        for text in [*failed, *notes]:
            console.print(text, markup=False, soft_wrap=True)

    data = {"model": model, "results": [json_of(result, sources) for result in results]}
    return Result(data, show)


def devices_named(targets: str | None, chips: str | None) -> list[str]:
    """The devices that names and patterns mean, separated by commas; each once."""
    names = [
        name
        for texts, named in ((targets, targets_named), (chips, chips_named))
        for text in (() if texts is None else texts.split(","))
        for name in named(text.strip())
    ]
    return list(dict.fromkeys(names))


def default_scheme(model: str, sources: FileSources) -> str:
    """The scheme where none is named: a file may hold a quantized model, while a function seldom makes one."""
    if ".py:" in model:
        return "int8"
    from ..lowering.exported_program import is_quantized
    from ..sweep.quantized import in_float

    return AS_IS if is_quantized(in_float(sources, ()).program) else "int8"


def sources_of(
    model: str,
    calibration: str | None,
    evaluate: str | None,
    metric: str | None,
    trust: bool,
    input_shape: list[str] | None,
    input_value: list[str] | None,
) -> FileSources:
    """Model and data of a command.

    Raises:
        UsageError: a metric without anything to judge.
    """
    if metric is not None and evaluate is None:
        raise UsageError("--metric judges the samples of --evaluate: give both")
    return FileSources(model, calibration, evaluate, metric, tuple(input_shape or ()), tuple(input_value or ()), trust)


def note_calibration(calibration: str | None, schemes: Sequence[str]) -> None:
    """Says where ranges come from, if any of the schemes has its own."""
    if calibration is None and any(scheme not in ("float", AS_IS) for scheme in schemes):
        say("note: calibrating with the example inputs: cycles and memory are right, accuracy needs --calibration")


def require_page(output: Path | None) -> None:
    """Finds out before long work whether a page can be written.

    Raises:
        UsageError: it cannot.
    """
    if output is not None:
        if output.suffix != ".html":
            raise UsageError(f"{output}: the suffix must be .html")
        require_writable(output)
