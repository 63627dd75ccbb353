"""``--target``, ``--option`` and the like, as several commands have them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..support.errors import UsageError

TargetName = Annotated[str, typer.Option("--target", "-t", help="A name from `arm-tosa targets`.")]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="KEY=VALUE for the target, such as memory_mode=Shared_Sram; may be given several times. A wrong key or "
        "value: the error lists all.",
    ),
]
Schedule = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The order of the target's work, where it offers several; short for --option schedule=NAME. A wrong "
        "name: the error lists all. deep of Ethos-U is experimental: no device has run it.",
    ),
]
Sram = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="On-chip memory that each delegate may use, such as 512K; short for --option sram_budget=SIZE.",
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Load a .pt2 that holds more than tensors and numbers. Code in the file can then run on this machine: use "
        "it for files from people you trust.",
    ),
]
InputShapes = Annotated[
    list[str] | None,
    typer.Option(
        "--input-shape",
        metavar="NAME=1x3x224x224",
        help="For an .onnx or .tflite file: the sizes of an input that the file leaves open; may be given several "
        "times.",
    ),
]
InputValues = Annotated[
    list[str] | None,
    typer.Option(
        "--input-value",
        metavar="NAME=NUMBER",
        help="For an .onnx or .tflite file: makes an input a constant of the compiled model, such as a sample rate; "
        "may be given several times.",
    ),
]
DataFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--data",
        metavar="FILE.ptd",
        help="Weights of the .pte, as `compile --external-constants` writes them; may be given several times.",
    ),
]
Quantize = Annotated[
    str | None,
    typer.Option(
        help="int8, int16x8 (also a16w8: 16-bit activations), int8x4 (a8w4: 4-bit weights), or the "
        ".json file that `arm-tosa accuracy --config` writes."
    ),
]
Calibration = Annotated[
    Path | None,
    typer.Option(
        help=".npz to calibrate with, for --quantize: an array per input, samples first (numpy.savez). Without it "
        "the example inputs are used: sizes and cycles are right, accuracy is not."
    ),
]


def parse_options(words: Sequence[str] | None, **flags: str | None) -> dict[str, str]:
    """``["key=value", ...]`` as a mapping, with options that have a flag of their own, if they are given.

    Raises:
        UsageError: a word without ``=``, or a key given twice.
    """
    options: dict[str, str] = {}
    given = [f"{key}={value}" for key, value in flags.items() if value is not None]
    for word in [*(words or ()), *given]:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise UsageError(f"--option {word!r}: write KEY=VALUE")
        if key in options:
            raise UsageError(f"--option {key} is given twice")
        options[key] = value
    return options


def parse_shapes(words: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """``["name=1x3x224x224", ...]`` as sizes by input. Names may have equals signs, sizes have none.

    Raises:
        UsageError: a word of another form, or an input given twice.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for word in words or ():
        name, equals, text = word.rpartition("=")
        sizes = text.split("x")
        if not equals or not name or not all(size.isascii() and size.isdigit() and len(size) < 10 for size in sizes):
            raise UsageError(f"--input-shape {word!r}: write NAME=SIZExSIZE, such as image=1x3x224x224")
        if not all(map(int, sizes)):
            raise UsageError(f"--input-shape {word!r}: sizes are 1 or more")
        if name in shapes:
            raise UsageError(f"--input-shape {name} is given twice")
        shapes[name] = tuple(map(int, sizes))
    return shapes


def parse_values(words: Sequence[str] | None) -> dict[str, float]:
    """``["name=16000", ...]`` as numbers by input. Names may have equals signs.

    Raises:
        UsageError: a word of another form, or an input given twice.
    """
    values: dict[str, float] = {}
    for word in words or ():
        name, equals, text = word.rpartition("=")
        number = number_or_text(text)
        if not equals or not name or not isinstance(number, (int, float)):
            raise UsageError(f"--input-value {word!r}: write NAME=NUMBER, such as rate=16000")
        if name in values:
            raise UsageError(f"--input-value {name} is given twice")
        values[name] = number
    return values


def number_or_text(text: str) -> Any:
    """A number, or ``true`` or ``false``, where it looks so."""
    for value_of in (int, float, {"true": True, "false": False}.__getitem__):
        with contextlib.suppress(ValueError, KeyError):
            return value_of(text)
    return text
