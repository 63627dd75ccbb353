"""int16: sums of squares that a root, a logarithm or a reciprocal reads in 32 bits, where samples show a gain."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from quantizer_kit import INT8, INT16, SPEC, kinds, named
from torch.fx import GraphModule

from arm_tosa_core import QuantizationConfig, TOSAQuantizer, quantize_program
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

Energy = Callable[[torch.Tensor], torch.Tensor]


def _samples(least: float) -> list[tuple[torch.Tensor]]:
    """Four, of [1, 8, 40]: each place has numbers of one size, from the least to 10."""
    sizes = torch.linspace(0, 1, 40)
    sizes = least ** (1 - sizes) * 10**sizes
    g = torch.Generator().manual_seed(0)
    return [(sizes * (0.5 + torch.rand(1, 8, 40, generator=g)),) for _ in range(4)]


def _converted(
    function: Energy, samples: list[tuple[torch.Tensor]], config: QuantizationConfig = INT16
) -> tuple[GraphModule, Execution]:
    program = torch.export.export(Apply(function), samples[0])
    converted = quantize_program(program, TOSAQuantizer(SPEC).set_global(config), samples).converted
    return converted, Execution(torch.export.export(converted, samples[0]), SPEC.target())


def _variance(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(1, keepdim=True)
    return ((x * x).mean(1, keepdim=True) - mean * mean).clamp(min=0)


ENERGIES: dict[str, Energy] = {
    "root": lambda x: (x * x).mean(1).sqrt(),
    "reciprocal root": lambda x: ((x * x).mean(1) + 1e-5).rsqrt(),
    "logarithm": lambda x: ((x * x).sum(1) + 1e-5).log(),
    "reciprocal": lambda x: 1 / ((x * x).sum(1).clamp(min=0.05)),
    "logarithm of sums alone": lambda x: (x * x).mean(1).log(),
    "logarithm of bounded sums": lambda x: (x * x).mean(1).clamp(min=1e-10).log(),
    "common logarithm": lambda x: ((x * x).sum(1) + 1e-5).log10(),
    "negated twice": lambda x: (-1 * (-1 * (x * x).mean(1))).sqrt(),
    "negative factor of a sum": lambda x: torch.sub((x * x).mean(1), (x * x).sum(1), alpha=-0.3).sqrt(),
    "variance": lambda x: _variance(x).flatten(1).sqrt(),
}


@pytest.mark.parametrize("name", ENERGIES)
def test_small_sums_count_beside_large_ones(name: str) -> None:
    samples = _samples(1e-2)
    _, run = _converted(ENERGIES[name], samples)
    assert len(run.regions) == 1
    exact, (ours,) = ENERGIES[name](*samples[0]), run.run(samples[0])
    assert ((ours - exact).abs() / exact.abs()).quantile(0.9) < 0.1


@pytest.mark.parametrize(("least", "bits"), [(1e-2, None), (9.0, torch.int16)])
def test_samples_tell_whether_a_sum_is_rounded(least: float, bits: torch.dtype | None) -> None:
    converted, _ = _converted(ENERGIES["root"], _samples(least))
    assert kinds(converted, "mean") == ([] if bits is None else [bits])


def test_a_sum_that_is_read_by_others_is_rounded() -> None:
    def both(x: torch.Tensor) -> torch.Tensor:
        power = (x * x).mean(1)
        return power.sqrt() + power

    converted, _ = _converted(both, _samples(1e-2))
    assert kinds(converted, "mean") == [torch.int16]


def _norm(x: torch.Tensor, centered_first: bool) -> torch.Tensor:
    mean = x.mean(1, keepdim=True)
    early = x - mean
    power = (x * x).mean(1, keepdim=True) - mean * mean
    centered = early if centered_first else x - mean
    return centered * (power + 1e-5).sqrt().reciprocal()


@pytest.mark.parametrize("centered_first", [True, False])
@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
def test_norms_of_int16_are_refined(config: QuantizationConfig, centered_first: bool) -> None:
    converted, _ = _converted(lambda x: _norm(x, centered_first), _samples(1e-2), config)
    refined = config is INT16
    assert len(named(converted, "rsqrt")) == refined
    assert len(named(converted, "sqrt")) == (not refined)
    assert len(named(converted, "sub")) == (1 if refined else 2)  # the variance is made of the centred numbers


def test_what_the_device_computes_of_products_with_constants_is_what_the_quantized_model_says() -> None:
    samples, factors = _samples(1e-2), torch.nn.Buffer(torch.arange(1.0, 41.0))
    converted, run = _converted(lambda x: ((x * x).mean(1) * factors).log(), samples)
    torch.testing.assert_close(run.run(samples[0])[0], converted(*samples[0]), rtol=0, atol=0.01)


class _Parts(torch.nn.Module):
    """A variance of two means, whose root is a module of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.root = Apply(lambda x: x.mean(1, keepdim=True)), Apply(torch.sqrt)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = self.mean(x)
        variance = (x * x).mean(1, keepdim=True) - mean * mean
        result: torch.Tensor = self.root(variance.clamp(min=0) + 1e-5).reciprocal()
        return result


@pytest.mark.parametrize("config", [INT8, None], ids=["int8", "float"])
@pytest.mark.parametrize(("part", "made"), [("mean", "reshape"), ("root", "rsqrt")])
def test_parts_of_another_scheme_stay(part: str, made: str, config: QuantizationConfig | None) -> None:
    samples = _samples(1e-2)
    plain = TOSAQuantizer(SPEC).set_global(INT16)
    for quantizer, count in ((plain, 1), (TOSAQuantizer(SPEC).set_global(INT16).set_module_name(part, config), 0)):
        program = torch.export.export(_Parts(), samples[0])
        converted = quantize_program(program, quantizer, samples).converted
        assert len(named(converted, made)) == count


def _square(x: torch.Tensor) -> torch.Tensor:
    return x * x


def _of_integers(x: torch.Tensor) -> torch.Tensor:
    numbers = (10 * x).to(torch.int32)
    mean = numbers.mean(1, keepdim=True, dtype=torch.float32)
    return (numbers * numbers).mean(1, keepdim=True, dtype=torch.float32) - mean * mean


def _of_one_number(x: torch.Tensor) -> torch.Tensor:
    one = x.sum()
    return (one * one).mean(0) - _square(one.mean(0)) + x


OTHER_DIFFERENCES: dict[str, Energy] = {
    "twice the mean": lambda x: torch.sub((x * x).mean(1), _square(x.mean(1)), alpha=2),
    "means of two shapes": lambda x: (x * x).mean(1) - _square(x.mean(1, keepdim=True)),
    "means along two axes": lambda x: (x * x).mean(1, keepdim=True) - _square(x.mean(2, keepdim=True)),
    "means of two operands": lambda x: (x * x).mean(1) - _square((2 * x).mean(1)),
    "means of integers": _of_integers,
    "means of one number": _of_one_number,
}


@pytest.mark.parametrize("name", OTHER_DIFFERENCES)
def test_other_differences_stay(name: str) -> None:
    samples = [(torch.cat([x, 2 * x]),) for (x,) in _samples(1.0)]
    converted, _ = _converted(OTHER_DIFFERENCES[name], samples)
    exact = OTHER_DIFFERENCES[name](*samples[0])
    torch.testing.assert_close(converted(*samples[0]), exact, rtol=0, atol=float(exact.abs().max()) / 500)
