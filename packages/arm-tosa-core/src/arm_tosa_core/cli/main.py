"""``arm-tosa``: one module per command; this one only puts them together."""

from __future__ import annotations

from collections.abc import Callable

import typer

from .accuracy import accuracy
from .compile import compile_
from .doctor import doctor
from .explain import explain
from .extract import extract
from .report import Result, command
from .run import run
from .targets import targets
from .verify import verify

app = typer.Typer(
    name="arm-tosa",
    help="Compile PyTorch models for Arm accelerators through TOSA.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_COMMANDS: dict[str, Callable[..., Result]] = {
    "targets": targets,
    "doctor": doctor,
    "compile": compile_,
    "explain": explain,
    "accuracy": accuracy,
    "run": run,
    "verify": verify,
    "extract": extract,
}
for name, function in _COMMANDS.items():
    app.command(name)(command(function))


def main() -> None:
    """The console script."""
    app()
