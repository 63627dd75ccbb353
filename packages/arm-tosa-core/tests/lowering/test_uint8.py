"""uint8 inputs and outputs: whatever reads or makes them is in the delegate, and changing the sign costs nothing."""

from __future__ import annotations

import pytest
import torch
from flow_kit import assert_same, eager, lower, quantize, tolerances
from torch import nn

from arm_tosa_core import get_uint8_io_quantization_config
from arm_tosa_core.tosa.loader import load


class Joined(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, torch.tanh(x) * 3], 1)


IMAGE, GRAY = torch.Size([1, 3, 8, 8]), torch.Size([1, 1, 8, 8])
NETS = {
    "image to image": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), IMAGE),
    "image to numbers": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 5)), IMAGE),
    "pool first": (nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(1, 2, 1)), GRAY),
    "view first": (nn.Sequential(nn.Flatten(), nn.Linear(64, 4)), GRAY),
    "joined": (Joined(), torch.Size([1, 8])),
}


@pytest.mark.parametrize("spec", ["TOSA-1.0+INT", "TOSA-1.0+INT+FP"])
@pytest.mark.parametrize("name", NETS)
def test_all_but_the_edges_is_delegated(name: str, spec: str) -> None:
    net, shape = NETS[name]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    program = quantize(net, (x,), lambda q: q.set_io(get_uint8_io_quantization_config()))
    wanted, within = eager(program)(x), tolerances(program)
    lowered = lower(program, spec)
    inside = "FP" in spec  # quantize and dequantize
    edges = {} if inside else dict.fromkeys(f"quantized_decomposed.{n}quantize_per_tensor.default" for n in ("", "de"))
    assert lowered.outside == dict.fromkeys(edges, 1)
    (payload,) = lowered.payloads
    rescales = [op for op in load(payload).ops if op.name == "RESCALE"]
    assert any(op.attrs["input_unsigned"] for op in rescales) == any(op.attrs["output_unsigned"] for op in rescales)
    assert any(op.attrs["input_unsigned"] for op in rescales) != inside
    assert_same(lowered.run(x), wanted, within)


def test_a_change_of_sign_joins_the_change_of_scale_beside_it() -> None:
    x = torch.randn(IMAGE, generator=torch.Generator().manual_seed(0))
    counts = []
    for io in (None, get_uint8_io_quantization_config()):
        program = quantize(nn.Conv2d(3, 4, 3), (x,), lambda q, io=io: q.set_io(io))
        (payload,) = lower(program, "TOSA-1.0+INT").payloads
        counts.append(sum(op.name == "RESCALE" for op in load(payload).ops))
    assert counts == [1, 3]
