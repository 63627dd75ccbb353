"""Points and what they come to, as a table, as JSON, and as the command that makes each."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..plugin import entry_points as plugins
from ..support.durations import milliseconds
from ..support.memory_size import kib
from ..sweep.point import AS_IS, Evaluation, Failure, Point, Result
from .sweep_sources import FileSources, data_file, model_with

_COLUMNS = ("target", "quantize", "options", "latency", "SRAM", "DRAM", "DRAM traffic", ".pte", "on CPU")
_ACCURACY = ("metric", "drop", "SQNR")


def rows_of(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Heads of the columns that these results fill, and a row for each; what nobody knows is a dash."""
    cells = [_cells(result) for result in results]
    heads = [head for head in (*_COLUMNS, *_ACCURACY) if any(head in row for row in cells)]
    return heads, [[row.get(head, "–") for head in heads] for row in cells]


def _cells(result: Result) -> dict[str, str]:
    point, outcome = result.point, result.outcome
    cells = {"target": point.target, "quantize": point.scheme}
    if options := "\n".join(f"{key}={value}" for key, value in (*point.parameters, *point.options)):
        cells["options"] = options
    return cells | (_figures(outcome) if isinstance(outcome, Evaluation) else {})


def _figures(evaluation: Evaluation) -> dict[str, str]:
    figures, accuracy = evaluation.figures, evaluation.accuracy
    cells = {".pte": kib(figures.file_bytes)}
    if figures.on_cpu:
        cells["on CPU"] = f"{figures.on_cpu:,} operators"
    if evaluation.latency is not None:
        cells["latency"] = milliseconds(evaluation.latency)
    if figures.sram_bytes is not None:
        cells["SRAM"] = kib(figures.sram_bytes)
    if figures.dram_bytes:
        cells["DRAM"] = kib(figures.dram_bytes)
    if figures.traffic:
        cells["DRAM traffic"] = figures.traffic
    if accuracy is None:
        return cells
    if accuracy.metric is not None:
        cells["metric"] = f"{accuracy.metric:.4g}"
    if accuracy.drop is not None:
        cells["drop"] = f"{accuracy.drop:.4g}"
    if accuracy.sqnr_db is not None:
        cells["SQNR"] = f"{accuracy.sqnr_db:.1f} dB" if math.isfinite(accuracy.sqnr_db) else "exact"
    return cells


def notes_of(results: Sequence[Result]) -> list[str]:
    """Notes of chips; who estimates, where that is not the target's compiler; what estimates leave out; each once."""
    notes: dict[str, None] = {}
    chips = plugins.chips()
    for result in results:
        if isinstance(result.outcome, Evaluation):
            figures, target = result.outcome.figures, result.point.target
            if target in chips and chips[target].note:
                notes[f"{target}: {chips[target].note}"] = None
            if figures.estimated_by:
                what = "latency and DRAM are" if figures.instructions is None else "latency is"
                notes[f"{target}: {what} estimated by the {figures.estimated_by}"] = None
            notes |= {f"{target}: {note}": None for note in figures.notes}
    return list(notes)


def command_of(point: Point, sources: FileSources) -> str:
    """The command that compiles a point."""
    parameters = dict(point.parameters)
    flag = "--chip" if point.target in plugins.chips() else "--target"
    words = ["arm-tosa", "compile", model_with(sources.model, parameters), flag, point.target]
    if point.scheme not in ("float", AS_IS):
        words += ["--quantize", point.scheme]
        if sources.calibrate is not None:
            words += ["--calibration", str(data_file(sources.calibrate, parameters))]
    words += [word for shape in sources.shapes for word in ("--input-shape", shape)]
    words += [word for value in sources.values for word in ("--input-value", value)]
    words += [word for key, value in point.options for word in ("--option", f"{key}={value}")]
    return shlex.join([*words, "-o", "out.pte"])


def json_of(result: Result, sources: FileSources) -> dict[str, Any]:
    """A result as JSON values; infinity, which JSON lacks, is null."""
    point, outcome = result.point, result.outcome
    chip = plugins.chips().get(point.target)
    data: dict[str, Any] = {
        "target": point.target if chip is None else chip.target,
        "chip": None if chip is None else chip.name,
        "quantize": point.scheme,
        "options": dict(point.options),
        "parameters": dict(point.parameters),
        "command": command_of(point, sources),
    }
    if isinstance(outcome, Failure):
        return {**data, "error": outcome.reason}
    accuracy = None if outcome.accuracy is None else {k: finite(v) for k, v in asdict(outcome.accuracy).items()}
    if accuracy is not None and outcome.accuracy is not None:
        accuracy["drop"] = outcome.accuracy.drop
    return {**data, "figures": outcome.figures.to_json(), "latency_s": outcome.latency, "accuracy": accuracy}


def finite(value: float | None) -> float | None:
    """JSON has no infinity: it is null."""
    return value if value is not None and math.isfinite(value) else None
