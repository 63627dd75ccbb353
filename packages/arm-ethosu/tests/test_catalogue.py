"""The table of the rewrites: whole, and what is documented."""

from __future__ import annotations

import sys
from importlib.metadata import version

import pytest

from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.rewrites import catalogue, rewrites_for
from arm_tosa_core.tosa.rewrite import Rewrite


def test_every_rewrite_of_the_package_is_in_the_table() -> None:
    listed = {id(row.rewrite) for row in catalogue.ROWS}
    defined = {
        id(value): name
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("arm_ethosu.rewrites.")
        for name, value in vars(module).items()
        if isinstance(value, Rewrite)
    }
    assert len(defined) > 30
    assert [name for key, name in defined.items() if key not in listed] == []


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_the_names_of_an_accelerators_rewrites_differ_and_each_says_why(accelerator: str) -> None:
    rewrites = rewrites_for(accelerator)
    assert len({rewrite.name for rewrite in rewrites}) == len(rewrites) > 20
    assert [rewrite.name for rewrite in rewrites if rewrite.reason == rewrite.name] == []


def test_workarounds_are_for_the_version_of_vela_that_is_here() -> None:
    here = version("ethos-u-vela")
    old = [
        catalogue.shown(row).name for row in catalogue.ROWS if row.vela and not f"{here}.".startswith(f"{row.vela}.")
    ]
    assert not old, (
        f"Vela is {here}: run packages/arm-runtime-cpp/tests/ethosu_model/test_differences.py. Where a row fails "
        "because Vela is right, the workaround goes with it; the others get the new version"
    )


def test_workarounds_alone_name_a_version() -> None:
    assert {row.kind for row in catalogue.ROWS if row.vela} == {catalogue.Kind.CORRECTNESS}


@pytest.mark.parametrize("row", catalogue.ROWS, ids=lambda row: row.kind)
def test_a_rewrite_that_is_not_for_all_says_why(row: catalogue.Row) -> None:
    """And one that is for all gives no reason, which nobody would read. What gains nothing elsewhere is measured."""
    measured = row.kind in (catalogue.Kind.SPEED, catalogue.Kind.MEMORY)
    assert bool(catalogue.why_not_elsewhere(row)) == (row.on != catalogue.ALL) or measured
    assert row.on != catalogue.ALL or not row.elsewhere
    assert len(set(row.on)) == len(row.on) > 0
