"""A batch norm is part of the layer in front of it only where nothing else reads that layer, or its weight."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from quantizer_kit import INT8, SPEC
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import prepare_qat_pt2e

from arm_tosa_core import (
    BatchNormWarning,
    TOSAQuantizer,
    UsageError,
    get_symmetric_quantization_config,
    quantize_program,
)
from arm_tosa_core.lowering.operator_names import canonical

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


class Model(nn.Module):
    def __init__(self, function: Callable[..., Any], layer: nn.Module | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.function, self.layer = function, layer or nn.Conv2d(4, 4, 3, padding=1)
        channels = int(getattr(self.layer, "out_channels", 4))
        norm = nn.BatchNorm1d if isinstance(layer, nn.ConvTranspose1d | nn.Linear) else nn.BatchNorm2d
        self.norm, self.other = norm(channels), norm(channels)
        for each in (self.norm, self.other):
            with torch.no_grad():
                each.running_mean.normal_()
                each.running_var.uniform_(0.2, 4)
                each.weight.uniform_(0.2, 3)
                each.bias.normal_()

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


def read_twice(m: Any, x: Any) -> Any:
    y = m.layer(x)
    return m.norm(y) + y


def returned(m: Any, x: Any) -> Any:
    y = m.layer(x)
    return m.norm(y), y


def norms_of_one(m: Any, x: Any) -> Any:
    y = m.layer(x)
    return m.norm(y) * m.other(y)


def behind(m: Any, x: Any) -> Any:
    return m.norm(m.layer(x))


@pytest.mark.parametrize(
    ("function", "layer", "norms"),
    [
        (lambda m, x: m.norm(m.layer(x)) + m.layer(x), None, 0),
        (lambda m, x: m.norm(m.layer(x)) + m.other(m.layer(2 * x)), None, 0),
        (lambda m, x: m.norm(m.layer(x)) * m.layer.weight.abs().mean(), None, 0),
        (lambda m, x: m.norm(m.layer(x)) + F.conv2d(x, m.layer.weight.flip(-1), None, padding=1), None, 0),
        (lambda m, x: m.norm(m.layer(x[0, 0])) + m.layer(x[0, 1]), nn.Linear(6, 4), 0),
        (read_twice, None, 1),
        (returned, None, 1),
        (norms_of_one, None, 2),
        (behind, nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2, bias=False), 0),
        (behind, nn.ConvTranspose2d(4, 4, 3, groups=4), 0),
        (lambda m, x: m.norm(m.layer(x[:, :, 0])), nn.ConvTranspose1d(4, 6, 3, groups=2), 0),
        (read_twice, nn.ConvTranspose2d(4, 6, 3, groups=2), 1),
    ],
)
def test_norms_are_those_of_the_model(function: Callable[..., Any], layer: nn.Module | None, norms: int) -> None:
    """torchao folds a norm into a weight that others read, and mistakes the channels of groups.

    Args:
        norms: how many stay operators, which are depthwise convolutions.
    """
    model = Model(function, layer).eval()
    samples = [torch.randn(2, 4, 6, 6) for _ in range(2)]
    made = quantize_program(torch.export.export(model, (samples[0],)), TOSAQuantizer(SPEC).set_global(INT8), samples)
    wanted, exact, got = (
        torch.utils._pytree.tree_leaves(m(samples[0])) for m in (model, made.prepared, made.converted)
    )
    for a, b, c in zip(wanted, exact, got, strict=True):
        torch.testing.assert_close(b, a, atol=1e-3, rtol=1e-3)
        assert (c - a).square().mean() < 1e-3 * a.square().mean()
    depthwise = [
        n for n in made.converted.graph.nodes if canonical(n.target) == "aten.conv2d.default" and len(n.args) > 6
    ]
    assert len([n for n in depthwise if n.args[6] > 1]) == norms


@pytest.mark.parametrize("eps", [1e-5, 1e-3])
def test_an_eps_that_torchao_replaces_is_named(eps: float) -> None:
    """From ``prepare_qat_pt2e`` on; in float it is as it was."""
    config = get_symmetric_quantization_config(is_qat=True)
    model = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4, eps=eps)).train()
    module = torch.export.export(model, (torch.randn(2, 4, 5, 5),)).module()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prepare_qat_pt2e(module, TOSAQuantizer(SPEC).set_global(config))
    found = [str(w.message) for w in caught if w.category is BatchNormWarning]
    wanted = "eps=0.001, and torchao will compute it with 1e-05: give the norm eps=1e-05 before the export"
    assert len(found) == (eps != 1e-5) and all(wanted in text for text in found)


def test_a_norm_without_running_statistics() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4, track_running_stats=False)).eval()
    samples = [torch.randn(3, 2, 9) * 4 + 2 for _ in range(8)]
    made = quantize_program(torch.export.export(model, (samples[0],)), TOSAQuantizer(SPEC).set_global(INT8), samples)
    exact = model(samples[0])
    assert (made.converted(samples[0]) - exact).abs().max() < 0.05 * exact.abs().max()


def test_exported_for_training() -> None:
    model = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4)).requires_grad_(False)
    x = torch.randn(3, 2, 9)
    with pytest.raises(UsageError, match=r"batch_norm normalizes with statistics of the batch.*model\.eval\(\)"):
        quantize_program(torch.export.export(model, (x,)), TOSAQuantizer(SPEC).set_global(INT8), [x])
