"""``arm-tosa explain``: what of a model a target takes, and why not the rest; of a compiled file, its plan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..exir.target_options import compile_spec_for
from ..plugin import entry_points as plugins
from ..support.errors import UsageError
from .model import load_program
from .options import Calibration, Options, Quantize, Trust, parse_options
from .payload_plan import explain_payload, target_of
from .quantize import hint, prepare
from .refusals import data_of, table_of
from .report import Result, say, table


def explain(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A .pt2 file (torch.export.save), file.py:function, or a compiled .vgf."),
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
        raise UsageError("say for which target: --target NAME, one of `arm-tosa targets`")
    spec = compile_spec_for(plugins.target(target), parse_options(option))
    program = prepare(load_program(model, trust=trust), spec, quantize, calibration).program
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
