"""The conformance kit's own rules: what it skips, what a list of refusals may say, which rows a sample has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from arm_tosa_core.plugin.entry_points import target
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.testing.cases import CASES
from arm_tosa_core.testing.plugin import pytest_collection_modifyitems, read_refusals
from arm_tosa_core.testing.test_operators import check_case, read_cases, row_id, schemes_of
from arm_tosa_core.tosa.ir import Op

ADD = next(case for case in CASES if case.name.startswith("add/"))


def _no_add(op: Op) -> Rejected | None:
    return Rejected("this device cannot add") if op.name == "ADD" else None


@pytest.fixture
def cannot_add() -> Target:
    return replace(target("tosa-int"), checks=(_no_add,))


def test_a_refusal_that_nobody_listed_fails(cannot_add: Target) -> None:
    with pytest.raises(AssertionError, match="refuses what its specification admits: .*this device cannot add"):
        check_case(ADD, "int8", cannot_add)


def test_a_listed_refusal_is_skipped(cannot_add: Target) -> None:
    with pytest.raises(pytest.skip.Exception, match="refuses, as it is listed to: .*this device cannot add"):
        check_case(ADD, "int8", cannot_add, refusal="cannot add")


def test_a_refusal_for_another_reason_fails(cannot_add: Target) -> None:
    with pytest.raises(AssertionError, match="for another reason than 'too wide'"):
        check_case(ADD, "int8", cannot_add, refusal="too wide")


def test_a_listed_row_that_is_taken_fails() -> None:
    with pytest.raises(AssertionError, match="does not refuse for 'cannot add': delete its line"):
        check_case(ADD, "int8", target("tosa-int"), refusal="cannot add")


@pytest.mark.parametrize(
    "name, how",
    [
        ("max_pool2d_with_indices/unbatched", "refused on every target"),
        ("scatter/multiply by a number", "for want of float"),
    ],
)
def test_a_listed_row_that_no_target_without_float_takes_fails(name: str, how: str) -> None:
    (case,) = (case for case in CASES if case.name == name)
    with pytest.raises(AssertionError, match=how):
        check_case(case, "int16", target("tosa-int"), refusal="cannot add")


@pytest.mark.parametrize(
    "name, schemes",
    [("tosa", ["fp32", "int8", "int16"]), ("tosa-int", ["int8", "int16"]), ("tosa-fp", ["fp32"])],
)
def test_rows_are_those_that_the_specification_admits(name: str, schemes: list[str]) -> None:
    assert schemes_of(target(name)) == schemes


def test_cases_of_ones_own_are_read(tmp_path: Path) -> None:
    file = tmp_path / "rows.py"
    row = "OpCase('neg/one', lambda: lambda x: -x, [(2,)])"
    file.write_text(f"from arm_tosa_core.testing.case import OpCase\nCASES = [{row}]\n")
    assert [case.name for case in read_cases(file)] == ["neg/one"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "rows.py does not run: FileNotFoundError"),
        ("import nothing_of_this_name", "does not run: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("ROWS = []", "has no list CASES of"),
        ("CASES = [1]", "has no list CASES of"),
    ],
)
def test_a_file_without_cases_is_told(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "rows.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(pytest.UsageError, match=f"--arm-cases: .*{message}"):
        read_cases(file)


def test_refusals_are_read(tmp_path: Path) -> None:
    file = tmp_path / "refusals.txt"
    file.write_text("# a comment\n\nadd/broadcast, both-int8 | has no ADD\nmul-int16 | a | b\n")
    assert read_refusals(file) == {"add/broadcast, both-int8": "has no ADD", "mul-int16": "a | b"}


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("\nadd-int8\n", r"refusals.txt:2: expected 'ROW \| PART OF THE REASON', got 'add-int8'"),
        ("add-int8 | \n", "refusals.txt:1: expected"),
        ("add-int8 | x\nadd-int8 | y\n", "refusals.txt:2: add-int8 is there twice"),
        (None, "refusals.txt cannot be read"),
    ],
)
def test_other_lists_are_refused(text: str | None, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "refusals.txt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(pytest.UsageError, match=complaint):
        read_refusals(file)


def test_rows_have_names_of_their_own() -> None:
    names = [row_id(case, scheme) for case in CASES for scheme in schemes_of(target("tosa"))]
    assert len(set(names)) == len(names)


class _Item:
    """As much of a test as the sampling looks at."""

    def __init__(self, name: str, marker: str) -> None:
        self.name, self.get_closest_marker = name, marker.__eq__


def _sampled(seed: str, rows: int) -> set[str]:
    """Names of the items that a tenth with this seed leaves, of so many rows and of one test that is no row."""
    items: Any = [_Item(f"row {n}", "arm_operator") for n in range(rows)]
    items.append(_Item("another test", "slow"))
    options = {"--arm-sample": 0.1, "--arm-seed": seed}
    hook = SimpleNamespace(pytest_deselected=lambda items: None)
    pytest_collection_modifyitems(cast(Any, SimpleNamespace(getoption=options.get, hook=hook)), items)
    return {item.name for item in items}


def test_a_sample_is_of_the_seed_and_spares_other_tests() -> None:
    found = [_sampled(seed, 1000) for seed in ("a", "a", "b")]
    assert found[0] == found[1] != found[2]
    assert all(len(names) == 101 and "another test" in names for names in found)


def test_samples_have_every_row_in_the_end() -> None:
    found: set[str] = set()
    for seed in range(100):
        found |= _sampled(str(seed), 100)
    assert len(found) == 101
