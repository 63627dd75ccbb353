"""What a rule refuses by the value of an argument stays on the CPU, with the reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from arm_tosa_core import lower
from arm_tosa_core.testing.case import Apply

pytestmark = pytest.mark.filterwarnings("ignore")  # that nothing is delegated


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: torch.pow(-2.0, x), "raises a negative number to powers"),  # POW is undefined there
        (lambda x: torch.pow(x, 17), "raises to the power 17"),
        (lambda x: torch.index_select(x.sum(), 0, torch.tensor([0])), "takes an axis of a scalar"),
        (lambda x: x.sum().unfold(0, 1, 1), "takes an axis of a scalar"),
    ],
)
def test_stays_on_the_cpu(function: Callable[[torch.Tensor], torch.Tensor], reason: str) -> None:
    report = lower(torch.export.export(Apply(function), (torch.ones(2, 3),)), "tosa-fp").report
    assert any(reason in str(row.reason) for row in report.rejected)
