"""Operator cases that take another way where the target has no float."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arm_tosa_core.plugin.entry_points import target
from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.testing.cases import CASES
from arm_tosa_core.testing.test_operators import check_case
from arm_tosa_core.tosa.ir import Op

NAMES = [
    "any/float",  # compared with 0 as integers
    "argmax/dim",
    "attention/multi-head unbatched",  # its weights are split: constants of a region further on
    "ceil",  # as int16 refused: a jump
    "logical_and/float",
    "masked_fill/causal",  # a mask computed from constants, with an assertion on the way
    "mul/float by bool",  # a bool is an integer of scale 1
    "prod/dim",  # refused
    "to/float64",  # refused; an assertion on its input stays outside too
    "to/int64 from float",
    "zeros_like",  # depends on the shape only
]
ROWS = {case.name: case for case in CASES}


@pytest.mark.parametrize("scheme", ["int8", "int16"])
@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, scheme: str) -> None:
    check_case(ROWS[name], scheme, target("tosa-int"))


def _no_select(op: Op) -> Rejected | None:
    return Rejected("SELECT does not exist here") if op.name == "SELECT" else None


@pytest.mark.parametrize("scheme", ["int8", "int16"])
@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith("where/constant condition")])
def test_constant_conditions_without_select(name: str, scheme: str) -> None:
    check_case(ROWS[name], scheme, replace(target("tosa-int"), checks=(_no_select,)))
