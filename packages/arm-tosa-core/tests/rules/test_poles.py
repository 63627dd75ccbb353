"""Functions in float where they are infinite or not defined: as PyTorch has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution


@pytest.mark.parametrize("function", [torch.erfinv, torch.atanh, torch.log])
def test_poles(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    inputs = (torch.tensor([-1.0, -0.99999994, 0.0, 0.5, 0.99999994, 1.0]),)
    run = Execution(torch.export.export(Apply(function), inputs), TosaCompileSpec("TOSA-1.0+FP").target())
    ((ours, eager),) = run.edges(inputs)
    torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-5, equal_nan=True)
