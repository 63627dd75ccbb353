"""Weights rounded together: less error where inputs go together, and no more where they do not."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from arm_tosa_core import (
    Corrections,
    TosaCompileSpec,
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    quantize_program,
)
from arm_tosa_core.quantize.corrections.layer_inputs import Layer, Moments
from arm_tosa_core.quantize.corrections.weight_rounding import Feedback
from arm_tosa_core.quantize.decisions import ROUNDED
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


def linear_layer() -> Layer:
    graph = torch.fx.Graph()
    x, weight = graph.placeholder("x"), graph.get_attr("weight")
    node = graph.call_function(torch.ops.aten.linear.default, (x, weight))
    return Layer((node,), torch.zeros(4, CHANNELS), 1)


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
    return quantize_program(
        torch.export.export(module, (calls[0],)), quantizer, calls, corrections=Corrections(rounding=rounding)
    )


def error(module: nn.Module, made: Quantized, calls: list[torch.Tensor]) -> float:
    with torch.no_grad():
        return sum(float((module(x) - made.converted(x)).square().sum()) for x in calls)


def test_errors_of_inputs_that_go_together_make_up_for_one_another() -> None:
    torch.manual_seed(0)
    module, calls = Layers().eval(), samples(24, mixed=True)
    calibration, others = calls[:8], calls[8:]
    together, alone = (quantized(module, calibration, rounding) for rounding in (True, False))
    assert error(module, together, others) < 0.6 * error(module, alone, others)
    rounded = [row.operator for row in together.report if row.kind == ROUNDED]
    assert sorted(rounded) == ["aten.conv1d.default", "aten.conv1d.default", "aten.linear.default"]
    assert not [row for row in alone.report if row.kind == ROUNDED]


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
        assert not [row for row in made.report if row.kind == ROUNDED]


def test_weights_of_independent_inputs_are_rounded_to_the_nearest() -> None:
    feedback = Feedback(torch.eye(5)[None], torch.tensor([10**9]))
    weights = torch.linspace(-3, 3, 10).reshape(1, 2, 5)
    steps = torch.tensor([[0.5, 0.25]])
    made = feedback.unsorted(feedback.round(feedback.sorted(weights), steps, -128, 127))
    assert torch.equal(made, (weights / steps[..., None]).round())


def moments(layer: Layer, calls: list[torch.Tensor]) -> Moments:
    made = Moments(layer)
    for x in calls:
        made.see(layer.nodes[0], (x,), x)
    return made


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_spread_of_inputs_is_known_far_from_0(offset: float) -> None:
    layer, random = linear_layer(), torch.Generator().manual_seed(0)
    calls = [torch.randn(50, CHANNELS, generator=random) for _ in range(4)]
    wanted = torch.cat(calls).T.double().cov(correction=0).float()
    found = moments(layer, [x + offset for x in calls])
    assert torch.allclose(found.covariance[0], wanted, atol=2e-3)
    assert torch.allclose(found.mean[0], torch.cat(calls).double().mean(0) + offset, atol=1e-3)
    halves = moments(layer, [x + offset for x in calls[:1]]) + moments(layer, [x + offset for x in calls[1:]])
    assert torch.allclose(halves.covariance, found.covariance, atol=1e-4)
    assert halves.observations == found.observations == 200


@pytest.mark.parametrize("number", [math.inf, 3e38])
def test_inputs_beyond_float32_leave_the_nearest_weights(number: float) -> None:
    layer = linear_layer()
    x = torch.randn(40, CHANNELS, generator=torch.Generator().manual_seed(0))
    x[3, 5] = number
    assert not moments(layer, [x]).is_known
