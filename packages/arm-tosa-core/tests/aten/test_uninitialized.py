"""Tensors without known numbers become zeros, so that programs are deterministic and ExecuTorch takes varying sizes."""

from typing import Any

import pytest
import torch
from flow_kit import Net, export
from torch.nn import functional as F

from arm_tosa_core import lower
from arm_tosa_core.exir.pte import read

X = torch.arange(48.0).reshape(6, 2, 4)
ROWS = torch.export.Dim("rows", min=2, max=6)


class Ring(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.pad(x, (1, 1), mode="circular")


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x.new_empty(2, 3),
        lambda x: torch.empty(2, 3),
        lambda x: torch.empty_like(x)[0],
        lambda x: torch.empty_strided((2, 3), (3, 1)),
        lambda x: torch.empty_permuted((2, 3), (0, 1)),
    ],
)
def test_a_program_of_chance_numbers_is_the_same_each_time(made: Any) -> None:
    program = export(Net(lambda net, x: (made(x), x * 2)), (X,))
    assert lower(program, "tosa-fp").buffer == lower(program, "tosa-fp").buffer


@pytest.mark.filterwarnings("ignore::arm_tosa_core.NothingDelegatedWarning")
def test_executorch_takes_an_operator_that_writes_into_one_of_a_varying_size() -> None:
    program = torch.export.export(Ring(), (X,), dynamic_shapes=({0: ROWS},))
    assert read(lower(program, "tosa-fp").buffer).inputs["forward"]
