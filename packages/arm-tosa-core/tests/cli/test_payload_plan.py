"""``arm-tosa explain`` of a file in a target's own format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_kit import error, ok, run

from arm_tosa_core.cli.report import SCHEMA
from arm_tosa_core.plugin.target import Step


def plan(payload: bytes, engine: str | None) -> list[Step]:
    """Two steps, the second named after the engine; the payload is how many bytes each takes."""
    return [{"kernel": name, "bytes": int(payload)} for name in ("copy", engine or "whatever")]


@pytest.fixture(autouse=True)
def payload(folder: Path) -> None:
    (folder / "a.acme").write_bytes(b"1200")


def test_the_plan_of_a_file_is_shown(acme: Callable[..., None]) -> None:
    acme(suffix=".acme", plan=plan)
    steps = [{"kernel": "copy", "bytes": 1200}, {"kernel": "whatever", "bytes": 1200}]
    assert ok("explain", "a.acme") == {"schema": SCHEMA, "target": "acme", "plan": steps}
    assert ok("explain", "a.acme", "--engine", "fast")["plan"][1]["kernel"] == "fast"
    text = run("explain", "a.acme", "--engine", "fast").stdout
    assert "2 steps" in text and "fast" in text and "2,400" in text


WRONG = {
    "no plan": (["a.acme"], "target 'acme' has no plan to show on this machine"),
    "a model's option": (["a.acme", "--target", "acme"], "a.acme is compiled already"),
    "no file": (["b.acme"], "cannot read b.acme"),
    "a program": (["a.pte"], "`arm-tosa extract a.pte -o FOLDER`"),
    "a model's engine": (["models.py:make", "--engine", "fast"], "--engine is for compiled files"),
    "no target": (["models.py:make"], "say for which target"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_has_no_plan_says_why(acme: Callable[..., None], case: str) -> None:
    arguments, message = WRONG[case]
    acme(suffix=".acme", plan=None if case == "no plan" else plan)
    Path("a.pte").write_bytes(b"")
    assert message in error("explain", *arguments)
