"""Weights rounded together: less error where inputs go together, and no more where they do not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, get_symmetric_a16w8_quantization_config, quantize_program
from arm_tosa_core.quantize.decisions import ROUNDED
from arm_tosa_core.quantize.error_feedback import Feedback
from arm_tosa_core.quantize.post_training import Quantized

CHANNELS = 24


class Layers(nn.Module):
    """A linear layer, a convolution, one of groups, and a transposed one, whose channels are not its first axis."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(CHANNELS, CHANNELS)
        self.conv = nn.Conv1d(CHANNELS, CHANNELS, 3, bias=False)
        self.grouped = nn.Conv1d(CHANNELS, CHANNELS, 3, groups=4)
        self.transposed = nn.ConvTranspose1d(CHANNELS, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.transposed(self.grouped(self.conv(self.linear(x).mT)))
        return y


def samples(count: int, mixed: bool) -> list[torch.Tensor]:
    """[1, 40, channels], of three numbers each if they are mixed."""
    random = torch.Generator().manual_seed(1)
    if not mixed:
        return [torch.randn(1, 40, CHANNELS, generator=random) for _ in range(count)]
    few, mix = (
        [torch.randn(1, 40, 3, generator=random) for _ in range(count)],
        torch.randn(3, CHANNELS, generator=random),
    )
    return [x @ mix + 0.05 * torch.randn(1, 40, CHANNELS, generator=random) for x in few]


def quantized(module: nn.Module, calls: list[torch.Tensor], rounding: bool) -> Quantized:
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT+int16").tosa_spec)
    quantizer.set_global(get_symmetric_a16w8_quantization_config(is_per_channel=True))
    return quantize_program(torch.export.export(module, (calls[0],)), quantizer, calls, rounding=rounding)


def error(module: nn.Module, made: Quantized, calls: list[torch.Tensor]) -> float:
    with torch.no_grad():
        return sum(float((module(x) - made.converted(x)).square().sum()) for x in calls)


def test_errors_of_inputs_that_go_together_make_up_for_one_another() -> None:
    torch.manual_seed(0)
    module, calls = Layers().eval(), samples(24, mixed=True)
    calibration, others = calls[:8], calls[8:]
    together, alone = (quantized(module, calibration, rounding) for rounding in (True, False))
    assert error(module, together, others) < 0.6 * error(module, alone, others)
    rounded = [row.operator for row in together.report if row.what == ROUNDED]
    assert sorted(rounded) == ["aten.conv1d.default", "aten.conv1d.default", "aten.linear.default"]
    assert not [row for row in alone.report if row.what == ROUNDED]


@pytest.mark.parametrize(("count", "mixed"), [(1, True), (2, False)])
def test_what_is_not_known_to_help_is_not_done(count: int, mixed: bool) -> None:
    """With one sample nothing is left out to judge by; independent inputs cannot make up for one another."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(CHANNELS, CHANNELS))
    made = quantized(module.eval(), samples(count, mixed), True)
    plain = quantized(module.eval(), samples(count, mixed), False)
    calls = samples(20, mixed)[count:]
    assert error(module, made, calls) <= 1.02 * error(module, plain, calls)
    if count == 1:
        assert not [row for row in made.report if row.what == ROUNDED]


def test_weights_of_independent_inputs_are_rounded_to_the_nearest() -> None:
    feedback = Feedback(torch.eye(5)[None], 10**9)
    weights = torch.linspace(-3, 3, 10).reshape(1, 2, 5)
    steps = torch.tensor([[0.5, 0.25]])
    made = feedback.unsorted(feedback.round(feedback.sorted(weights), steps, lambda place, wanted: wanted.round()))
    assert torch.equal(made, (weights / steps[..., None]).round())
