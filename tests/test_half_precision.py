"""VGF in float16 and bfloat16: whole networks, and beside layers in int8."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils._pytree import tree_leaves

from arm_tosa_core import get_symmetric_quantization_config, lower, quantize_program
from arm_vgf import VgfCompileSpec, VgfQuantizer
from models import MODELS

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

HALVES = [torch.float16, torch.bfloat16]
SPEC = VgfCompileSpec("TOSA-1.0+INT+FP+bf16")
#: Decibels by which a network may be further from float32 than eager PyTorch is in the same type.
WORSE = 4


def run(pte: bytes, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    (result, *_) = Runtime.get().load_program(pte).load_method("forward").execute(list(inputs))
    return result


def sqnr(exact: torch.Tensor, given: torch.Tensor) -> float:
    noise = (exact.double() - given.double()).square().sum()
    return 10 * math.log10(exact.double().square().sum() / noise)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", ["digits", "mobilenet_v2", "bert_tiny", "deit_tiny"])
def test_networks_are_as_near_to_float32_as_eager_pytorch(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    net, inputs = MODELS[name]()
    given = inputs(0)
    with torch.no_grad():
        exact = tree_leaves(net(*given))[0]
        net = net.to(dtype)
        halves = tuple(x.to(dtype) if x.is_floating_point() else x for x in given)
        eager = tree_leaves(net(*halves))[0]
    lowered = lower(torch.export.export(net, halves), SPEC)
    assert lowered.report.delegates == 1 and not lowered.report.rejected
    made = run(lowered.buffer, halves)
    assert made.dtype == dtype
    assert sqnr(exact, made) > sqnr(exact, eager) - WORSE


class Mixed(torch.nn.Module):
    """A convolution to quantize, and a linear layer of another type behind it."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.linear = torch.nn.Linear(288, 5, dtype=dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.conv(x)).flatten(1)
        return torch.softmax(self.linear(y.to(self.linear.weight.dtype)), 1)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_one_delegate_has_int8_and_half_precision(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    net, x = Mixed(dtype).eval(), (torch.randn(1, 3, 8, 8),)
    quantizer = VgfQuantizer(SPEC).set_module_name("conv", get_symmetric_quantization_config())
    quantized = quantize_program(torch.export.export(net, x), quantizer, [x]).converted
    program = torch.export.export(quantized, x)
    assert any("quantize_per_tensor" in str(node.target) for node in program.graph.nodes)
    lowered = lower(program, SPEC)
    assert lowered.report.delegates == 1 and not lowered.report.rejected
    torch.testing.assert_close(run(lowered.buffer, x), quantized(*x), rtol=0, atol=4e-3)
