"""``arm-tosa explain``: what of a model a target takes, and why not the rest."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.console import Console

from ..plugin import entry_points as plugins
from .model import FORMS, load_program
from .options import Calibration, Options, Quantize, TargetName, compile_spec_for, parse_options
from .quantize import hint, prepare
from .refusals import data_of, table_of
from .report import Result, say, table


def explain(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=FORMS.capitalize() + ".")],
    target: TargetName,
    quantize: Quantize = None,
    calibration: Calibration = None,
    option: Options = None,
) -> Result:
    """Say what would be delegated, and for each operator that would not: where it is, why not, and what to do."""
    spec = compile_spec_for(plugins.target(target), parse_options(option))
    program = prepare(load_program(model), spec, quantize, calibration)
    from ..exir.explain import explain as explain_program

    report = explain_program(program, spec)
    if advice := hint(program, spec):
        say(f"note: {advice}")

    def show(console: Console) -> None:
        counts = Counter(row.target for row in report.delegated)
        rows = [(name, str(count)) for name, count in sorted(counts.items())]
        console.print(table(f"delegated to {target}: {len(report.delegated)} operators", ("operator", "count"), rows))
        if report.rejected:
            console.print(table_of(report))
        else:
            console.print("no operator stays on the CPU")

    return Result({"target": target, **data_of(report)}, show)
