"""``arm-tosa sweep``: many ways to compile a model, and the cheapest that meets a set of limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..plugin import entry_points as plugins
from ..support.atomic_files import write_atomic
from ..support.errors import UsageError
from ..support.memory_size import size_of, size_text
from ..sweep.engine import Engine
from ..sweep.limits import Answer, Limits, answer, parse_limits
from ..sweep.page import page
from ..sweep.point import Evaluation, Failure
from ..sweep.point import Result as PointResult
from ..sweep.pool import Pool, default_workers
from ..sweep.run import sweep as sweep_points
from ..sweep.space import Space, read_space
from .compare import (
    Calibration,
    Chips,
    Evaluate,
    Metric,
    Page,
    Targets,
    default_scheme,
    devices_named,
    note_calibration,
    require_page,
    sources_of,
)
from .options import InputShapes, InputValues, Trust
from .progress import progress
from .report import Result, say, table
from .results_table import command_of, json_of, notes_of, rows_of
from .sweep_sources import FileSources

#: Points that are tried if nobody says how many.
_POINTS = 200


def sweep(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A .pt2, .onnx, .tflite or .tosa file, or file.py:function, with or without parameters.",
        ),
    ],
    space: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with the values to try: the list quantize (default: int8, or as-is for a file that is "
            'quantized already); tables such as targets."ethos-u55-*" or chips."alif-*", with a list of values for '
            "each option of the target; the table parameters, with lists for the model's function."
        ),
    ] = None,
    targets: Targets = None,
    chips: Chips = None,
    calibration: Calibration = None,
    evaluate: Evaluate = None,
    metric: Metric = None,
    sram: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Limit of SRAM, such as 512K; weights count where they lie in SRAM.",
        ),
    ] = None,
    dram: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Limit of DRAM in use, such as 8M, of targets whose tools estimate it."),
    ] = None,
    flash: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Limit of the size of the .pte, weights included, such as 2M.")
    ] = None,
    latency: Annotated[
        str | None, typer.Option(metavar="TIME", help="Limit of the estimated time of an inference, such as 30ms.")
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Limit of the loss of --metric: 1% of the float model's, or 0.01 in its units.")
    ] = None,
    sqnr: Annotated[
        str | None,
        typer.Option(metavar="DB", help="Least signal-to-noise ratio of the worst output, such as 25dB."),
    ] = None,
    points: Annotated[
        int, typer.Option(min=1, help="The most combinations to try; a smaller space is tried completely.")
    ] = _POINTS,
    study: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of results; the same command continues from it. Default: NAME.sweep"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; default: one for each core.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Limit of the memory of each process, such as 4G; default: an equal share of this machine's.",
        ),
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Work on a dask cluster, such as tcp://10.0.0.1:8786.")
    ] = None,
    output: Page = None,
    trust: Trust = False,
    input_shape: InputShapes = None,
    input_value: InputValues = None,
) -> Result:
    """Try many ways to compile a model: the Pareto front, and the cheapest that meets the limits."""
    limits = parse_limits(sram, flash, latency, drop, sqnr, dram)
    sources = sources_of(model, calibration, evaluate, metric, trust, input_shape, input_value)
    _require_data(limits, evaluate, metric)
    require_page(output)
    chosen = _space(space, targets, chips, lambda: default_scheme(model, sources), limits.sram)
    for parameters in chosen.all_parameters():
        sources.require(dict(parameters))
    if dask is not None and (workers is not None or memory is not None):
        raise UsageError(
            "--workers and --memory are for processes on this machine; the workers of --dask have their own"
        )
    folder = study or Path(f"{Path(model.rpartition(':')[0] if '.py:' in model else model).stem}.sweep")
    wanted = min(points, len(chosen))
    note_calibration(calibration, chosen.schemes)
    say(f"note: trying {wanted} of {len(chosen)} points; results are kept in {folder}")
    engine = _engine(dask, min(workers or default_workers(), wanted), memory)
    try:
        with progress() as shown:
            results = sweep_points(
                chosen,
                sources,
                folder,
                engine,
                limits=limits,
                judged=evaluate is not None,
                most=points,
                progress=lambda done, wanted: shown("points", done, wanted),
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; what was found is in {folder}: the same command goes on") from None
    best = answer(results, list(chosen.targets), limits)
    return _result(results, best, chosen, sources, limits, output)


def _space(
    path: Path | None, targets: str | None, chips: str | None, scheme: Callable[[], str], sram: int | None
) -> Space:
    named = targets is not None or chips is not None
    if (path is not None) == named:
        raise UsageError(
            "give --targets NAMES, --chips NAMES or both, or else --space FILE.toml with tables such as "
            '[chips."alif-*"]'
        )
    if path is not None:
        return read_space(path, scheme)
    return Space({name: _within(name, sram) for name in devices_named(targets, chips)}, [scheme()])


def _within(device: str, sram: int | None) -> dict[str, list[str]]:
    """The options of a chip, if it has more SRAM than is allowed, that have the program made for so much."""
    chip = plugins.chips().get(device)
    own = None if chip is None else chip.options.get("sram_size")
    if sram is None or own is None:
        return {}
    try:
        has_more = size_of(own, "sram_size") > sram
    except UsageError:  # the point of this chip fails with it, and spares the others
        return {}
    return {"sram_size": [size_text(sram)]} if has_more else {}


def _require_data(limits: Limits, evaluate: str | None, metric: str | None) -> None:
    if limits.drop is not None and metric is None:
        raise UsageError("--drop limits the loss of a metric: give --metric file.py:function, or use --sqnr")
    if limits.sqnr is not None and evaluate is None:
        raise UsageError("--sqnr is judged on samples: give them with --evaluate")


def _engine(dask: str | None, workers: int, memory: str | None) -> Engine:
    if dask is not None:
        from ..sweep.dask_engine import Dask

        return Dask(dask)
    return Pool(workers, None if memory is None else size_of(memory, "--memory"))


def _result(
    results: Sequence[PointResult],
    best: Answer,
    space: Space,
    sources: FileSources,
    limits: Limits,
    output: Path | None,
) -> Result:
    known = [result for result in results if isinstance(result.outcome, Evaluation)]
    title = f"Pareto front: {len(best.front)} of {len(known)} points"
    heads, rows = rows_of(best.front)
    verdict = _verdict(best, limits, sources, results)
    failed = [_failure(group) for group in best.failures]
    noted = notes_of(known)
    if output is not None:
        commands = [command_of(result.point, sources) for result in best.front]
        notes = [*verdict, *failed, *noted]
        write_atomic(output, page(f"{sources.model}: {title}", heads, rows, commands=commands, notes=notes))
        say(f"note: the page is in {output}")

    def show(console: Console) -> None:
        console.print(table(title, heads, rows))
        for text in [*failed, *noted, *verdict]:
            console.print(text, markup=False, soft_wrap=True)

    data: dict[str, Any] = {
        "model": sources.model,
        "points": len(results),
        "of": len(space),
        "front": [json_of(result, sources) for result in best.front],
        "chosen": None if best.chosen is None else json_of(best.chosen, sources),
        "nearest": None if best.nearest is None else json_of(best.nearest, sources),
        "missed": {miss.limit: miss.text for miss in best.missed},
        "results": [json_of(result, sources) for result in results],
    }
    return Result(data, show, status=int(bool(limits) and best.chosen is None))


def _failure(group: Sequence[PointResult]) -> str:
    """What became of points that failed alike."""
    first = group[0]
    assert isinstance(first.outcome, Failure)
    if len(group) == 1:
        return f"{first.point} failed: {first.outcome.line}"
    return f"{len(group)} points failed, such as {first.point}: {first.outcome.line}"


def _verdict(best: Answer, limits: Limits, sources: FileSources, results: Sequence[PointResult]) -> list[str]:
    """The answer in words."""
    if not limits:
        return ["Each row's command: --json, or -o FILE.html"] if best.front else []
    if best.chosen is not None:
        point = best.chosen.point
        alike = [r.point.target for r in results if r.point.work == point.work and r.point.target != point.target]
        also = [f"It is the same on {', '.join(alike)}."] if alike else []
        return [f"The cheapest that meets the limits is {point}:", f"  {command_of(point, sources)}", *also]
    if best.nearest is None:
        return ["Impossible: nothing could be compiled."]
    missed = "; ".join(f"{miss.limit} is {miss.text}" for miss in best.missed)
    point = best.nearest.point
    return [f"Impossible. The nearest is {point}: {missed}", f"  {command_of(point, sources)}"]
