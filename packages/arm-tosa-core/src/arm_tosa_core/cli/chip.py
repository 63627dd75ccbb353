"""``--chip`` in place of ``--target``, for every command that has one; and ``arm-tosa chips``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Annotated, Any, get_args

import typer
from rich.console import Console

from ..plugin import entry_points as plugins
from ..plugin.chip import FACTS, Chip
from ..support.errors import UsageError
from .options import parse_options
from .report import Result, say, table

_HELP = (
    "In place of --target: a name from `arm-tosa chips`, which stands for a target with the clock and the memories of "
    "the chip."
)
_WINS = " An --option of yours wins over the chip's."
_chip: ContextVar[str | None] = ContextVar("chip", default=None)


def with_chip(function: Callable[..., Result]) -> Callable[..., Result]:
    """Adds ``--chip`` to a command that has ``--target``.

    The command is given the chip's target and options, or, where it takes no options, the chip's name for a target.
    """
    signature = inspect.signature(function, eval_str=True)
    if "target" not in signature.parameters:
        return function
    target = signature.parameters["target"]

    @functools.wraps(function)
    def wrapper(*, chip: str | None, **given: Any) -> Result:
        _chip.set(chip)
        if chip is None:
            return function(**given)
        if given["target"] is not None:
            raise UsageError(f"--chip {chip} has a target of its own: leave --target {given['target']} out")
        known = plugins.chip(chip)
        if known.note:
            say(f"note: {chip}: {known.note}")
        result = function(**{**given, **_stands_for(known, given)})
        return replace(result, data={"chip": chip, **result.data})

    kind, hint = get_args(target.annotation)
    optional = target.replace(default=None, annotation=Annotated[kind | None, hint])
    flag = typer.Option("--chip", metavar="NAME", help=_HELP + (_WINS if "option" in signature.parameters else ""))
    name = Annotated[str | None, flag]
    chip_name = inspect.Parameter("chip", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=name)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += [optional, chip_name] if parameter is target else [parameter]
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    del wrapper.__wrapped__
    vars(wrapper)["needs_target"] = target.default is inspect.Parameter.empty
    vars(wrapper)["__signature__"] = signature.replace(parameters=keywords)
    return wrapper


def _stands_for(chip: Chip, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a command that a chip stands for."""
    if "option" not in given:
        return {"target": chip.name}
    own = parse_options(given["option"])
    words = [f"{key}={value}" for key, value in chip.options.items() if key not in own]
    return {"target": chip.target, "option": [*words, *(given["option"] or ())]}


def chip_given() -> Chip | None:
    """The chip that the command was given."""
    name = _chip.get()
    return None if name is None else plugins.chip(name)


def has_chip() -> bool:
    """Whether the command was given a chip, whose accelerator is what it is."""
    return _chip.get() is not None


def chip_or(target: str) -> str:
    """The chip that the command was given, else its target."""
    return _chip.get() or target


def device(target: str) -> str:
    """A target, and the chip that the command was given, as titles name them."""
    chip = _chip.get()
    return target if chip is None else f"{chip} ({target})"


def chips(
    name: Annotated[
        str | None, typer.Argument(metavar="CHIP", help="One of them: all its facts, each with its sources.")
    ] = None,
) -> Result:
    """List the chips that --chip takes, or the facts about one with their sources."""
    if name is not None:
        return _facts(plugins.chip(name))
    rows = plugins.chip_providers()
    for text in dict.fromkeys(str(row.chip) for row in rows if not isinstance(row.chip, Chip)):
        say(f"warning: {text}; it was left out")
    known = [(row.chip, f"{row.distribution} {row.version}") for row in rows if isinstance(row.chip, Chip)]

    def show(console: Console) -> None:
        cells = [
            (chip.name, chip.target, _value(chip, "npu_mhz"), _value(chip, "sram"), chip.title, origin)
            for chip, origin in known
        ]
        console.print(table("", ("chip", "target", "NPU, MHz", "SRAM", "what it is", "from"), cells))

    return Result([{**_data(chip), "from": origin} for chip, origin in known], show)


def _value(chip: Chip, key: str) -> str:
    return str(chip.facts[key].value) if key in chip.facts else "–"


def _facts(chip: Chip) -> Result:
    def show(console: Console) -> None:
        console.print(f"{chip.name}: {chip.title}", markup=False)
        rows = [
            (FACTS[key], str(chip.facts[key].value), "\n".join(chip.facts[key].sources))
            for key in FACTS
            if key in chip.facts
        ]
        console.print(table("", ("", "", "source"), rows))
        words = [f"--target {chip.target}", *(f"--option {key}={value}" for key, value in chip.options.items())]
        console.print(f"--chip {chip.name} stands for {' '.join(words)}", markup=False)
        if chip.note:
            console.print(chip.note, markup=False)

    return Result(_data(chip), show)


def _data(chip: Chip) -> dict[str, Any]:
    facts = {key: {"value": fact.value, "sources": list(fact.sources)} for key, fact in chip.facts.items()}
    return {
        "name": chip.name,
        "title": chip.title,
        "target": chip.target,
        "options": dict(chip.options),
        "facts": facts,
        "note": chip.note,
        "sold": chip.sold,
    }
