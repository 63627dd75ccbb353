"""Folding of factors and offsets into float convolutions: what is left, and that the results stay what they were."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.exir.tosa_targets import tosa_fp
from arm_tosa_core.testing.harness import Execution, exported


class _After(nn.Module):
    """A layer and what is done with its result."""

    def __init__(self, layer: nn.Module, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.layer, self.function = layer, function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self.layer(x))


CHANNELS = torch.linspace(-1.0, 2.0, 8).reshape(1, 8, 1, 1)
ROWS = torch.linspace(-1.0, 2.0, 6).reshape(1, 1, 6, 1)
IMAGE, LINE, VOLUME = (2, 4, 8, 8), (2, 4, 8), (1, 4, 4, 4, 4)


def _normed(layer: nn.Module, norm: nn.Module) -> nn.Module:
    for tensor in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
        nn.init.uniform_(tensor, 0.5, 2.0)  # type: ignore[arg-type]
    return nn.Sequential(layer, norm)


def _sparse() -> nn.Module:
    layer = nn.Conv2d(4, 8, 3)
    nn.init.sparse_(layer.weight.data.view(8, -1), 0.5)
    return layer


@pytest.mark.parametrize(
    ("module", "shape", "left"),
    [
        pytest.param(lambda: _normed(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8)), IMAGE, 0, id="batch norm"),
        pytest.param(lambda: _normed(nn.Conv2d(4, 8, 3, groups=4), nn.BatchNorm2d(8)), IMAGE, 0, id="depthwise"),
        pytest.param(lambda: _normed(nn.ConvTranspose2d(4, 8, 3), nn.BatchNorm2d(8)), IMAGE, 0, id="transposed"),
        pytest.param(lambda: _normed(nn.Conv1d(4, 8, 3), nn.BatchNorm1d(8)), LINE, 0, id="behind a reshape"),
        pytest.param(lambda: _normed(nn.Conv3d(4, 8, 3), nn.BatchNorm3d(8)), VOLUME, 0, id="volume"),
        pytest.param(lambda: _After(nn.Conv2d(4, 8, 3), lambda y: (y - CHANNELS) * 0.5), IMAGE, 0, id="difference"),
        pytest.param(lambda: _After(nn.Conv2d(4, 8, 3, bias=False), lambda y: 3.0 + y), IMAGE, 0, id="number"),
        pytest.param(lambda: _After(nn.Conv2d(4, 8, 3), lambda y: CHANNELS - y), IMAGE, 1, id="subtracted from"),
        pytest.param(lambda: _After(nn.Conv2d(4, 8, 3), lambda y: y * ROWS), IMAGE, 1, id="along another axis"),
        pytest.param(lambda: _After(nn.Conv2d(4, 1, 3), lambda y: y * CHANNELS), IMAGE, 1, id="broadcast"),
        pytest.param(lambda: _After(_sparse(), lambda y: y * math.inf), IMAGE, 1, id="infinite"),
        pytest.param(lambda: _After(nn.Conv2d(4, 8, 3), lambda y: y * CHANNELS + y), IMAGE, 2, id="used twice"),
    ],
)
def test_fold_affine(module: Callable[[], nn.Module], shape: tuple[int, ...], left: int) -> None:
    torch.manual_seed(0)
    made, x = module().eval(), torch.randn(shape)
    run = Execution(exported(made, (x,), TosaCompileSpec("TOSA-1.0+FP"), "fp32"), tosa_fp())
    (region,) = run.regions
    assert sum(op.name in ("MUL", "ADD", "SUB") for op in region.graph.ops) == left
    with torch.no_grad():
        torch.testing.assert_close(run.run((x,))[0], made(x), rtol=1e-4, atol=1e-5)
