"""Factors between layers: exact in float, better in 8 bits, and nowhere that something else reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from arm_tosa_core import (
    Corrections,
    TosaCompileSpec,
    TOSAQuantizer,
    get_symmetric_quantization_config,
    quantize_program,
)
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.quantize.corrections.equalization import equalize

RULES = RuleSet.of(None)


def tilt(maker: Any, *readers: Any) -> None:
    """Makes channels reach a hundredth to a hundred times as far, which the layers that read them undo."""
    factors = torch.logspace(-2, 2, len(maker.weight))[torch.randperm(len(maker.weight))]
    maker.weight.data = maker.weight.data * factors.reshape(-1, *[1] * (maker.weight.dim() - 1))
    maker.bias.data = maker.bias.data * factors
    for reader in readers:
        depthwise = getattr(reader, "groups", 1) > 1
        shape = [-1 if axis == (0 if depthwise else 1) else 1 for axis in range(reader.weight.dim())]
        reader.weight.data = reader.weight.data / factors.reshape(shape)


class Smoothed(nn.Module):
    """A norm with channels far apart, as trained transformers have them, and the three layers that read it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.layers = nn.ModuleList(nn.Linear(16, 8) for _ in range(3))
        tilt(self.norm, *self.layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.norm(x)
        q, k, v = (layer(normed) for layer in self.layers)
        return q * k + v


def convolutions() -> nn.Module:
    """Channels far apart in front of a depthwise convolution, and behind it."""
    net = nn.Sequential(
        *(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 8, 3, groups=8), nn.ReLU(), nn.Conv2d(8, 5, 1)),
    ).eval()
    tilt(net[1], net[4])
    tilt(net[4], net[6])
    return net


def two() -> nn.Module:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 5, 1))
    tilt(net[0], net[2])
    return net


def layers() -> nn.Module:
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
    tilt(net[0], net[2])
    return net


NETS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], int]] = {
    "norm": (Smoothed, (2, 7, 16), 1),
    "convolutions": (convolutions, (1, 3, 14, 14), 2),
    "without a batch": (two, (3, 12, 12), 1),
    "layers": (layers, (5, 6), 1),
    "a row": (layers, (6,), 1),
}


def made(name: str) -> tuple[torch.export.ExportedProgram, list[torch.Tensor], int]:
    torch.manual_seed(0)
    make, shape, places = NETS[name]
    inputs = [torch.randn(shape) for _ in range(4)]
    return torch.export.export(make(), (inputs[0],)), inputs, places


@pytest.mark.parametrize("name", NETS)
def test_exact_in_float(name: str) -> None:
    program, inputs, places = made(name)
    before = {key: value.clone() for key, value in program.state_dict.items()}
    module = program.module()
    assert len(equalize(module, [((x,), {}) for x in inputs], RULES)) == places
    for x in inputs:
        torch.testing.assert_close(module(x), program.module()(x), rtol=1e-4, atol=1e-4)
    assert all(torch.equal(before[key], value) for key, value in program.state_dict.items())


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", NETS)
def test_better_in_8_bits(name: str, count: int) -> None:
    program, inputs, _ = made(name)

    def sqnr(on: bool) -> float:
        quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
        samples = [((x,), {}) for x in inputs[:count]]
        corrections = Corrections(equalization=on, smoothing=on, bias_correction=False)
        quantized = quantize_program(program, quantizer, samples, corrections=corrections).converted
        exact, got = program.module()(inputs[3]).detach(), quantized(inputs[3])
        return float(10 * torch.log10(exact.square().sum() / (exact - got).square().sum()))

    assert sqnr(True) >= sqnr(False) + (10 if count > 1 else 3)


def test_channels_that_differ_by_chance_stay() -> None:
    """How far each of them reaches in one picture of 7x7 says nothing of the next."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(16, 64, 1), nn.BatchNorm2d(64, momentum=None), nn.Conv2d(64, 64, 3, groups=64))
    net(torch.randn(64, 16, 7, 7))
    net[2].weight.data.fill_(0.1)
    picture = torch.randn(1, 16, 7, 7)
    assert equalize(torch.export.export(net.eval(), (picture,)).module(), [((picture,), {})], RULES) == {}


@pytest.mark.parametrize(("name", "layers", "norms", "places"), [("norm", True, False, 0), ("layers", False, True, 0)])
def test_each_can_be_turned_off(name: str, layers: bool, norms: bool, places: int) -> None:
    program, inputs, _ = made(name)
    assert len(equalize(program.module(), [((inputs[0],), {})], RULES, layers=layers, norms=norms)) == places


class Normed(nn.Module):
    """Two norms with weights and biases: one that two layers read, one that a sum reads as well."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(16), nn.LayerNorm(16)])
        for norm in self.norms:
            nn.init.uniform_(norm.weight, 0.5, 2.0)
            nn.init.normal_(norm.bias)
        self.layers = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 16, bias=False), nn.Linear(16, 4)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norms[0](x)
        z = self.norms[1](x + torch.relu(self.layers[0](y)) + self.layers[1](y))
        return self.layers[2](z + x) * self.layers[2](z)


def quantized_normed(**options: Any) -> tuple[nn.Module, float]:
    """The quantized model, and its SQNR on a sample that calibration did not see."""
    torch.manual_seed(0)
    net, inputs = Normed().eval(), [torch.randn(4, 9, 16) for _ in range(4)]
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    program = torch.export.export(net, (inputs[0],))
    model = quantize_program(program, quantizer, [((x,), {}) for x in inputs[:3]], **options).converted
    exact, got = net(inputs[3]).detach(), model(inputs[3])
    return model, float(10 * torch.log10(exact.square().sum() / (exact - got).square().sum()))


def products_and_sums(model: nn.Module) -> int:
    return sum(n.name.startswith(("mul", "add")) for n in model.graph.nodes)


def test_a_norm_goes_into_the_layers_behind_it() -> None:
    """A product and a sum less; the other norm, which a sum reads as well, keeps its own."""
    folded, better = quantized_normed()
    kept, worse = quantized_normed(corrections=Corrections(smoothing=False))
    assert products_and_sums(kept) == products_and_sums(folded) + 2
    assert better > worse


def test_folding_is_exact_in_float() -> None:
    torch.manual_seed(0)
    net, x = Normed().eval(), torch.randn(4, 9, 16)
    module = torch.export.export(net, (x,)).module()
    assert equalize(module, [((x,), {})], RULES).keys() == {"layer_norm"}
    constants = dict(module.named_parameters())
    assert any(torch.equal(p, torch.ones(16)) for p in constants.values())
    torch.testing.assert_close(module(x), net(x), rtol=1e-4, atol=1e-4)


def test_a_norm_with_a_zero_among_its_weights_stays() -> None:
    torch.manual_seed(0)
    net, x = Normed().eval(), torch.randn(4, 9, 16)
    net.norms[0].weight.data[3] = 0
    module = torch.export.export(net, (x,)).module()
    equalize(module, [((x,), {})], RULES)
    torch.testing.assert_close(module(x), net(x), rtol=1e-4, atol=1e-4)


class Read(nn.Module):
    """Two layers, whose activation may be read by something else, or have a clamp that no factor passes."""

    def __init__(self, between: Callable[[torch.Tensor], torch.Tensor], also: bool) -> None:
        super().__init__()
        self.first, self.second, self.between, self.also = nn.Linear(6, 12), nn.Linear(12, 12), between, also
        tilt(self.first, self.second)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.between(self.first(x))
        y = self.second(x)
        return x + y if self.also else y


@pytest.mark.parametrize(
    ("between", "also", "places"),
    [(torch.relu, False, 1), (torch.relu, True, 0), (torch.nn.functional.relu6, False, 0), (torch.sigmoid, False, 0)],
)
def test_only_where_nothing_changes(between: Callable[[torch.Tensor], torch.Tensor], also: bool, places: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 6)
    module = torch.export.export(Read(between, also), (x,)).module()
    assert len(equalize(module, [((x,), {})], RULES)) == places


def test_even_channels_stay() -> None:
    torch.manual_seed(0)
    x = torch.randn(64, 6)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
    for i in (0, 2):
        net[i].weight.data = net[i].weight.data.sign() / math.sqrt(net[i].in_features)
    assert equalize(torch.export.export(net, (x,)).module(), [((x,), {})], RULES) == {}
