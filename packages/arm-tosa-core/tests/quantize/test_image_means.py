"""Average pools over whole images: where they become means, with a scale of their own."""

from __future__ import annotations

import pytest
import torch
from quantizer_kit import INT8, INT16, assert_matches, data, named, parameters, quantized, quantizer
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

from arm_tosa_core import TosaCompileSpec, get_symmetric_quantization_config, quantize_program

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations
_IMAGE = (1, 16, 6, 6)


class _Squeezed(nn.Module):
    """A pool whose image something else reads too."""

    def __init__(self, pool: nn.Module) -> None:
        super().__init__()
        self.pool = pool

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + 1, self.pool(x)


@pytest.mark.parametrize(
    ("pool", "shape"),
    [
        (nn.AdaptiveAvgPool2d(1), _IMAGE),
        (nn.AdaptiveAvgPool2d((1, 1)), (1, 32, 1, 64)),
        (nn.AvgPool2d(6), _IMAGE),
        (nn.AvgPool2d((6, 5), 1, ceil_mode=True, count_include_pad=False), (1, 16, 6, 5)),
        (nn.AdaptiveAvgPool1d(1), (1, 16, 99)),
        (nn.AvgPool1d(9), (1, 16, 9)),
    ],
)
def test_the_mean_of_an_image_has_a_scale_of_its_own(pool: nn.Module, shape: tuple[int, ...]) -> None:
    inputs, module = data(shape), nn.Sequential(nn.ReLU(), pool)
    program = torch.export.export(module, tuple(inputs))
    for model in (quantized(module, inputs), quantize_program(program, quantizer(), [tuple(inputs)]).converted):
        image, mean = parameters(named(model, "relu")[0]), parameters(named(model, "mean")[0])
        assert mean[0] < image[0] / 2
        assert_matches(model, inputs)


@pytest.mark.parametrize(
    ("pool", "shape"),
    [
        (nn.AvgPool2d(4), _IMAGE),  # one window, of a part
        (nn.AvgPool2d(6, padding=2), _IMAGE),
        (nn.AvgPool2d(6, divisor_override=30), _IMAGE),
        (nn.AdaptiveAvgPool2d((1, 6)), _IMAGE),
        (nn.AdaptiveAvgPool2d(1), (1, 16, 1, 1)),
        (nn.AdaptiveAvgPool2d(1), (1, 24, 6, 6)),
        (nn.AdaptiveAvgPool2d(1), (2, 16, 6, 6)),
        (nn.AdaptiveAvgPool2d(1), (1, 16, 65, 2)),
        (nn.AdaptiveAvgPool2d(1), (16, 6, 6)),
        (nn.AdaptiveAvgPool1d(1), (1, 16)),
        (nn.AdaptiveAvgPool3d(1), (1, 16, 2, 6, 6)),
        (_Squeezed(nn.AdaptiveAvgPool2d(1)), _IMAGE),
    ],
)
def test_other_pools_share_the_scale_of_the_image(pool: nn.Module, shape: tuple[int, ...]) -> None:
    inputs = data(shape)
    model = quantized(nn.Sequential(nn.ReLU(), pool), inputs)
    assert not named(model, "mean")
    assert_matches(model, inputs)


def test_pools_of_16_bits_stay() -> None:
    assert not named(quantized(nn.AdaptiveAvgPool2d(1), data(_IMAGE), quantizer(config=INT16)), "mean")


def test_pools_whose_size_varies_stay() -> None:
    inputs = tuple(data(_IMAGE))
    program = torch.export.export(nn.AdaptiveAvgPool2d(1), inputs, dynamic_shapes=({2: torch.export.Dim.AUTO},))
    assert not named(quantize_program(program, quantizer(), [inputs]).converted, "mean")


def test_pools_without_a_scheme_stay() -> None:
    by = quantizer(TosaCompileSpec("TOSA-1.0+INT+FP+int16"), INT8).set_module_type(nn.AdaptiveAvgPool2d, None)
    assert not named(quantized(nn.Sequential(nn.ReLU(), nn.AdaptiveAvgPool2d(1)), data(_IMAGE), by), "mean")


def test_they_are_means_in_training() -> None:
    inputs = data(_IMAGE)
    by = quantizer(config=get_symmetric_quantization_config(is_qat=True))
    module = nn.Sequential(nn.Conv2d(16, 16, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)).eval()
    prepared = prepare_qat_pt2e(torch.export.export(module, tuple(inputs)).module(), by)
    prepared(*inputs)
    model = convert_pt2e(prepared)
    assert parameters(named(model, "mean")[0])[0] < parameters(named(model, "relu")[0])[0] / 2
    assert_matches(model, inputs)
