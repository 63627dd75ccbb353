"""``--target`` and ``--option``: from the command line to a compile spec."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..plugin.target import Target
from ..support.errors import UsageError

if TYPE_CHECKING:
    from ..exir.compile_spec import ArmCompileSpec

TargetName = Annotated[str, typer.Option("--target", "-t", help="A name from `arm-tosa targets`.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="KEY=VALUE for the target, such as memory_mode=Shared_Sram; repeatable."),
]
Schedule = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="How the target orders its work, if it has more than one way; --option schedule=NAME."
    ),
]
Sram = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="On-chip memory that each delegate may use, such as 512K; short for --option sram_budget=SIZE.",
    ),
]
Quantize = Annotated[
    str | None,
    typer.Option(help="int8, int16x8 (16-bit activations), int8x4 (4-bit weights), or a file of `arm-tosa accuracy`."),
]
Compress = Annotated[
    float | None,
    typer.Option(
        metavar="DB",
        help="Round weights so that the target stores them in fewer bytes: how many dB of SQNR that may cost, such "
        "as 0.5, on calibration samples that are held out for it: the second half, of 8 or more. For --quantize.",
    ),
]
Calibration = Annotated[Path | None, typer.Option(help=".npz with samples of the model's inputs, for --quantize.")]


def parse_options(words: Sequence[str] | None, **flags: str | None) -> dict[str, str]:
    """``["key=value", ...]`` as a mapping, with options that have a flag of their own, if they are given.

    Raises:
        UsageError: a word without ``=``, or a key given twice.
    """
    options: dict[str, str] = {}
    given = [f"{key}={value}" for key, value in flags.items() if value is not None]
    for word in [*(words or ()), *given]:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"--option {word!r}: write KEY=VALUE")
        if key in options:
            raise UsageError(f"--option {key} is given twice")
        options[key] = value
    return options


def compile_spec_for(target: Target, options: Mapping[str, str]) -> ArmCompileSpec:
    """The target's compile spec with these options.

    Raises:
        UsageError: the target has no such option; lists those that it has.
    """
    if target.compile_spec is None:
        from ..exir.compile_spec import TargetCompileSpec

        return TargetCompileSpec(target.name, **options)
    known = _keywords(target.compile_spec)
    for key in options:
        if key not in known:
            valid = f"its options are {', '.join(known)}" if known else "it has none"
            raise UsageError(f"target {target.name!r} has no option {key!r}; {valid}")
    return target.compile_spec(**{key: _value(key, text, known[key]) for key, text in options.items()})


def _keywords(function: Any) -> dict[str, Any]:
    """Parameters that may still be given by name, and their annotations; a ``partial`` has bound some already."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.annotation for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


#: How numbers and switches are written on a command line, by what their parameter is annotated with.
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
}


def _value(key: str, text: str, annotation: Any) -> Any:
    """The value of an option: a number or a switch where its parameter is one, else the text itself."""
    names = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    words = {word.strip() for word in names.split("|")} - {"None"}
    if len(words) != 1 or (word := words.pop()) not in _READERS:
        return text
    read, kind = _READERS[word]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise UsageError(f"--option {key}={text}: {key} takes {kind}") from None
