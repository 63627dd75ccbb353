"""A whole program, its part on the CPU too, is run beside PyTorch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from arm_tosa_core import lower
from arm_tosa_core.flow.whole_program import _difference, _zero_points
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.case import Apply


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_outputs_that_differ_are_named() -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    given = (torch.randn(2, 5),)
    program = torch.export.export(Apply(lambda x: (x * 2, (x + 1).fmod(0.7), x.argmax(1))), given)
    other = torch.export.export(Apply(lambda x: (x * 2, (x + 1).fmod(0.6), x.argmin(1))), given)
    lowered = lower(program, "vgf")
    assert lowered.differences(program) == []
    assert [found.output for found in lowered.differences(other, [torch.arange(10.0).reshape(2, 5)])] == [1, 2]
    with pytest.raises(UsageError, match="does not run"):
        replace(lowered, buffer=lowered.buffer[: len(lowered.buffer) // 2]).differences(program)


@pytest.mark.parametrize("least_db", [15.0, 30.0, 60.0])
def test_nothing_but_nan_differs(least_db: float) -> None:
    wanted = torch.tensor([0.0, 1.0, float("nan"), float("inf")])
    assert "elsewhere" in _difference(torch.full((4,), float("nan")), wanted, least_db, None)
    assert _difference(wanted.clone(), wanted, least_db, None) == ""


@pytest.mark.parametrize("least_db", [15.0, 30.0, 60.0])
@pytest.mark.parametrize(("result", "wanted"), [(3, 2), (float("nan"), 1.0), (1.0, float("inf")), (True, False)])
def test_the_only_number_of_an_output_is_compared(result: float, wanted: float, least_db: float) -> None:
    assert _difference(torch.tensor([result]), torch.tensor([wanted]), least_db, None)
    assert _difference(torch.tensor([result] + [wanted] * 9), torch.tensor([wanted] * 10), 15.0, None) == ""


def test_integers_that_stand_for_real_numbers_may_be_a_step_off() -> None:
    wanted = torch.arange(-20, 20, dtype=torch.int8)
    assert "numbers that are others" in _difference(wanted + 1, wanted, 15.0, None)
    assert _difference(wanted + 1, wanted, 15.0, -20) == ""
    assert "SQNR" in _difference(wanted + 9, wanted, 15.0, -20)


def test_the_zero_point_is_that_of_the_output() -> None:
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
    program = torch.export.export(
        Apply(lambda x: (quantize(x, 0.1, 3, -128, 127, torch.int8), x.argmax(), x)), (torch.ones(2),)
    )
    assert _zero_points(program, 3) == [3, None, None]
