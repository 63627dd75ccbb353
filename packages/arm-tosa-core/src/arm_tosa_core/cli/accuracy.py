"""``arm-tosa accuracy``: what quantization costs, operator by operator, and which layers to keep in 16 bits."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..exir.target_options import compile_spec_for
from ..plugin import entry_points as plugins
from ..report.page import require_page, write_page
from ..report.page_data import page_data
from ..support.atomic_files import require_writable, write_atomic
from ..support.errors import UsageError
from .calibration import samples
from .making import making
from .model import load_function, load_program
from .options import InputShapes, InputValues, Options, TargetName, Trust, parse_options
from .program_costs import program_costs
from .progress import progress
from .report import Result, say, table
from .results_table import finite
from .text_accuracy import PERPLEXITY, TEXT, text_accuracy

if TYPE_CHECKING:
    from ..accuracy.compare import Comparison, OutputError
    from ..accuracy.search_result import Goal, Point, Search

_SHOWN = 20


def accuracy(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A .pt2, .onnx, .tflite or .tosa file in float, or file.py:function. With --evaluate text.txt: "
            "file.py:function that returns a causal language model of transformers.",
        ),
    ],
    target: TargetName,
    calibration: Annotated[
        Path, typer.Option(help=".npz to calibrate with: an array per input, samples first; or a .txt.")
    ],
    evaluate: Annotated[
        Path,
        typer.Option(
            help=".npz with samples to judge with: not those of --calibration. A .txt judges a language model by its "
            "perplexity, read through its cache in order."
        ),
    ],
    scheme: Annotated[
        str,
        typer.Option(
            "--quantize", "--scheme", help="int8, int16x8 (a16w8), int8x4 (a8w4), or a .json file of this command."
        ),
    ] = "int8",
    budget: Annotated[
        str | None,
        typer.Option(
            help="cycles=+10%: look for layers to keep in 16 bits, for at most 10 % more cycles. Also sram_kib, "
            "flash_kib, and absolute numbers, such as cycles=2000000."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="file.py:function that judges in place of the SQNR. It is called as function(float_outputs, outputs, "
            "samples), three lists with one element per sample, and returns a number; higher is better. For a text: "
            "perplexity, the only choice."
        ),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            help="Look for the cheapest scheme whose --metric is at most this much below that of float, in its own "
            "units. Without --metric: whose SQNR is at most this many dB below that of int16x8."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the report as one .html page.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="Write the scheme that --budget or --max-drop finds, for `compile --quantize`."),
    ] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="For a language model: its tokenizer.json.")] = None,
    context: Annotated[
        int, typer.Option(min=2, help="For a language model: the longest text in tokens; longer ones are cut.")
    ] = 256,
    option: Options = None,
    trust: Trust = False,
    input_shape: InputShapes = None,
    input_value: InputValues = None,
) -> Result:
    """Compare a quantized model with float, operator by operator."""
    if config is not None:
        if config.suffix != ".json":
            raise UsageError(f"{config}: the suffix must be .json")
        require_writable(config)
    if output is not None:
        require_page(output)
    if max_drop is not None:
        say("note: --max-drop goes away with version 0.2: `arm-tosa quantize --keep 99%` asks for a part of the metric")
    if config is not None and budget is None and max_drop is None:
        raise UsageError("--config is for the scheme that --budget or --max-drop finds")
    spec = compile_spec_for(plugins.target(target), parse_options(option))
    if not spec.tosa_spec.support_integer():
        raise UsageError(f"target {target!r} takes {spec.tosa_spec}, which has no integers to quantize to")
    from ..accuracy.scheme import ALIASES, SCHEMES, Scheme, read_scheme, unknown_scheme
    from ..lowering.exported_program import is_quantized

    if not scheme.endswith(".json") and scheme not in (*SCHEMES, *ALIASES):
        raise unknown_scheme(scheme, (*SCHEMES, *ALIASES))
    chosen = read_scheme(Path(scheme)) if scheme.endswith(".json") else Scheme(ALIASES.get(scheme, scheme))
    if evaluate.suffix == TEXT:
        if metric not in (None, PERPLEXITY) or budget is not None or max_drop is not None or output is not None:
            raise UsageError(
                f"a text judges by {PERPLEXITY} alone: without --metric, --budget, --max-drop and --output"
            )
        return text_accuracy(model, spec, calibration, evaluate, chosen, tokenizer, context)
    judge = None if metric is None else load_function(metric, "--metric")
    program = load_program(model, trust=trust, shapes=input_shape, values=input_value)
    if is_quantized(program):
        raise UsageError(
            f"{model} is quantized already, and this command compares a float model with what quantization makes of "
            "it: give the float model that it was made from. `verify --model` compares a quantized file with what is "
            "compiled from it"
        )

    from ..accuracy.model import Model
    from ..accuracy.search import search
    from ..accuracy.search_result import Goal, parse_budget

    goal = Goal(None if budget is None else parse_budget(budget), max_drop)
    with progress() as shown:
        calls = [list(samples(path, program)) for path in (calibration, evaluate)]
        judged = Model(program, spec, calls[0], calls[1], shown, judge)
        quantized = judged.quantize(chosen)
        comparison = judged.compare(quantized)
        outcome = None if goal == Goal() else search(judged, quantized, comparison, goal)
    if output is not None:
        import torch

        origin = making(f"{model}, {scheme} on {target}", spec)
        args, kwargs = judged.calibration[0]
        costs = program_costs(torch.export.export(quantized.converted, args, dict(kwargs)), spec)
        write_page(output, page_data(origin, *costs, comparison, outcome))
        say(f"note: the report is in {output}")
    if outcome is not None:
        say(
            f"note: the search among {outcome.units} layers took {outcome.seconds:,.0f} s: it quantized "
            f"{outcome.quantized} schemes, and the target made {outcome.estimated} estimates"
        )
    failure = None if outcome is None else _failure(outcome, goal, budget, scheme)
    if failure is not None:
        say(f"error: {failure}" + (f"; {config} was not written" if config else ""))
    elif config is not None and outcome is not None and outcome.chosen is not None:
        write_atomic(config, outcome.chosen.scheme.to_json())
        say(f"note: the scheme is in {config}; compile it with --quantize {config}")
    data = {"model": model, "target": target, "scheme": asdict(chosen), **_data(comparison, outcome)}
    return Result(data, lambda console: _show(console, comparison, outcome), status=int(failure is not None))


def _failure(search: Search, goal: Goal, budget: str | None, scheme: str) -> str | None:
    """Why there is nothing to write; None if there is."""
    if search.chosen is None:
        best = max((p for p in search.points if p.cost <= search.bounds.most), key=lambda point: point.value)
        within = "" if budget is None else f"within {budget} "
        return (
            f"{within}no scheme loses {goal.max_drop:g} at most: that needs {search.bounds.least:.4g}, and the best "
            f"that was found has {best.value:.4g} at {_cost(best.cost, search)} {search.figure}"
        )
    if goal.max_drop is None and not search.chosen.units:
        others = len(search.points) - 1
        raised = "the metric" if search.measure == "metric" else "the SQNR by more than chance"
        inside = sum(point.cost <= search.bounds.most for point in search.points) - 1
        return (
            f"of {others} schemes with layers in 16 bits that were measured, {inside} are within {budget}, and none of "
            f"these raises {raised}: {scheme} is kept"
        )
    return None


def _short(source: str) -> str:
    """The file without its folders, and the line; the whole is in the JSON and on the page."""
    path, comma, _ = source.partition(",")
    return Path(path).name if comma else ""


def _data(comparison: Comparison, search: Search | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "sqnr_db": finite(comparison.sqnr_db),
        "equal": comparison.equal,
        "metric": comparison.metric,
        "float_metric": comparison.float_metric,
        "outputs": [_plain(asdict(output)) for output in comparison.outputs],
        "samples": comparison.samples,
        "operators": [_plain(asdict(row)) for row in comparison.worst()],
    }
    if search is not None:
        data["search"] = {
            "figure": search.figure,
            "limit": finite(search.bounds.most),
            "least": finite(search.bounds.least),
            "points": [_point(point, search) for point in search.points],
            "units": search.units,
            "quantized": search.quantized,
            "estimated": search.estimated,
            "groups": [[asdict(unit) for unit in group] for group in search.groups],
        }
    return data


def _point(point: Point, search: Search) -> dict[str, Any]:
    return {
        "scheme": asdict(point.scheme),
        "units": list(point.units),
        "value": finite(point.value),
        "outputs": [_plain(asdict(output)) for output in point.outputs],
        "cost": point.cost,
        "pareto": point.pareto,
        "chosen": point == search.chosen,
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: finite(value) if isinstance(value, float) else value for key, value in row.items()}


def _of_the_worst(sqnr_db: float, comparison: Comparison) -> str:
    """Which output the figure is of, if there are several."""
    if len(comparison.outputs) < 2:
        return ""
    return f" (output {next(o.name for o in comparison.outputs if o.sqnr_db == sqnr_db)}, the worst)"


def _output_figures(output: OutputError) -> tuple[str, str]:
    return (
        "" if output.sqnr_db is None else f"{output.sqnr_db:.1f}",
        "" if output.equal is None else f"{100 * output.equal:.2f} %",
    )


def _show(console: Console, comparison: Comparison, search: Search | None) -> None:
    rows = comparison.worst()
    figures = [] if comparison.metric is None else [f"metric {comparison.metric:g} (float {comparison.float_metric:g})"]
    if comparison.sqnr_db is not None:
        figures.append(f"SQNR {comparison.sqnr_db:.1f} dB end to end{_of_the_worst(comparison.sqnr_db, comparison)}")
    if comparison.equal is not None:
        figures.append(f"{100 * comparison.equal:.2f} % of the integers that come out are equal")
    console.print(", ".join([*figures, f"{comparison.samples} samples, {len(rows)} operators"]), markup=False)
    if len(comparison.outputs) > 1:
        ends = [(output.name, *_output_figures(output)) for output in comparison.outputs]
        console.print(table("Outputs", ("output", "SQNR, dB", "equal"), ends))
    cells = [
        (
            f"{row.name}\n{row.operator}",
            f"{row.sqnr_db:.1f}",
            "" if row.own_sqnr_db is None else f"{row.own_sqnr_db:.1f}",
            "–" if row.bits is None else str(row.bits),
            f"{row.range[0]:.3g} to {row.range[1]:.3g}",
            f"{100 * row.saturated:.2f} %",
            _short(row.source) or row.module,
        )
        for row in rows[:_SHOWN]
    ]
    columns = ("operator", "SQNR, dB", "own, dB", "bits", "range", "saturated", "where")
    console.print(table(f"The worst {len(cells)}", columns, cells))
    if search is None:
        return
    points = [
        (
            str(len(point.units)),
            f"{point.value:.4g}",
            _cost(point.cost, search),
            "chosen" if point == search.chosen else "" if point.pareto else "not worth it",
        )
        for point in search.points
    ]
    console.print(table(_bounds(search), ("in 16 bits", search.measure, search.figure, ""), points))
    groups = [("\n".join(u.name for u in group), "\n".join(_short(u.source) for u in group)) for group in search.groups]
    if groups:
        console.print(table("Units in 16 bits, each row together", ("units", "where"), groups))


def _cost(number: float, search: Search) -> str:
    """A figure of the target: a memory may be a part of a KiB."""
    return f"{number:,.2f}" if search.figure.endswith("_kib") else f"{number:,.0f}"


def _bounds(search: Search) -> str:
    """What was asked for."""
    parts = [f"{_cost(search.bounds.most, search)} {search.figure} at most"] if search.bounds.most < math.inf else []
    if search.bounds.least > -math.inf:
        parts.append(f"{search.measure} {search.bounds.least:.4g} at least")
    return ", ".join(parts)
