"""Norms of calibration data in which some parts are far fainter than others, such as silence in a sound."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from quantizer_kit import assert_matches, quantizer
from torch import nn
from torch.nn import functional as F

from arm_tosa_core import get_symmetric_a16w8_quantization_config, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.quantize.annotate.norm_factors import is_norm_factor
from arm_tosa_core.quantize.schemes.factors import Factors

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


class Own(nn.Module):
    """A norm written by hand.

    Args:
        function: of a tensor.
    """

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


SCHEMES = {"int8": get_symmetric_quantization_config(), "int16x8": get_symmetric_a16w8_quantization_config()}
NORMS = {
    "rms_norm": nn.RMSNorm(64),
    "layer_norm": nn.LayerNorm(64),
    "group_norm": nn.GroupNorm(4, 8),
    "normalize": Own(lambda x: F.normalize(x, dim=-1)),
    "divided": Own(lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)),
}


def decibels(norm: nn.Module, scheme: str, loudness: tuple[float, ...]) -> list[float]:
    """Signal to noise of each sample."""
    torch.manual_seed(0)
    samples = [torch.randn(1, 8, 64) * each for each in loudness]
    program = torch.export.export(norm.eval(), (samples[0],))
    converted = quantize_program(program, quantizer(config=SCHEMES[scheme]), samples).converted
    assert_matches(converted, [samples[0]])
    errors = [(norm(x) - converted(x)).square().sum() / norm(x).square().sum() for x in samples]
    return [-10 * float(error.log10()) for error in errors]


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_a_faint_sample_takes_the_others_no_bits(norm: nn.Module) -> None:
    loud, _, half, other = decibels(norm, "int8", (1.0, 1e-3, 0.3, 1.0))
    assert min(loud, other) > 30
    assert half > 20


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_a_faint_sample_is_right_in_16_bits(norm: nn.Module) -> None:
    assert min(decibels(norm, "int16x8", (1.0, 1e-3, 0.3, 1.0))) > 12


def test_a_mean_that_is_0_in_float_has_room_for_roundings() -> None:
    torch.manual_seed(0)
    sample = torch.randn(1, 8, 64)
    program = torch.export.export(nn.Sequential(nn.LayerNorm(64), nn.LayerNorm(64)).eval(), (sample,))
    converted = quantize_program(program, quantizer(), [sample]).converted
    means = [node for node in converted.graph.nodes if node.name.startswith("mean_dim")]
    scales = [float(user.args[1]) for mean in means for user in mean.users]
    assert min(scales) == 2**-24


def test_only_what_is_multiplied_with_its_own_source_is_a_factor() -> None:
    class Both(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            squares = (x * x).mean(-1, keepdim=True) + 1e-6
            return x * squares.rsqrt(), y * (x.abs() + 1).reciprocal(), (x.square() + 2).rsqrt()

    inputs = torch.randn(2, 8), torch.randn(2, 8)
    module, rules = torch.export.export(Both(), inputs).module(), RuleSet.of(None)
    poles = [node for node in module.graph.nodes if rules.traits_of(node).pole]
    assert [is_norm_factor(node, rules) for node in poles] == [True, False, False]


@pytest.mark.parametrize(
    ("factors", "reach"),
    [([1.0, 1.2, 1.1], 1.2), ([1.0] * 100 + [10.0] * 100, 10.0), ([1.0] * 3 + [3000.0], 1.0), ([0.0], torch.inf)],
)
def test_reach(factors: list[float], reach: float) -> None:
    counted = Factors(255)
    counted.add(torch.tensor(factors))
    assert reach <= counted.reach() <= reach * 2 ** (1 / 32)
