"""``arm-tosa``: one module per command; this one only puts them together."""

from __future__ import annotations

import signal
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from ..compat.light_imports import alone_in_process
from ..support.garbage import collect_seldom, end_without_collection
from .accuracy import accuracy
from .chip import chips, with_chip
from .compare import compare
from .compile import compile_
from .deploy import deploy
from .doctor import doctor, targets
from .explain import explain
from .extract import extract
from .first_checks import ToldAtOnce
from .generate import generate
from .keep import quantize
from .making import Group
from .report import Result, command, with_whole_streams
from .run import run
from .sweep import sweep
from .verify import verify
from .view import view

app = typer.Typer(
    name="arm-tosa",
    cls=Group,
    help="Compile PyTorch models for Arm accelerators through TOSA.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
_COMMANDS: dict[str, Callable[..., Result]] = {
    "targets": targets,
    "chips": chips,
    "doctor": doctor,
    "compile": compile_,
    "explain": explain,
    "quantize": quantize,
    "accuracy": accuracy,
    "compare": compare,
    "sweep": sweep,
    "deploy": deploy,
    "run": run,
    "generate": generate,
    "verify": verify,
    "extract": extract,
    "view": view,
}


def _version(asked: bool) -> None:
    if asked:
        print(f"arm-tosa {version('arm-tosa-core')}")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compile PyTorch models for Arm accelerators through TOSA."""


class _ToldToEnd(BaseException):
    """By a signal. No ``SystemExit``: that of a plugin's code, or of a user's, is taken as an error of that code."""


def _end(number: int, _frame: object) -> None:
    raise _ToldToEnd(number)


for name, function in _COMMANDS.items():
    app.command(name, cls=ToldAtOnce)(command(with_chip(function)))


def main() -> None:
    """The console script; when it is told to end, it kills the tools that it runs, and removes temporary files."""
    collect_seldom()
    alone_in_process()
    signal.signal(signal.SIGTERM, _end)
    with_whole_streams()
    try:
        app()
    except _ToldToEnd as told:
        raise SystemExit(128 + told.args[0]) from None
    finally:
        end_without_collection()
