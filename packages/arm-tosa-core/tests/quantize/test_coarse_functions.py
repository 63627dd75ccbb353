"""Functions that turn between two integers of their operand are named; others are not."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import pytest
import torch
from quantizer_kit import INT8, INT16, SPEC
from torch import nn

from arm_tosa_core import CoarseFunctionWarning, TOSAQuantizer, quantize_program
from arm_tosa_core.quantize.schemes.config import QuantizationConfig

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Function(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x * 0.7)


def named(
    function: Callable[[torch.Tensor], torch.Tensor], reach: float, config: QuantizationConfig = INT8
) -> list[str]:
    torch.manual_seed(0)
    samples = [torch.rand(1, 400) * reach for _ in range(2)]
    program = torch.export.export(Function(function), (samples[0],))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        quantize_program(program, TOSAQuantizer(SPEC).set_global(config), samples)
    return [str(w.message) for w in found if w.category is CoarseFunctionWarning]


@pytest.mark.parametrize("function", [torch.sin, torch.cos])
def test_waves_of_many_radians_are_named(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    (text,) = named(function, 1000.0)
    assert text.startswith(function.__name__)
    assert "test_coarse_functions.py" in text
    assert re.search(r"steps of [23]\.\d", text)
    assert named(function, 1000.0, INT16) == []
    assert named(function, 10.0) == []


@pytest.mark.parametrize(
    "function",
    [
        *(
            torch.sigmoid,
            torch.exp,
            torch.rsqrt,
            torch.reciprocal,
            torch.log,
            torch.floor,
            torch.sign,
            torch.abs,
            torch.erf,
        ),
        lambda x: 2.0**x,
    ],
)
@pytest.mark.parametrize("reach", [0.01, 1.0, 50.0])
def test_others_are_not(function: Callable[[torch.Tensor], torch.Tensor], reach: float) -> None:
    assert named(lambda x: function(x - reach / 9) if function in (torch.sign, torch.abs) else function(x), reach) == []


@pytest.mark.parametrize("config", [INT8, INT16])
def test_a_masked_softmax_has_none(config: QuantizationConfig) -> None:
    assert named(lambda x: x.masked_fill(x > 3, -1e4).softmax(-1), 10.0, config) == []
