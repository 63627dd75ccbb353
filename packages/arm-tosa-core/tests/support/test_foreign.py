"""Names, paths and numbers of files that somebody else made."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from arm_tosa_core.support import foreign
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.printable import printable

CODE = ['x")', "x\n", "x;y", "$x", "${x}", "x*/", "#x", "`id`", "x\\", "x<y", "x'y", "x\0", "", None, 3]


@pytest.mark.parametrize("text", ["aten::add.out", "executorch_prim::et_view.default", "my_ops::Op9"])
def test_names_of_operators(text: str) -> None:
    assert foreign.operator_name(text) == text


@pytest.mark.parametrize("text", [*CODE, "add", "a::", "::b", "a::b.", "a::b c", "ö::ö", "a::b\n"])
def test_what_is_no_operator(text: object) -> None:
    with pytest.raises(UsageError, match="an operator is called"):
        foreign.operator_name(text)


@pytest.mark.parametrize("text", [*CODE, "9x", "a-b", "a.b", "ä", "../x"])
def test_what_is_no_identifier(text: object) -> None:
    assert foreign.c_identifier("_x9", "a model") == "_x9"
    with pytest.raises(UsageError, match="a model is called"):
        foreign.c_identifier(text, "a model")


@pytest.mark.parametrize("text", ["../x", "a/b", "a\\b", "\x1b[31m", "a\0b", "a\nb", "", None])
def test_what_is_no_part_of_a_file_name(text: object) -> None:
    assert foreign.file_name("größer als", "a method") == "größer als"
    with pytest.raises(UsageError, match="a method is called"):
        foreign.file_name(text, "a method")


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "", ".", "out/x", "a\0b", None, 3, "away.txt"])
def test_what_is_not_inside(name: object, tmp_path: Path) -> None:
    """By ``..``, an absolute path, a folder that is a link, a file that is one."""
    folder = tmp_path / "fw"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "away.txt").symlink_to(tmp_path / "x")
    with pytest.raises(UsageError, match="outside of the folder"):
        foreign.inside(folder, name)


def test_what_is_inside(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for name in ("a", "a/b.c", "..a", "link/b"):
        assert foreign.inside(tmp_path, name) == tmp_path / name
    (tmp_path / "whole").symlink_to(tmp_path)
    assert foreign.inside(tmp_path / "whole", "a") == tmp_path / "whole" / "a"


@pytest.mark.parametrize("number", [-1, 3, 2**64, None, "0", 1.0])
def test_what_is_no_index(number: object) -> None:
    assert foreign.index(2, 3, "value") == 2
    with pytest.raises(UsageError, match="does not exist: there are 3"):
        foreign.index(number, 3, "value")


@pytest.mark.parametrize("numbers", [[-1], [2**63], [2**32, 2**32], [0, 2**62, 4], [None], ["1"], [1.5]])
def test_what_are_no_sizes(numbers: list[object]) -> None:
    assert foreign.sizes([2, 0, 3], "a tensor") == (2, 0, 3)
    with pytest.raises(UsageError, match="a tensor has"):
        foreign.sizes(numbers, "a tensor")


@pytest.mark.parametrize("numbers", [[0, 0], [1, 2], [-1, 0], [0]])
def test_what_is_no_order_of_axes(numbers: list[int]) -> None:
    assert foreign.axes([1, 0], 2, "a tensor") == (1, 0)
    with pytest.raises(UsageError, match="2 axes in the order"):
        foreign.axes(numbers, 2, "a tensor")


@dataclass
class Part:
    name: str
    size: int | None = None
    axes: tuple[int, ...] = ()


@dataclass
class Whole:
    cycles: float
    parts: list[Part] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    kept: bool = False
    part: Part | None = None


def test_a_record_is_what_it_was_made_of() -> None:
    whole = Whole(1.5, [Part("a", 3, (1, 2)), Part("b")], {"cycles": 2}, True, Part("c"))
    assert foreign.record(Whole, json.loads(json.dumps(asdict(whole)))) == whole
    assert foreign.record(Whole, {"cycles": float("inf")}) == Whole(float("inf"))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"cycles": "1"}, "Whole.cycles"),
        ({"cycles": None}, "Whole.cycles"),
        ({"cycles": 10**400}, "Whole.cycles"),
        ({"cycles": True}, "Whole.cycles"),
        ({"kept": 1}, "Whole.kept"),
        ({"parts": {}}, "Whole.parts"),
        ({"parts": [{"name": "a", "size": 0.5}]}, "Whole.parts.size"),
        ({"parts": [{"name": "a", "axes": "12"}]}, "Whole.parts.axes"),
        ({"parts": [{"size": 1}]}, "Whole.parts has the fields"),
        ({"figures": {"cycles": []}}, "Whole.figures"),
        ({"part": []}, "Whole.part"),
        ({"other": 1}, "Whole has the fields"),
    ],
)
def test_what_is_no_record(change: dict[str, Any], place: str) -> None:
    with pytest.raises(UsageError, match=place):
        foreign.record(Whole, {"cycles": 1.5, **change})


@pytest.mark.parametrize("values", [None, [], "text", {}])
def test_what_are_no_fields(values: object) -> None:
    with pytest.raises(UsageError, match="Whole"):
        foreign.record(Whole, values)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb\x08", "a\\rb\\x08"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u200b\ufeff", "\\u200b\\ufeff"),
        ("größer\tals\n0 €", "größer\tals\n0 €"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert str(UsageError(f"no {text}")) == f"no {shown}"
