"""Activations with corners, at every integer of 16 bits: a table of 513 points cuts them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.exir.tosa_targets import tosa_int
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, exported

SPEC = TosaCompileSpec("TOSA-1.0+INT+int16")


@pytest.mark.parametrize("reach", [1.6, 2.9, 4.0, 20.0])  # of 1.5 every other sixth lies between two integers
@pytest.mark.parametrize(("function", "most"), [(F.hardsigmoid, 0.001), (F.hardswish, 0.2)])
def test_hard_functions_are_within_a_quantum_everywhere(
    function: Callable[[torch.Tensor], torch.Tensor], most: float, reach: float
) -> None:
    x = torch.linspace(-reach, reach, 65535)[None]
    run = Execution(exported(Apply(function), (x,), SPEC, "int16"), tosa_int())
    ((ours, eager),) = run.edges((x,))
    off = (ours.int() - eager.int()).abs()
    assert off.max() <= 1
    assert (off > 0).float().mean() <= most
    assert "TABLE" not in [op.name for region in run.regions for op in region.graph.ops]
