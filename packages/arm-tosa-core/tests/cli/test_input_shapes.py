"""``--input-shape`` and ``--input-value``: their words, and models whose sizes are not open."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

import pytest

from arm_tosa_core import UsageError
from arm_tosa_core.cli.main import _COMMANDS
from arm_tosa_core.cli.model import load_program
from arm_tosa_core.cli.options import parse_shapes, parse_values


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (None, {}),
        (["x=1x3x8x8", "input:0=5"], {"x": (1, 3, 8, 8), "input:0": (5,)}),
        (["a=b=2x3"], {"a=b": (2, 3)}),
    ],
)
def test_sizes_by_input(words: list[str] | None, wanted: dict[str, tuple[int, ...]]) -> None:
    assert parse_shapes(words) == wanted


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *[([word], "write NAME=SIZExSIZE") for word in ("x", "=1x2", "x=", "x=1xN", "x=-1x2", "x=1,2", "x=²")],
        (["x=1", "x=2"], "x is given twice"),
    ],
)
def test_other_words_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_shapes(words)


@pytest.mark.parametrize(
    ("words", "wanted"), [(None, {}), (["sr=16000", "a=b=-0.5"], {"sr": 16000, "a=b": -0.5}), (["x=1e3"], {"x": 1000})]
)
def test_numbers_by_input(words: list[str] | None, wanted: dict[str, float]) -> None:
    assert parse_values(words) == wanted


@pytest.mark.parametrize(
    ("words", "message"),
    [*[([word], "write NAME=NUMBER") for word in ("x", "=1", "x=", "x=many")], (["x=1", "x=2"], "x is given twice")],
)
def test_other_numbers_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_values(words)


@pytest.mark.parametrize("command", _COMMANDS.values(), ids=_COMMANDS)
def test_commands_have_both_options_or_none(command: Callable[..., object]) -> None:
    parameters = signature(command).parameters
    assert ("input_shape" in parameters) == ("input_value" in parameters)


def test_a_model_whose_sizes_are_fixed_takes_none() -> None:
    with pytest.raises(UsageError, match="--input-shape is for files of other frameworks"):
        load_program("net.pt2", shapes=["x=1x2"])
    with pytest.raises(UsageError, match="--input-value is for files of other frameworks"):
        load_program("net.pt2", values=["x=1"])
