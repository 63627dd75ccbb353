"""Which functions of 16 bits get precise tables."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.exir.tosa_targets import tosa_int
from arm_tosa_core.testing.harness import Execution, exported

SPEC = TosaCompileSpec("TOSA-1.0+INT+int16")


class _Head(nn.Module):
    """One layer for two inputs, as in detectors, or for the result of its own."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.layer, self.again = nn.Linear(8, 8), again

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = self.layer(x).tanh()
        return first, self.layer(first if self.again else y).tanh()


@pytest.mark.parametrize("again", [False, True])
def test_functions_between_layers_are_precise_where_weights_come_again(again: bool) -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(4, 8) / 4, torch.randn(4, 8) / 4)  # a tanh of larger numbers needs a second table anyway
    run = Execution(exported(_Head(again).eval(), inputs, SPEC, "int16"), tosa_int())
    tables = [op for region in run.regions for op in region.graph.ops if op.name == "TABLE"]
    assert len(tables) > 4 if again else len(tables) == 2


def test_nine_in_ten_results_of_a_recurrent_layer_are_those_of_eager() -> None:
    """One that float32 rounds the other way moves others in the steps behind it; with plain
    tables a third of all are off."""
    torch.manual_seed(0)
    module, inputs = nn.RNN(16, 32, batch_first=True).eval(), (torch.randn(2, 8, 16),)
    run = Execution(exported(module, inputs, SPEC, "int16"), tosa_int())
    off = torch.cat([(ours.int() - eager.int()).abs().flatten() for ours, eager in run.edges(inputs)])
    assert off.max() <= 2
    assert (off > 0).float().mean() < 0.1
