"""``arm-tosa explain``: what of a model a target takes, and why not the rest; of a compiled file, its plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..exir.target_options import compile_spec_for
from ..plugin import entry_points as plugins
from ..plugin.target import Step, Target
from ..support.errors import UsageError
from .compiled_delegates import data_of, table_of
from .files import read
from .model import FORMS, load_program, require_file
from .options import Calibration, InputShapes, InputValues, Options, Quantize, Trust, parse_options
from .quantize import hint, prepare
from .report import Result, say, table


def explain(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help=f"{FORMS.capitalize()}, or a compiled .vgf."),
    ],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="A name from `arm-tosa targets`; a model needs it.")
    ] = None,
    quantize: Quantize = None,
    calibration: Calibration = None,
    option: Options = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="For a compiled .vgf: the engine whose plan is shown, such as compute. Default: the one that runs the "
            "file on this machine."
        ),
    ] = None,
    trust: Trust = False,
    input_shape: InputShapes = None,
    input_value: InputValues = None,
) -> Result:
    """List the operators that the target takes, and the reason for each that stays on the CPU.

    Each reason comes with the source line and with what to do. For a compiled .vgf: the steps of its run here.
    """
    if (owner := target_of(Path(model))) is not None:
        if target or quantize or calibration or option:
            raise UsageError(f"{model} is compiled already; of the options, explain takes --engine with it")
        return explain_payload(Path(model), owner, engine)
    if engine is not None:
        raise UsageError(f"--engine is for compiled files, and {model} is a model: compile it first")
    if target is None:
        raise UsageError(
            "say for which target: --target NAME, one of `arm-tosa targets`, or --chip NAME, one of `arm-tosa chips`"
        )
    spec = compile_spec_for(plugins.target(target), parse_options(option))
    program = prepare(
        load_program(model, trust=trust, shapes=input_shape, values=input_value), spec, quantize, calibration
    ).program
    from ..exir.explain import explain as explain_program

    report = explain_program(program, spec)
    if advice := hint(program, spec, quantize):
        say(f"note: {advice}")

    def show(console: Console) -> None:
        counts = Counter(row.target for row in report.delegated)
        rows = [(name, str(count)) for name, count in sorted(counts.items())]
        if rows:
            console.print(
                table(f"delegated to {target}: {len(report.delegated)} operators", ("operator", "count"), rows)
            )
        else:
            console.print(f"no operator is delegated to {target}")
        if report.rejected:
            console.print(table_of(report))
        else:
            console.print("no operator stays on the CPU")

    return Result({"target": target, **data_of(report)}, show)


def target_of(file: Path) -> Target | None:
    """The target in whose own format a file is, by its suffix; None: a model."""
    if file.suffix in ("", ".pt2", ".tosa") or file.suffix.startswith(".py"):
        return None  # without loading a plugin
    if file.suffix == ".pte":
        require_file(file)
        raise UsageError(
            f"{file} is a compiled program: explain the model, or write its payloads to files with "
            f"`arm-tosa extract {file} -o FOLDER` and explain those"
        )
    matching = [target for target in plugins.targets().values() if target.compiler.suffix == file.suffix]
    return next((target for target in matching if target.host.plan), matching[0] if matching else None)


def explain_payload(file: Path, target: Target, engine: str | None) -> Result:
    """The plan of a file in the target's format.

    Raises:
        UsageError: the target has no plan to show here.
    """
    if target.host.plan is None:
        raise UsageError(
            f"target {target.name!r} has no plan to show on this machine: explain the model instead, with --target. If "
            "files of this target have a plan elsewhere, `arm-tosa doctor` lists what is missing here"
        )
    steps = target.host.plan(read(file), engine)

    def show(console: Console) -> None:
        columns = list(steps[0]) if steps else []
        rows = [[_cell(step[name]) for name in columns] for step in [*steps, _sums(steps)]]
        console.print(table(f"{file}: {len(steps)} steps, and the sums of their numbers", columns, rows))

    return Result({"target": target.name, "plan": [dict(step) for step in steps]}, show)


def _cell(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _sums(steps: Sequence[Step]) -> dict[str, str | int]:
    """Of each column of numbers; texts are empty."""
    sums: dict[str, str | int] = {}
    for step in steps:
        for name, value in step.items():
            before = sums.get(name, 0)
            sums[name] = before + value if isinstance(value, int) and isinstance(before, int) else ""
    return sums
