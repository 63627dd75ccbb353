"""``arm-tosa quantize``: a quantized program that keeps the float model's accuracy, at the least cost found."""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..exir.target_options import compile_spec_for, spec_of_name
from ..plugin import entry_points as plugins
from ..report.page import require_page, write_page
from ..report.page_data import page_data
from ..support.atomic_files import require_writable, write_atomic
from ..support.errors import UsageError
from .calibration import labelled_samples
from .chip import chip_or, device
from .files import read
from .making import making
from .model import load_function, load_program
from .options import InputShapes, InputValues, Options, Trust, parse_options
from .program_costs import program_costs
from .progress import progress
from .report import Result, say, table
from .results_table import finite

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..accuracy.keep import Kept
    from ..accuracy.trials import Attempt
    from ..exir.compile_spec import ArmCompileSpec

_KEEP = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<percent>\s*%?)")
_METRICS = ("sqnr", "top1")


def quantize(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A float model: a .pt2, .onnx, .tflite or .tosa file, or file.py:function."
        ),
    ],
    calibration: Annotated[
        Path,
        typer.Option(
            help="What to learn from: an .npz with an array per input, samples first; or a folder, with --transform."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The quantized .pt2 to write.")],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="A name from `arm-tosa targets`; with --recipe alone: that of the recipe."),
    ] = None,
    evaluate: Annotated[
        Path | None,
        typer.Option(
            help="What judges, in the same forms: samples that are not in --calibration. An array `labels` in an .npz "
            "holds the right classes for top1."
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="sqnr: how much of the outputs' power is no error, 99% is 20 dB. top1: how many classes are right, by "
            "labels, or without labels as in float. Or file.py:function, called as function(float_outputs, outputs, "
            "samples), which returns one number, or a list with one for each sample; higher is better."
        ),
    ] = "sqnr",
    keep: Annotated[
        str | None, typer.Option(metavar="99%", help="The part of the float model's --metric that must be kept.")
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(
            help="How long the search may take: CPU time of its thread, and what it waits for the target's compiler, "
            "so that a busy machine changes it little."
        ),
    ] = 20.0,
    recipe: Annotated[
        Path | None,
        typer.Option(
            help="A .toml file. With --keep: where to write how it was done. Without: how to do it, without a search."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Write a page: what each step keeps against its cycles, and the costs of the result.",
        ),
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="Write the best that was found even if it does not keep --keep.")
    ] = False,
    transform: Annotated[
        str | None,
        typer.Option(
            help="file.py:function that makes a sample of a file of a folder: it is given the path, and returns a "
            "tensor or a tuple of the model's inputs, with the label behind them if there is one."
        ),
    ] = None,
    option: Options = None,
    trust: Trust = False,
    input_shape: InputShapes = None,
    input_value: InputValues = None,
) -> Result:
    """Quantize a model so that it keeps its accuracy, at the least cost found."""
    for path, suffix in ((output, ".pt2"), (recipe, ".toml")):
        if path is not None and path.suffix != suffix:
            raise UsageError(f"{path}: the suffix must be {suffix}")
    require_writable(output)
    if report is not None:
        require_page(report)
    load = partial(load_program, model, trust=trust, shapes=input_shape, values=input_value)
    if keep is None:
        if report is not None:
            raise UsageError("--report is for --keep: it shows the steps of a search")
        return _by_recipe(model, load, target, calibration, evaluate, output, recipe, transform, option)
    if target is None or evaluate is None:
        raise UsageError(f"--keep needs {'--target' if target is None else '--evaluate'}")
    if recipe is not None:
        require_writable(recipe)
    part = _part(keep)
    if evaluate.exists() and calibration.exists() and evaluate.samefile(calibration):
        raise UsageError(
            f"--evaluate is the data of --calibration, {calibration}: what was learned from must not judge"
        )
    from ..accuracy.keep import Minutes, quantize_to_keep

    budget = Minutes(minutes)
    spec = compile_spec_for(plugins.target(target), parse_options(option))
    if metric not in _METRICS and ":" not in metric:
        raise UsageError(f"unknown --metric {metric!r}: it is {', '.join(_METRICS)} or file.py:function")
    judge = metric if metric in _METRICS else load_function(metric, "--metric")
    read_file = None if transform is None else load_function(transform, "--transform")
    program = load()
    learned, _ = labelled_samples(calibration, program, read_file)
    judging, labels = labelled_samples(evaluate, program, read_file)
    with progress() as shown:
        found = quantize_to_keep(
            program,
            spec,
            learned,
            judging,
            judge,
            part,
            budget,
            labels=labels if metric == "top1" else None,
            identity=_identity(metric),
            progress=shown,
            tried=lambda attempt: say(f"note: {_line(attempt)}"),
        )
    for name, why in found.left_out.items():
        say(f"note: {name} was left out: {why}")
    if not found.is_kept:
        say(f"error: {_failure(found, keep)}")
    if found.is_kept or best:
        _save(output, found.program)
        if recipe is not None:
            how = replace(found.recipe, target=chip_or(target))
            write_atomic(recipe, how.to_toml(f"arm-tosa quantize --keep {keep}: {_line(found.chosen)}"))
    elif not best:
        say(f"note: {output} was not written; --best writes the best that was found")
    judged_by = _judged_by(metric, found.is_labelled)
    if report is not None:
        origin = making(f"{model}, {found.chosen.step} on {device(target)}", spec)
        costs = program_costs(found.program, spec)
        write_page(report, page_data(origin, *costs, kept=found, measure="" if metric == "sqnr" else judged_by))
        say(f"note: the report is in {report}")
    data = {"model": model, "target": target, "metric": metric, "judged_by": judged_by, "keep": part, **_data(found)}
    return Result(data, lambda console: _show(console, found, judged_by), status=int(not found.is_kept))


def _by_recipe(
    model: str,
    load: Callable[[], ExportedProgram],
    target: str | None,
    calibration: Path,
    evaluate: Path | None,
    output: Path,
    recipe: Path | None,
    transform: str | None,
    option: Sequence[str] | None,
) -> Result:
    if recipe is None:
        raise UsageError("say how much to keep, --keep 99%, or give the --recipe of a search before")
    if evaluate is not None:
        raise UsageError("--evaluate is for --keep: a recipe is not judged again; `arm-tosa accuracy` judges a scheme")
    from ..accuracy.keep import calls_of, quantize_by_recipe
    from ..accuracy.recipe import digest_of, read_recipe

    how = read_recipe(recipe)
    made_for = target or how.target
    if not made_for:
        raise UsageError(f"{recipe} names no target: give --target")
    spec: ArmCompileSpec = spec_of_name(made_for, parse_options(option))
    chip = plugins.chips().get(made_for)
    name = made_for if chip is None else chip.target
    read_file = None if transform is None else load_function(transform, "--transform")
    program = load()
    learned, _ = calls_of(program, labelled_samples(calibration, program, read_file)[0], "calibration")
    if how.calibration and how.calibration != digest_of(learned):
        say(f"warning: {recipe} was made with other calibration data: scales and weights will be others")
    with progress() as shown:
        made = quantize_by_recipe(program, spec, learned, how, shown)
    _save(output, made)
    data = {"model": model, "target": name, "recipe": asdict(how), "output": str(output)}
    return Result(data, lambda console: console.print(f"{output}: quantized for {name} by {recipe}", markup=False))


def _part(text: str) -> float:
    match = _KEEP.fullmatch(text.strip())
    number = 0.0 if match is None else float(match["number"]) / (100 if match["percent"] else 1)
    if not 0 < number <= 1:
        raise UsageError(f"--keep {text!r}: write a part of the float model's figure, such as 99%")
    return number


def _identity(metric: str) -> str | None:
    """A name for a function by its file; other files that it reads are the user's to mind."""
    if metric in _METRICS:
        return None
    path, _, function = metric.rpartition(":")
    return f"{hashlib.sha256(read(Path(path))).hexdigest()} {function}"


def _judged_by(metric: str, is_labelled: bool) -> str:
    if metric == "top1":
        return "classes that are right by the labels" if is_labelled else "classes that are as in float"
    return "1 - error / power of the worst output" if metric == "sqnr" else metric


def _save(path: Path, program: ExportedProgram) -> None:
    import torch

    for node in program.graph.nodes:
        node.meta.pop("from_node", None)  # addresses in memory, which differ from run to run
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    write_atomic(path, buffer.getvalue())


def _number(cost: dict[str, float] | None, name: str) -> float | None:
    return None if cost is None else cost.get(name)


def _figure(value: float) -> str:
    """Six digits; of what is nearly 1 so many that its distance from 1 has two."""
    missing = 1 - value
    return f"{value:.{1 - math.floor(math.log10(missing))}f}" if 0 < missing < 1e-4 else f"{value:.6g}"


def _line(attempt: Attempt) -> str:
    """An attempt in one line."""
    verdict = attempt.verdict
    value, exact, least = map(_figure, (verdict.value, verdict.float_value, verdict.least))
    words = [f"{attempt.step}: {value} of {exact} in float ({least} needed)"]
    if attempt.sqnr_db is not None:
        words.append(f"SQNR {attempt.sqnr_db:.1f} dB")
    if (cycles := _number(attempt.cost, "cycles")) is not None:
        words.append(f"{cycles:,.0f} cycles")
    return ", ".join([*words, str(verdict)])


def _failure(found: Kept, keep: str) -> str:
    best, verdict = found.chosen, found.chosen.verdict
    where = ", ".join(f"{row.name} ({_source(row.source) or row.operator})" for row in found.limits)
    behind = f"; the operators with the largest errors of their own are {where}" if where else ""
    cycles = _number(best.cost, "cycles")
    cost = "" if cycles is None else f" at {cycles:,.0f} cycles"
    return (
        f"nothing keeps {keep}: the best is {best.step} with {_figure(verdict.value)} of "
        f"{_figure(verdict.float_value)}{cost}, and {_figure(verdict.least)} is needed{behind}"
    )


def _source(source: str) -> str:
    path, comma, _ = source.partition(",")
    return Path(path).name if comma else ""


def _data(found: Kept) -> dict[str, Any]:
    return {
        "is_kept": found.is_kept,
        "says": str(found.chosen.verdict),
        "attempts": [
            {
                "step": each.step,
                "recipe": asdict(each.recipe),
                **asdict(each.verdict),
                "is_kept": each.verdict.is_kept,
                "sqnr_db": finite(each.sqnr_db),
                "cost": each.cost,
                "seconds": each.seconds,
                "chosen": each == found.chosen,
            }
            for each in found.attempts
        ],
        "left_out": dict(found.left_out),
        "limits": [{"name": row.name, "operator": row.operator, "source": row.source} for row in found.limits],
        "recipe": asdict(found.recipe),
    }


def _show(console: Console, found: Kept, judged_by: str) -> None:
    def cells(attempt: Attempt) -> tuple[str, ...]:
        costs = [_number(attempt.cost, name) for name in ("cycles", "sram_kib")]
        return (
            attempt.step,
            _figure(attempt.verdict.value),
            "–" if attempt.sqnr_db is None else f"{attempt.sqnr_db:.1f}",
            *("–" if cost is None else f"{cost:{style}}" for cost, style in zip(costs, (",.0f", ",.1f"), strict=True)),
            f"{attempt.seconds:.0f}",
            "chosen" if attempt == found.chosen else "",
        )

    least = found.chosen.verdict
    title = f"{judged_by}: {_figure(least.float_value)} in float, {_figure(least.least)} needed"
    columns = ("step", "kept", "SQNR, dB", "cycles", "SRAM, KiB", "s", "")
    console.print(table(title, columns, [cells(attempt) for attempt in found.attempts]))
    samples = "1 sample" if least.samples == 1 else f"{least.samples} samples"
    console.print(f"{found.chosen.step}: {least} ({samples})", markup=False)
