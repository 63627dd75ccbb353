"""Scalars: 0 and -1 are axes of them, and their type gives way to that of tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from arm_tosa_core.exir.tosa_targets import tosa
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, left_outside

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transpose": lambda x: x.transpose(0, -1) * 2,
    "sum": lambda x: x.sum(0) * 2,
    "mean": lambda x: x.mean(-1, True) * 2,
    "amax": lambda x: x.amax(0) * 2,
    "squeeze": lambda x: x.squeeze(0) * 2,
    "cumsum": lambda x: x.cumsum(0) * 2,
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_an_axis_of_a_scalar(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.tensor(1.5)
    execution = Execution(torch.export.export(Apply(function), (x,)), tosa())
    assert not left_outside(execution.program, execution.analysis)
    (result,) = execution.run([x])
    torch.testing.assert_close(result, function(x))


def test_an_angle_of_halves_and_a_scalar_of_float32_is_in_halves() -> None:
    x, scalar = torch.tensor([-3.0, 0.25, 2.0], dtype=torch.float16), torch.tensor(0.7)
    execution = Execution(torch.export.export(Apply(lambda x: torch.atan2(x, scalar)), (x,)), tosa())
    assert not left_outside(execution.program, execution.analysis)
    (result,) = execution.run([x])
    torch.testing.assert_close(result, torch.atan2(x, scalar))
