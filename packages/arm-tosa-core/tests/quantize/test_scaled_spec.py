"""A product with a number has the integers of its operand: nothing is rounded, and nothing is rescaled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from quantizer_kit import INT8, INT16, SPEC, assert_matches, data, named, parameters, quantized, quantizer
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

from arm_tosa_core import QuantizationConfig, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.exir.tosa_targets import tosa_int
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, exported

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

POINTS = (64, 3)


def turns(x: Tensor) -> Tensor:
    return torch.sin(x * 32)


def seen_twice(x: Tensor) -> Tensor:
    x = torch.tanh(x)
    return (x * 0.7) @ x.T


def behind_views(x: Tensor) -> Tensor:
    return torch.sin((x / 3).reshape(3, 64).unsqueeze(0))


def of_products(x: Tensor) -> Tensor:
    x = torch.tanh(x) * 3
    return x.sum(0) + torch.cos(x * 1.1).amax(0)


def alone(x: Tensor) -> Tensor:
    return x * 2


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
@pytest.mark.parametrize("function", [turns, seen_twice, behind_views, of_products, alone])
def test_integers_stay(function: Callable[[Tensor], Tensor], config: QuantizationConfig) -> None:
    inputs = data(POINTS)
    model = quantized(function, inputs, quantizer(config=config))
    for product in (*named(model, "mul"), *named(model, "div")):
        (operand,), factor = product.all_input_nodes, product.args[1]
        scale, zero_point = parameters(product)
        factor = 1 / factor if "div" in str(product.target) else factor
        assert (scale, zero_point) == (pytest.approx(operand.args[1] * factor), operand.args[2])
    assert_matches(model, inputs)


@pytest.mark.parametrize("function", [turns, behind_views, alone])
def test_nothing_is_rescaled(function: Callable[[Tensor], Tensor]) -> None:
    run = Execution(exported(Apply(function), tuple(data(POINTS)), SPEC, "int8"), tosa_int())
    assert "RESCALE" not in [op.name for region in run.regions for op in region.graph.ops]


def test_a_scale_that_others_share_is_observed() -> None:
    """The other operand of ``cat`` reaches farther than the product."""
    inputs = data(POINTS, POINTS)
    model = quantized(lambda x, y: torch.cat([x * 0.1, torch.tanh(y)]), inputs)
    ((scale, zero_point),) = map(parameters, named(model, "mul"))
    assert scale * (127 - zero_point) > 0.9
    assert_matches(model, inputs)


def test_the_smallest_scale_is_kept() -> None:
    config = get_symmetric_quantization_config(eps=2**-12)
    model = quantized(lambda x: torch.exp(x * 1e-6), data(POINTS), quantizer(config=config))
    ((scale, _),) = map(parameters, named(model, "mul"))
    assert scale == 2**-12


def test_training() -> None:
    inputs = data(POINTS)
    program = torch.export.export(Apply(turns), tuple(inputs))
    by = quantizer(config=get_symmetric_quantization_config(is_qat=True))
    prepared = prepare_qat_pt2e(program.module(), by)
    for _ in range(3):
        prepared(*inputs)
    model = convert_pt2e(prepared)
    (product,) = named(model, "mul")
    assert parameters(product)[0] == 32 * product.args[0].args[1]
    assert_matches(model, inputs)


def test_a_sine_of_many_turns_has_the_error_of_its_operand_alone() -> None:
    """Half a step of the result beside a float run of the same numbers, of which the input alone is rounded."""
    inputs = [torch.rand(1024, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1]
    model = quantized(turns, inputs)
    (product,), (sine,) = named(model, "mul"), named(model, "sin")
    scale, zero_point = product.args[0].args[1:3]  # type: ignore[union-attr]
    rounded = ((inputs[0] / scale).round() + zero_point).clamp(-128, 127)
    off = (model(*inputs) - turns((rounded - zero_point) * scale)).abs().max()
    assert off <= 0.501 * parameters(sine)[0]


class RadianceField(nn.Module):
    """A small NeRF: sines and cosines of a point in six octaves, which a layer behind reads again."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(39, 64), nn.Linear(64 + 39, 64), nn.Linear(64, 4)

    def forward(self, x: Tensor) -> Tensor:
        waves = torch.cat([x, *(f(x * 2.0**i) for i in range(6) for f in (torch.sin, torch.cos))], -1)
        h = torch.relu(self.first(waves))
        color, density = self.last(torch.relu(self.second(torch.cat([h, waves], -1)))).split([3, 1], -1)
        return torch.cat([torch.sigmoid(color), torch.relu(density)], -1)


def test_a_radiance_field() -> None:
    """50.3 dB; 48.5 with products that have scales of their own."""
    torch.manual_seed(0)
    net = RadianceField().eval()
    samples = [(torch.rand(256, 3) * 2 - 1,) for _ in range(9)]
    model = quantize_program(torch.export.export(net, samples[0]), quantizer(), samples[:8]).converted
    with torch.no_grad():
        real, ours = net(*samples[8]), model(*samples[8])
    assert 10 * torch.log10(real.square().sum() / (real - ours).square().sum()) > 49.4
