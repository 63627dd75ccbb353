"""Names that come from files, on the terminal."""

from __future__ import annotations

import json
import warnings

import typer
from rich.console import Console
from typer.testing import CliRunner

from arm_tosa_core.cli.report import Result, command, piece, say, table
from arm_tosa_core.plugin.entry_points import PluginWarning
from arm_tosa_core.support.errors import UsageError

NAME = "a\x1b]0;owned\x07[bold]\x9b2J\u202eb"
SHOWN = "a\\x1b]0;owned\\x07[bold]\\x9b2J\\u202eb"


def show(fails: bool = False) -> Result:
    """Shows the name in each way that a command has."""
    piece(f"{NAME}\n")
    say(NAME)
    warnings.warn(NAME, PluginWarning, stacklevel=1)
    if fails:
        raise UsageError(NAME)

    def result(console: Console) -> None:
        console.print(NAME, markup=False)
        console.print(table(NAME, (NAME, "bytes"), [[NAME, "1"]]))

    return Result({"file": NAME}, result)


def test_control_characters_of_names_are_shown_and_do_nothing() -> None:
    app = typer.Typer()
    app.command()(command(show))
    for words in ([], ["--fails"]):
        done = CliRunner().invoke(app, words)
        shown = done.stdout.count(SHOWN), done.stderr.count(SHOWN)
        assert shown == ((1, 3) if words else (5, 2)), done.output
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(done.output)
    done = CliRunner().invoke(app, ["--json"])
    assert json.loads(done.stdout)["file"] == NAME and done.stdout.isascii()


def infinite() -> Result:
    """Numbers that JSON lacks."""
    row = {"shape": (1, 2), "dtype": "float32", "min": float("-inf"), "max": float("nan"), "file": None}
    return Result({"outputs": [row]}, lambda console: None)


def test_numbers_that_json_lacks_are_null() -> None:
    app = typer.Typer()
    app.command()(command(infinite))
    printed = CliRunner().invoke(app, ["--json"]).stdout
    (row,) = json.loads(printed)["outputs"]
    assert row == {"shape": [1, 2], "dtype": "float32", "min": None, "max": None, "file": None}
