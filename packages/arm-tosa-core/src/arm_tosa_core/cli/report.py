"""What every command shares: ``--json``, ``--debug``, where output goes, and how it ends.

The result goes to standard output, as a table or as JSON; everything else goes to standard error. A command ends with
status 0 if it met the whole request, 1 with an error of one paragraph if not, 2 for a wrong command line, and 130 if it
was interrupted.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import logging
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..support.errors import ArmTosaError
from ..support.printable import printable
from .first_checks import require_readable


@dataclass(frozen=True)
class Result:
    """What a command found: the value for ``--json``, how to show it to a person, and the exit status."""

    data: Any
    show: Callable[[Console], None]
    status: int = 0


#: Standard output, while a command runs whose result is not wanted as JSON.
_pieces: ContextVar[TextIO | None] = ContextVar("pieces", default=None)
_INTERRUPTED = 130  # as shells do: 128 and the number of SIGINT
_UNWRAPPED = 10_000  # columns

_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and every library's warnings.")]


def command(function: Callable[..., Result]) -> Callable[..., None]:
    """Adds ``--json`` and ``--debug`` to a command and turns its result or error into output and an exit status."""

    @functools.wraps(function)
    def wrapper(*args: Any, as_json: bool, debug: bool, **kwargs: Any) -> None:
        out = sys.stdout
        try:
            _pieces.set(None if as_json else out)
            # A library that prints must not spoil the result, above all not the JSON.
            with contextlib.redirect_stdout(sys.stderr), _warnings(debug):
                require_readable(kwargs)
                result = function(*args, **kwargs)
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                raise
            text = _message(error)
            say(f"error: {text}")
            if as_json:
                _give(out, lambda: _print_json(_document({"error": text}), out))
            raise typer.Exit(_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1) from None
        _give(out, lambda: _print_json(_document(result.data), out) if as_json else result.show(_console(out)))
        if result.status:
            raise typer.Exit(result.status)

    signature = inspect.signature(function, eval_str=True)
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in (("as_json", _Json), ("debug", _Debug))
    ]
    parameters = [*signature.parameters.values(), *extra]
    del wrapper.__wrapped__
    vars(wrapper)["__signature__"] = signature.replace(parameters=parameters, return_annotation=None)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


def with_whole_streams() -> None:
    """Makes the standard streams take all that is written to them, whatever the shell and the locale made of them."""
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:  # closed
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # as long as the process
        else:  # names of files need not be text, and a locale may have no lines to draw tables with
            stream.reconfigure(errors="backslashreplace")


def _give(out: TextIO, write: Callable[[], None]) -> None:
    """Writes a result to standard output."""
    try:
        write()
        out.flush()
    except BrokenPipeError:
        raise  # the reader has enough, as ``head`` does: typer ends without a word
    except OSError as error:
        say(f"error: cannot write to the standard output: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # for what Python writes at its end
        raise typer.Exit(1) from None


def piece(text: str) -> None:
    """Prints a piece of the result as soon as it is known, to standard output; nothing with ``--json``."""
    if (out := _pieces.get()) is not None:
        print(printable(text), end="", file=out, flush=True)


def say(text: str) -> None:
    """Prints a note for a person, to standard error."""
    print(printable(text), file=sys.stderr)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, heads: bool = True) -> Table:
    """A table of plain text cells, with or without the heads of its columns."""
    grid = Table(title=escape(title) or None, title_justify="left", min_width=len(title), show_header=heads)
    for column in columns:
        grid.add_column(escape(column), overflow="fold")  # a cut-off name is of no use
    for row in rows:
        grid.add_row(*(escape(cell) for cell in row))
    return grid


class _Console(Console):
    """Shows names that come from files, in cells of tables as well, without what they might do to the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        """The text as rich prints it."""
        return super().render_str(printable(text), **options)


def _console(out: TextIO) -> Console:
    """As wide as the terminal; where there is none, nothing is wrapped, so that other programs find whole lines."""
    known = out.isatty() or "COLUMNS" in os.environ
    return _Console(file=out, width=None if known else _UNWRAPPED)


#: The version of ``schema.json``, which says what ``--json`` prints.
SCHEMA = "1.0"


def _document(data: Any) -> Any:
    """What ``--json`` prints of a command's result: an object says by which version of the schema it is."""
    return _finite({"schema": SCHEMA, **data} if isinstance(data, dict) else data)


def _print_json(data: Any, out: TextIO) -> None:
    json.dump(data, out, indent=2, allow_nan=False)
    out.write("\n")


def _finite(data: Any) -> Any:
    """JSON has neither infinity nor NaN: they are null."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _message(error: BaseException) -> str:
    if isinstance(error, ArmTosaError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return str(error) or "interrupted; nothing was written"
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return (
        f"{type(error).__name__}: {' '.join(str(error).split())}\n"
        "This was not foreseen: run the command again with --debug and report the traceback."
    )


@contextlib.contextmanager
def _warnings(debug: bool) -> Iterator[None]:
    """Shows our own warnings as one line each; what libraries warn of and log, of no use to a user, only in debug."""
    if debug:
        yield
        return

    def show(message: Warning | str, category: type[Warning], filename: str, *_: object, **__: object) -> None:
        if category.__module__.startswith("arm_") or "arm_tosa" in filename:
            say(f"warning: {message}")

    logging.disable(logging.ERROR)  # PyTorch logs tracebacks of errors that it also raises
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield
    finally:
        logging.disable(logging.NOTSET)
