"""Narrow operands of what has one scale keep a scale of their own where something else reads them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from quantizer_kit import SPEC, assert_matches, quantizer
from torch import nn

from arm_tosa_core import Corrections, quantize_program
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.quantize.corrections.shared_scales import keep_narrow

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


class Fusion(nn.Module):
    """An image, and what a layer computes of it, side by side.

    Args:
        gain: how much further the layer reaches than the image.
        read: whether the layer reads what is concatenated, or something before it.
    """

    def __init__(self, gain: float, read: bool = True) -> None:
        super().__init__()
        self.narrow, self.wide, self.both = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(8, 5, 1)
        self.gain, self.read = gain, read

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        image = self.narrow(x)
        wide = self.wide(image if self.read else x.repeat(1, 2, 1, 1)[:, :4])
        return self.both(torch.cat([image, wide * self.gain], 1))


def made(*arguments: float) -> tuple[torch.export.ExportedProgram, list[torch.Tensor]]:
    torch.manual_seed(0)
    inputs = [torch.randn(1, 3, 8, 8) for _ in range(2)]
    return torch.export.export(Fusion(*arguments).eval(), (inputs[0],)), inputs


@pytest.mark.parametrize(
    ("arguments", "places"), [((100.0,), 1), ((1.0,), 0), ((100.0, False), 0)], ids=["far", "even", "only the cat"]
)
def test_only_where_another_reader_gains(arguments: tuple[float, ...], places: int) -> None:
    program, inputs = made(*arguments)
    module = program.module()
    assert len(keep_narrow(module, [((inputs[0],), {})], RuleSet.of(None))) == places
    assert torch.equal(module(inputs[1]), program.module()(inputs[1]))


@pytest.mark.parametrize(
    ("together", "places"),
    [
        (lambda x, y: torch.stack([x, y])[0], 1),
        (lambda x, y: torch.where(x > 1, x, y), 1),
        (lambda x, y: torch.slice_scatter(x, y[:, :4], 1, 0, 4), 1),
        (lambda x, y: torch.cat([x.transpose(1, 2), y[:, 4:].transpose(1, 2)], 2), 1),
        (lambda x, y: torch.where(x > 1, y, -1e4).softmax(-1), 0),
        (lambda x, y: x + y, 0),
    ],
    ids=["stack", "where", "part written", "part turned", "mask", "sum"],
)
def test_whatever_puts_them_together(together: Callable[..., torch.Tensor], places: int) -> None:
    class Both(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return together(x, y), y.exp()

    torch.manual_seed(0)
    inputs = torch.randn(3, 8, 4) * 50, torch.rand(3, 8, 4)
    module = torch.export.export(Both().eval(), inputs).module()
    assert len(keep_narrow(module, [(inputs, {})], RuleSet.of(None))) == places


def test_better_in_8_bits_and_on_integers() -> None:
    program, inputs = made(100.0)

    def sqnr(on: bool) -> float:
        quantized = quantize_program(
            program, quantizer(), [((inputs[0],), {})], corrections=Corrections(rescaling=on)
        ).converted
        exact, got = program.module()(inputs[1]).detach(), quantized(inputs[1])
        assert_matches(quantized, [inputs[1]], SPEC)
        return float(10 * torch.log10(exact.square().sum() / (exact - got).square().sum()))

    assert sqnr(True) >= sqnr(False) + 6
