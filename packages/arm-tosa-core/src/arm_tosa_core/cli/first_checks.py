"""What a command finds out before it begins, all at once: options that are missing, files that are not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from ..frontends import FORMATS
from ..plugin import entry_points as plugins
from ..support.errors import UsageError
from .options import parse_shapes, parse_values

#: Parameters that name files to read.
READ = (
    "model",
    "models",
    "file",
    "program",
    "calibration",
    "evaluate",
    "metric",
    "transform",
    "bundle",
    "inputs",
    "data",
    "tosa",
    "space",
    "tokenizer",
)
#: Of them those that may be another word; this begins or ends a file.
_OR_A_WORD = {"metric": ".py", "transform": ".py"}
#: Suffixes of files that MODEL may name.
_MODELS = (".py", ".pt2", ".pte", *FORMATS)
#: By a parameter that needs no others: the flag that says so.
_ALONE = "print_stages"


class ToldAtOnce(TyperCommand):
    """A command whose error names all required options that are missing, and the files that are not there."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        required = [parameter for parameter in self.params if parameter.required]
        for parameter in required:
            parameter.required = False
        try:
            rest = super().parse_args(ctx, args)
        finally:
            for parameter in required:
                parameter.required = True
        if ctx.resilient_parsing or ctx.params.get(_ALONE):
            return rest
        given = ctx.params
        lacking = [_name(parameter) for parameter in required if given.get(parameter.name) in (None, (), [])]
        if getattr(self.callback, "needs_target", False) and given["target"] is None and given["chip"] is None:
            lacking.append("--target (a name from `arm-tosa targets`) or --chip (one from `arm-tosa chips`)")
        if lacking:
            ctx.fail("; ".join([f"Missing: {', '.join(lacking)}", *missing_files(given)]))
        return rest


def _name(parameter: Any) -> str:
    return parameter.metavar if parameter.param_type_name == "argument" else " / ".join(parameter.opts)


def require_readable(given: Mapping[str, Any]) -> None:
    """Does nothing where all files that a command reads are there, and sizes and numbers of inputs can be read.

    Where they are not, names of devices are looked up, too.

    Args:
        given: the command's arguments by name.

    Raises:
        UsageError: what is wrong, all of it.
    """
    wrong = list(missing_files(given))
    wrong += _refusals(given, input_shape=parse_shapes, input_value=parse_values)
    if wrong:
        raise UsageError("; ".join([*wrong, *_refusals(given, target=plugins.target, chip=plugins.chip)]))


def _refusals(given: Mapping[str, Any], **checks: Callable[[Any], object]) -> list[str]:
    """What checks of arguments, by their names, have against those that are given."""
    wrong = []
    for name, check in checks.items():
        try:
            if given.get(name):
                check(given[name])
        except UsageError as error:
            wrong.append(str(error))
    return wrong


def missing_files(given: Mapping[str, Any]) -> Iterator[str]:
    """A clause for each file that is to be read, and is not there."""
    for name in READ:
        words = given.get(name) or ()
        for word in words if isinstance(words, list | tuple) else (words,):
            file = _file(name, str(word))
            if file and not os.path.exists(file):
                yield f"cannot read {file}: no such file"


def _file(name: str, word: str) -> str:
    """The file that a word names; empty: none, or not one alone."""
    before, colon, _ = word.partition(".py:")
    file = f"{before}.py" if colon else word
    suffix = Path(file).suffix
    if (name in _OR_A_WORD and suffix != _OR_A_WORD[name]) or "{" in file:
        return ""
    return "" if name in ("model", "models") and suffix not in _MODELS else file
