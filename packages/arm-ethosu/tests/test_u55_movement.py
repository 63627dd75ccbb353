"""What Ethos-U55 has no operation for, said with operations that it has: rows of the conformance kit that it takes."""

from __future__ import annotations

import pytest
import torch

from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.case import QUANTIZED, OpCase
from arm_tosa_core.testing.cases import CASES
from arm_tosa_core.testing.harness import delegated, exported
from arm_tosa_core.testing.test_operators import check_case

_TARGET = find_target("ethos-u55-128")
_TAKEN = {
    "index_select/constant": QUANTIZED,
    "index/order of channels": QUANTIZED,
    "index/constants": QUANTIZED,
    "as_strided/windows": QUANTIZED,
    "index_put/constant": QUANTIZED,
    "index_put/constant, channels": QUANTIZED,
    "index_put/repeated": QUANTIZED,
    "pad/reflect 1d": QUANTIZED,
    "pad/reflect 2d": QUANTIZED,
    "pad/reflect 3d": QUANTIZED,
    "flip": QUANTIZED,
    "flip/channels_last": QUANTIZED,
    "flip/vector": QUANTIZED,
    "flip/image": QUANTIZED,
    "flip/matrix": QUANTIZED,
    "argmax/dim": ("int8",),
    "argmax/image": ("int8",),
    "argmax/channels_last": ("int8",),
}
_ROWS = [(case, scheme) for case in CASES for scheme in _TAKEN.get(case.name, ())]


@pytest.mark.parametrize(("case", "scheme"), _ROWS, ids=[f"{case.name}-{scheme}" for case, scheme in _ROWS])
def test_it_is_taken(case: OpCase, scheme: str) -> None:
    check_case(case, scheme, _TARGET)


def test_all_rows_are_there() -> None:
    assert {case.name for case, _ in _ROWS} == _TAKEN.keys()


def test_too_many_indices_are_refused_for_want_of_a_gather() -> None:
    case = OpCase("order", lambda: lambda x: x[:, torch.arange(99).flip(0)], [(2, 99)])
    program = exported(case.module(), case.example(0), _TARGET.compiler.compile_spec(), "int8")
    _, analysis = delegated(program, _TARGET)
    assert any("GATHER: Ethos-U55 and Ethos-U65 have no such operation" in str(w) for w in analysis.rejected.values())
