"""Biases are rounded to the steps of the accumulator, in the eager quantized graph as in the compiled one."""

from __future__ import annotations

import pytest
import torch
from quantizer_kit import INT8, INT16, PER_TENSOR, SPEC, constants, data, quantized, quantizer
from torch import nn
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

from arm_tosa_core import QuantizationConfig, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.exir.tosa_targets import tosa_int
from arm_tosa_core.lowering.exported_program import attribute, is_dequantize
from arm_tosa_core.testing.harness import Execution

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


def _scale(node: Node) -> torch.Tensor:
    scale = node.args[1]
    return attribute(scale) if isinstance(scale, Node) else torch.tensor([scale])


def _layers(module: GraphModule) -> list[tuple[Node, Node, Node]]:
    """What the layers with a bias read: input, weight, bias."""
    return [n.args[:3] for n in module.graph.nodes if len(n.args) > 2 and n.args[2] in constants(module, torch.int32)]


@pytest.mark.parametrize("config", [INT8, PER_TENSOR, INT16], ids=["int8", "per tensor", "int16"])
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Linear(8, 40), (64, 8)),
        (lambda: nn.Conv2d(4, 6, 3, groups=2), (1, 4, 9, 9)),
        (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2), (1, 4, 9, 9)),
    ],
    ids=["linear", "grouped convolution", "grouped transposed convolution"],
)
def test_results_are_those_of_eager(make: type[nn.Module], shape: tuple[int, ...], config: QuantizationConfig) -> None:
    """A bias that eager PyTorch adds in float would move one result in 300 across the middle of two integers."""
    torch.manual_seed(0)
    layer = make()
    nn.init.normal_(layer.bias)
    model = quantized(layer, data(shape), quantizer(config=config))
    ((x, weight, bias),) = _layers(model)
    groups = len(_scale(bias)) // len(_scale(weight))
    torch.testing.assert_close(_scale(bias), _scale(x) * _scale(weight).repeat(groups))
    off = []
    for seed in range(4):
        inputs = (torch.randn(shape, generator=torch.Generator().manual_seed(seed)),)
        run = Execution(torch.export.export(model, inputs), tosa_int())
        ((ours, eager),) = run.edges(inputs)
        off.append((ours.int() - eager.int()).abs().float())
    assert torch.stack(off).max() <= 1
    # the scale of a bias is a float32: of 2**15 quanta it may be off by a thousandth of one
    assert torch.stack(off).mean() <= (1e-3 if config is INT16 else 0)


class Twice(nn.Module):
    """One layer for inputs of two scales, as in the steps of recurrent layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.layer(x).repeat(1, 2)[:, :4] * 50.0)


def test_a_layer_used_twice_has_one_weight_and_two_biases() -> None:
    torch.manual_seed(0)
    layers = _layers(quantized(Twice(), data((5, 4))))
    assert len(layers) == 2
    for x, weight, bias in layers:
        torch.testing.assert_close(_scale(bias), _scale(x) * _scale(weight))
    assert len({float(_scale(x)) for x, _, _ in layers}) == 2
    assert len({weight.args[0].target for _, weight, _ in layers}) == 1


def test_corrected_biases_are_rounded_as_well() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(4, 6, 3, bias=False), nn.ReLU(), nn.ConvTranspose2d(6, 4, 3, groups=2))
    program = torch.export.export(net.eval(), tuple(data((1, 4, 8, 8))))
    made = quantize_program(program, quantizer(), [((x,), {}) for x in data((1, 4, 8, 8))]).converted
    layers = [n for n in made.graph.nodes if n.op == "call_function" and "conv" in str(n.target)]
    assert len(layers) == 2
    for layer in layers:
        x, weight, bias = layer.args[:3]
        assert is_dequantize(x)
        steps = _scale(x).double() * _scale(weight).double()
        count = attribute(bias).double() / steps.repeat(len(attribute(bias)) // len(steps))
        torch.testing.assert_close(count, count.round(), rtol=1e-6, atol=1e-3)


def test_training_keeps_biases_in_float() -> None:
    config = get_symmetric_quantization_config(is_qat=True)
    program = torch.export.export(nn.Sequential(nn.Linear(4, 3)).train(), tuple(data((2, 4))))
    prepared = prepare_qat_pt2e(program.module(), quantizer(SPEC, config))
    prepared(*data((2, 4)))
    assert not constants(convert_pt2e(prepared), torch.int32)
