"""What calibration shows of layers: the mean of what each weight is multiplied with, whatever the layer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from arm_tosa_core import (
    Corrections,
    TosaCompileSpec,
    TOSAQuantizer,
    get_symmetric_quantization_config,
    quantize_program,
)
from arm_tosa_core.quantize.corrections.bias_correction import constant
from arm_tosa_core.quantize.corrections.layer_inputs import LayerInputs
from arm_tosa_core.quantize.decisions import CORRECTED
from arm_tosa_core.quantize.probe.calls import inputs_of
from arm_tosa_core.quantize.probe.runner import Runner

LAYERS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "linear": (nn.Linear(6, 4), (2, 5, 6)),
    "vector": (nn.Linear(6, 4), (6,)),
    "conv1d, strided, dilated": (nn.Conv1d(6, 4, 3, stride=2, dilation=2, padding=1), (2, 6, 11)),
    "conv2d": (nn.Conv2d(6, 4, 3, padding=1), (1, 6, 7, 5)),
    "conv2d, one number for two axes": (nn.Conv2d(6, 4, (3, 2), stride=(2, 1), padding=(0, 1)), (2, 6, 8, 5)),
    "conv2d, same": (nn.Conv2d(6, 4, (2, 3), padding="same", dilation=(1, 2)), (1, 6, 8, 7)),
    "conv2d, groups": (nn.Conv2d(6, 4, 3, groups=2, bias=False), (2, 6, 6, 6)),
    "depthwise": (nn.Conv2d(6, 6, 3, groups=6, stride=2, padding=1), (1, 6, 9, 9)),
    "conv2d, no batch": (nn.Conv2d(6, 4, 3), (6, 6, 6)),
    "transposed": (nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1), (2, 6, 4, 5)),
    "transposed, groups": (nn.ConvTranspose2d(6, 4, 3, stride=2, output_padding=1, groups=2), (1, 6, 4, 5)),
}


class Counting(nn.Module):
    """A layer whose input grows from call to call."""

    calls: torch.Tensor

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> Any:
        self.calls.add_(0.25)
        return self.layer(x + self.calls)


@pytest.mark.parametrize(("layer", "shape"), LAYERS.values(), ids=LAYERS)
def test_errors_of_weights_are_those_of_results(layer: nn.Module, shape: tuple[int, ...]) -> None:
    module, random = Counting(layer).eval(), torch.Generator().manual_seed(0)
    calls = [torch.randn(shape, generator=random) for _ in range(3)]
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(module, (calls[0],)).module(), quantizer)
    inputs = LayerInputs(prepared, quantizer.rules, spreads=True)
    runner = Runner(prepared, dict.fromkeys(inputs.nodes, inputs.see), observe=True)
    for x in calls:
        runner.outputs(inputs_of(prepared, ((x,), {})))
        inputs.next_call()
    ((node, found),) = inputs.nodes.items()
    lost = torch.randn(found.weight.shape, generator=random)
    weight: Any = layer.weight
    with torch.no_grad():
        weight.copy_(lost)
        if layer.bias is not None:
            layer.bias.zero_()  # type: ignore[operator]
        results = [layer(x + 0.25 * number) for number, x in enumerate(calls, 1)]
    halves = results[::2], results[1::2]
    for moments, half in zip(inputs.moments[node.name], halves, strict=True):
        wanted = sum(_channel_means(result, found.weight.dim()) for result in half) / len(half)
        torch.testing.assert_close(moments.mean_errors(lost), wanted, atol=1e-5, rtol=1e-5)


def _channel_means(result: torch.Tensor, rank: int) -> torch.Tensor:
    axis = result.dim() - (1 if rank == 2 else rank - 1)
    others = [i for i in range(result.dim()) if i != axis]
    return result.double().mean(others) if others else result.double()  # of no axes PyTorch takes the mean of all


@pytest.mark.parametrize(("signs", "agree"), [((1.0, 1.0), True), ((1.0, -1.0), False)])
def test_a_bias_takes_the_mean_error_and_says_whether_halves_of_the_samples_agree(
    signs: tuple[float, float], agree: bool
) -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(16, 1), torch.rand(1, 16) + 1
    calls = [x * sign for sign in signs * 4]
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    program = torch.export.export(nn.Sequential(layer), (x,))
    made = quantize_program(program, quantizer, calls, corrections=Corrections(rounding=False))
    (node,) = (n for n in made.converted.graph.nodes if n.name == "linear")
    rounded = constant(node.args[1])
    assert rounded is not None
    wanted = layer.bias.detach() + (layer.weight.detach() - rounded) @ torch.cat(calls).mean(0)
    torch.testing.assert_close(made.converted.get_buffer("_corrected_bias_linear"), wanted, atol=5e-5, rtol=0)
    (row,) = [row for row in made.report if row.kind == CORRECTED]
    assert row.evidence is not None and row.evidence.observations == 2
    assert (row.evidence.after < row.evidence.before) == agree
