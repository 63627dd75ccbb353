"""What shares a scale has one observer, however often a graph puts a tensor beside parts of itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from quantizer_kit import INT8, INT16, assert_matches, data, quantized, quantizer
from torch import Tensor, nn
from torch.nn.functional import pad
from torchao.quantization.pt2e.quantize_pt2e import prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

from arm_tosa_core import QuantizationConfig, get_symmetric_quantization_config
from arm_tosa_core.compat.torchao import ANNOTATION
from arm_tosa_core.testing.case import Apply

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

SHAPE = (1, 4, 4, 6)


def left(x: Tensor, by: int = 1) -> Tensor:
    return pad(x[..., by:], (0, by))


def right(x: Tensor, by: int = 1) -> Tensor:
    return pad(x[..., :-by], (by, 0))


def harmonics(x: Tensor) -> Tensor:
    """A spectrum beside itself at multiples of each frequency, as basic-pitch stacks it."""
    x = torch.relu(x * 2)
    return torch.cat([right(x, 2), x, left(x), left(x, 2)], 1)


def whole_last(x: Tensor) -> Tensor:
    x = torch.tanh(x)
    return torch.cat([left(x), right(x), x], 1)


def levels(x: Tensor) -> Tensor:
    x = torch.tanh(x)
    both = torch.cat([left(x), x], 1)
    return torch.cat([both[:, :4], left(both), x], 1)


def three_levels(x: Tensor) -> Tensor:
    x = levels(x)
    both = torch.cat([right(x), x], 1)
    return torch.cat([both[:, 8:], right(both), x], 1)


def sums(x: Tensor) -> Tensor:
    x = torch.tanh(x)
    x = torch.cat([left(x) + x, x], 1)
    return torch.cat([x[:, :4] + right(x)[:, 4:], x, left(x)], 1)


def crossed(x: Tensor) -> Tensor:
    x, y = x.split(2, 1)
    first, second = torch.cat([left(x), y], 1), torch.cat([right(y), x], 1)
    return torch.cat([second[:, :2], first, y, left(second)], 1)


@pytest.mark.parametrize(
    ("model", "config"),
    [
        *((model, INT8) for model in (harmonics, whole_last, levels, three_levels, sums, crossed)),
        (three_levels, INT16),
    ],
)
def test_a_tensor_beside_parts_of_itself(model: Callable[[Tensor], Tensor], config: QuantizationConfig) -> None:
    inputs = data(SHAPE)
    assert_matches(quantized(model, inputs, quantizer(config=config)), inputs)


@pytest.mark.parametrize("model", [harmonics, levels, three_levels, sums, crossed])
def test_every_reference_is_to_a_place_with_a_spec(model: Callable[[Tensor], Tensor]) -> None:
    by = quantizer()
    module = by.transform_for_annotation(torch.export.export(Apply(model), tuple(data(SHAPE))).module())
    by.annotate(module)
    specs = {}
    for node in module.graph.nodes:
        if ANNOTATION in node.meta:
            specs |= {(n, node): spec for n, spec in node.meta[ANNOTATION].input_qspec_map.items()}
            specs[node] = node.meta[ANNOTATION].output_qspec
    shared = [spec for spec in specs.values() if isinstance(spec, SharedQuantizationSpec)]
    assert shared
    for spec in shared:
        assert not isinstance(specs[spec.edge_or_node], SharedQuantizationSpec)


class Dense(nn.Module):
    """An image beside what convolutions with norms make of it, which PT2E replaces for training."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4))
        self.second = nn.Sequential(nn.Conv2d(8, 4, 1), nn.BatchNorm2d(4), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        both = torch.cat([self.first(x), x], 1)
        return torch.cat([self.second(both), left(both)], 1)


def test_training() -> None:
    by = quantizer(config=get_symmetric_quantization_config(is_qat=True))
    (x,) = data((2, *SHAPE[1:]))
    prepared = prepare_qat_pt2e(torch.export.export(Dense().train(), (x,)).module(), by)
    prepared(x).square().mean().backward()
    assert all(p.grad is not None for p in prepared.parameters())
