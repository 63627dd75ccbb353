"""``arm-tosa compile --print-stages``, and the list of stages that it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from cli_kit import error, run

from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.rewrite import REWRITING, Rewrite, Stage


def _nothing(graph: Graph, op: Op) -> bool:
    """Does nothing."""
    return False


def test_stages_in_order_and_who_adds_rewrites(acme: Callable[..., None]) -> None:
    acme(rewrites=(Rewrite("own", Stage.LEGALIZE, ("ADD",), _nothing),))
    printed = run("compile", "--print-stages", "--target", "acme").stdout
    places = [printed.index(f" {stage.name} ") for stage in Stage]
    assert places == sorted(places) and "Does nothing." in printed
    data = json.loads(run("compile", "--json", "-t", "acme", "--print-stages").stdout)
    assert [row["name"] for row in data["stages"]] == [stage.name for stage in Stage]
    assert [row["name"] for row in data["rewrites"] if row["added_by"] == ["acme"]] == ["own"]
    assert {row["stage"] for row in data["rewrites"]} == {"OPTIMIZE", "LEGALIZE"}


def test_all_targets_without_one() -> None:
    rewrites = json.loads(run("compile", "--print-stages", "--json").stdout)["rewrites"]
    assert any(row["added_by"] == ["every target"] for row in rewrites)


def test_another_compile_still_needs_its_arguments() -> None:
    assert run("compile", "--print-stages").exit_code == 0
    missing = run("compile", "models.py:whole", "--target", "tosa")
    assert missing.exit_code == 2 and "--output" in missing.stderr
    assert "unknown target" in error("compile", "--print-stages", "-t", "nonsense")


@pytest.mark.parametrize("stage", Stage)
def test_a_rewrite_names_a_stage_in_which_rewrites_run(stage: Any) -> None:
    if stage in REWRITING:
        Rewrite("fine", stage, (), _nothing)
        return
    with pytest.raises(UsageError, match=r"Stage.OPTIMIZE or Stage.LEGALIZE"):
        Rewrite("never", stage, (), _nothing)
