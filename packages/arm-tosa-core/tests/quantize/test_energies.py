"""Sums of squares whose root is taken: products, sum and what the root reads have 16 bits, or none of them has."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from quantizer_kit import INT8, SPEC, assert_matches, data, kinds, named, quantized
from torch import nn
from torch.nn import functional as F

from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, quantize_program
from arm_tosa_core.lowering.exported_program import is_quantize
from arm_tosa_core.quantize.annotate.wide_results import Wide

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

Energy = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

ENERGIES: dict[str, Energy] = {
    "power": lambda re, im: (re**2 + im**2).sqrt(),
    "half a power": lambda re, im: (re.square() + im * im + 1e-6) ** 0.5,
    "hypot": torch.hypot,
    "norm": lambda re, im: torch.stack([re, im]).norm(dim=0),
    "deviation": lambda re, im: torch.cat([re, im], 1).std(1, keepdim=True),
    "pooled": lambda re, im: F.avg_pool1d(re * re + im * im, 2).sqrt(),
    "clamped": lambda re, im: (re * re + im * im).clamp(min=1e-4).sqrt(),
    "view": lambda re, im: (re * re + im * im).flatten(1).sqrt(),
}


class Spectrum(nn.Module):
    """Real and imaginary parts from one convolution, and what is made of them."""

    def __init__(self, energy: Energy) -> None:
        super().__init__()
        angles = torch.arange(9)[:, None] * torch.arange(16) * torch.pi / 8
        self.waves = nn.Parameter(torch.cat([angles.cos(), angles.sin()])[:, None])
        self.energy = energy

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.conv1d(x, self.waves, stride=8)
        return self.energy(y[:, :9], y[:, 9:])


def sound(seed: int) -> torch.Tensor:
    """One loud tone and a faint one."""
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(256.0)
    loud, faint = torch.rand(2, generator=g) * 3
    return ((loud * t).sin() + 0.05 * (faint * t).sin())[None, None]


@pytest.mark.parametrize("name", ENERGIES)
def test_an_energy_has_16_bits_up_to_its_root(name: str) -> None:
    inputs = [sound(0)]
    model = quantized(Spectrum(ENERGIES[name]), inputs, TOSAQuantizer(SPEC).set_global(INT8))
    (root,) = named(model, "sqrt")
    read = root.args[0]
    assert read.args[5] == torch.int16  # type: ignore[union-attr, index]
    assert kinds(model, "sqrt") == [torch.int8]
    assert set(kinds(model, "mul")) == {torch.int16}
    assert kinds(model, "conv1d") == [torch.int8]  # a root gives back what 8 bits of its operand had
    assert_matches(model, inputs, SPEC)


@pytest.mark.parametrize(("spec", "wide"), [(TosaCompileSpec("TOSA-1.0+INT"), "residuals"), (SPEC, "none")])
def test_without_tables_of_16_bits_it_has_8(spec: TosaCompileSpec, wide: Wide) -> None:
    inputs = [sound(0)]
    model = quantized(Spectrum(ENERGIES["power"]), inputs, TOSAQuantizer(spec, wide=wide).set_global(INT8))
    assert not [n for n in model.graph.nodes if is_quantize(n) and n.args[5] == torch.int16]


def test_faint_tones_are_heard_beside_loud_ones() -> None:
    inputs = [sound(0)]
    module = Spectrum(ENERGIES["power"])
    wanted = module(sound(1))

    def noise(wide: Wide) -> float:
        model = quantized(module, inputs, TOSAQuantizer(SPEC, wide=wide).set_global(INT8))
        return float((model(sound(1)) - wanted).square().sum())

    assert noise("residuals") < 0.25 * noise("none")


def test_a_square_that_a_layer_reads_as_well_has_8_bits() -> None:
    class Both(Spectrum):
        def __init__(self) -> None:
            super().__init__(ENERGIES["power"])
            self.layer = nn.Conv1d(9, 2, 1)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
            power = F.conv1d(x, self.waves, stride=8)[:, :9] ** 2
            return power.sqrt(), self.layer(power)

    torch.manual_seed(0)
    model = quantized(Both(), [sound(0)], TOSAQuantizer(SPEC).set_global(INT8))
    assert kinds(model, "mul") == [torch.int8]


def test_the_root_of_a_layer_has_8_bits() -> None:
    model = quantized(lambda x: (x.abs() * 2).sqrt(), data((1, 4)), TOSAQuantizer(SPEC).set_global(INT8))
    assert not [n for n in model.graph.nodes if is_quantize(n) and n.args[5] == torch.int16]


def test_a_root_in_half_precision_stays_in_float() -> None:
    model = quantized(lambda x: x + (x.half() ** 2).sqrt().float(), data((1, 4)), TOSAQuantizer(SPEC).set_global(INT8))
    (root,) = named(model, "sqrt")
    assert not is_quantize(root.args[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(("offset", "bits"), [(0.0, 16), (3.0, 8)])
def test_samples_tell_whether_16_bits_are_worth_it(offset: float, bits: int) -> None:
    """Far from 0 the root is flat: 8 bits of what it reads are as good as its own."""

    class Length(nn.Module):
        def forward(self, re: torch.Tensor, im: torch.Tensor) -> torch.Tensor:
            return ((re + offset) ** 2 + (im + offset) ** 2).sqrt()

    generator = torch.Generator().manual_seed(0)
    samples = [tuple(torch.randn(2, 1, 64, generator=generator)) for _ in range(4)]
    quantizer = TOSAQuantizer(SPEC).set_global(INT8)
    program = torch.export.export(Length(), samples[0])
    converted = quantize_program(program, quantizer, samples).converted
    (root,) = named(converted, "sqrt")
    assert root.args[0].args[5] == (torch.int16 if bits == 16 else torch.int8)  # type: ignore[union-attr, index]
