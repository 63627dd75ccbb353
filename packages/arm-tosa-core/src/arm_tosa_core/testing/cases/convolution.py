"""Cases of the rules in ``rules/convolution.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ..case import OpCase, channels_last


def _then(*layers: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """Layers one after the other, each made when the case is."""
    return lambda: nn.Sequential(*(make() for make in layers))


def _conv(n: int, *args: Any, **kwargs: Any) -> Callable[[], nn.Module]:
    return lambda: getattr(nn, f"Conv{n}d")(*args, **kwargs)


def _up(n: int, *args: Any, **kwargs: Any) -> Callable[[], nn.Module]:
    return lambda: getattr(nn, f"ConvTranspose{n}d")(*args, **kwargs)


class _Normalized(nn.Module):
    """A convolution and a batch norm with statistics that are not trivial."""

    def __init__(self, convolution: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.convolution, self.norm = convolution, norm
        nn.init.uniform_(norm.running_mean)  # type: ignore[arg-type]
        nn.init.uniform_(norm.running_var, 0.5, 2.0)  # type: ignore[arg-type]
        nn.init.uniform_(norm.weight, -1.0, 1.0)  # type: ignore[arg-type]
        nn.init.uniform_(norm.bias)  # type: ignore[arg-type]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.convolution(x))  # type: ignore[no-any-return]


class _Weighted(nn.Module):
    """A functional convolution of a parameter."""

    def __init__(self, shape: tuple[int, ...], function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape))
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, self.weight)


def _edge(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The overload into which ExecuTorch's edge dialect turns every convolution."""
    return torch.ops.aten.convolution.default(x, weight, None, [2, 1], [1, 0], [1, 1], False, [0, 0], 1)  # type: ignore[no-any-return]


_SAME = {"padding": "same"}
_VALID = {"padding": "valid"}
_IMAGE = (2, 4, 9, 11)

CASES: list[OpCase] = [
    # one spatial axis
    OpCase("conv1d/plain", _conv(1, 3, 5, 3), [(2, 3, 10)]),
    OpCase("conv1d/no bias", _conv(1, 3, 5, 3, bias=False), [(1, 3, 10)]),
    OpCase("conv1d/stride, padding, dilation", _conv(1, 3, 5, 3, stride=2, padding=2, dilation=2), [(1, 3, 12)]),
    OpCase("conv1d/unbatched", _conv(1, 3, 5, 3), [(3, 10)]),
    OpCase("conv1d/grouped", _conv(1, 4, 6, 3, groups=2), [(1, 4, 10)]),
    OpCase("conv1d/depthwise", _conv(1, 4, 4, 5, padding=2, groups=4), [(1, 4, 10)]),
    OpCase("conv1d/same", _conv(1, 3, 4, 4, **_SAME), [(1, 3, 9)]),
    OpCase("conv1d/valid", _conv(1, 3, 4, 4, **_VALID), [(1, 3, 9)]),
    OpCase("conv1d/twice", _then(_conv(1, 3, 4, 3), _conv(1, 4, 2, 3)), [(1, 3, 12)]),
    OpCase("conv1d/relu", _then(_conv(1, 3, 4, 3), nn.ReLU), [(1, 3, 12)]),
    # two
    OpCase("conv2d/plain", _conv(2, 4, 6, 3), [_IMAGE]),
    OpCase("conv2d/no bias", _conv(2, 4, 6, 3, bias=False), [_IMAGE]),
    OpCase("conv2d/1x1", _conv(2, 4, 6, 1), [_IMAGE]),
    OpCase("conv2d/1x1 kernel of one channel", _conv(2, 1, 1, 1), [(1, 1, 4, 4)]),
    OpCase("conv2d/one channel to many", _conv(2, 1, 5, 3), [(1, 1, 6, 6)]),
    OpCase("conv2d/rectangle", _conv(2, 4, 3, (2, 5), stride=(1, 2), padding=(1, 2)), [_IMAGE]),
    OpCase("conv2d/stride leaves rows", _conv(2, 4, 3, 2, stride=3), [_IMAGE]),
    OpCase("conv2d/stride eats padding", _conv(2, 4, 3, 3, stride=2, padding=1), [(1, 4, 8, 8)]),
    OpCase("conv2d/stride beyond kernel", _conv(2, 4, 3, 1, stride=4, padding=0), [_IMAGE]),
    OpCase("conv2d/padding beyond kernel", _conv(2, 4, 3, 3, padding=4), [(1, 4, 5, 5)]),
    OpCase("conv2d/dilation", _conv(2, 4, 3, 3, dilation=(2, 3), padding=2), [_IMAGE]),
    OpCase("conv2d/far dilation", _conv(2, 4, 32, 3, dilation=6, padding=6), [(1, 4, 9, 11)]),
    OpCase("conv2d/same", _conv(2, 4, 3, 3, **_SAME), [_IMAGE]),
    OpCase("conv2d/same, even kernel", _conv(2, 4, 3, (2, 4), dilation=(1, 3), **_SAME), [_IMAGE]),
    OpCase("conv2d/valid", _conv(2, 4, 3, 3, **_VALID), [_IMAGE]),
    OpCase("conv2d/channels_last", _conv(2, 4, 3, 3), [channels_last(_IMAGE)]),
    OpCase("conv2d/unbatched", _conv(2, 4, 3, 3, padding=1), [(4, 9, 11)]),
    OpCase("conv2d/large", _conv(2, 64, 32, 3, padding=1), [(1, 64, 6, 6)]),
    OpCase("conv2d/overload of the edge dialect", lambda: _Weighted((4, 3, 3, 3), _edge), [(1, 3, 6, 6)]),
    OpCase("conv2d/grouped", _conv(2, 4, 6, 3, groups=2), [_IMAGE]),
    OpCase("conv2d/grouped, no bias, stride", _conv(2, 6, 9, 3, groups=3, stride=2, bias=False), [(1, 6, 8, 9)]),
    OpCase("conv2d/70 groups", _conv(2, 140, 70, 1, groups=70), [(1, 140, 3, 3)]),
    OpCase("conv2d/depthwise", _conv(2, 4, 4, 3, padding=1, groups=4), [_IMAGE]),
    OpCase("conv2d/depthwise, multiplier", _conv(2, 4, 12, 3, stride=2, groups=4), [_IMAGE]),
    OpCase("conv2d/depthwise, no bias, dilation", _conv(2, 4, 4, 3, dilation=2, groups=4, bias=False), [_IMAGE]),
    OpCase("conv2d/depthwise, channels_last", _conv(2, 4, 8, 3, groups=4), [channels_last(_IMAGE)]),
    # three
    OpCase("conv3d/plain", _conv(3, 2, 3, 3), [(1, 2, 4, 5, 6)]),
    OpCase(
        "conv3d/stride, padding, dilation",
        _conv(3, 2, 3, (1, 2, 3), stride=2, padding=1, dilation=(1, 2, 1)),
        [(2, 2, 4, 5, 6)],
    ),
    OpCase("conv3d/same", _conv(3, 2, 3, 3, bias=False, **_SAME), [(1, 2, 4, 5, 6)]),
    OpCase("conv3d/grouped", _conv(3, 4, 6, 2, groups=2), [(1, 4, 3, 4, 5)]),
    OpCase("conv3d/depthwise", _conv(3, 3, 3, 2, groups=3), [(1, 3, 3, 4, 5)]),
    OpCase(
        "conv3d/twice, stride leaves rows", _then(_conv(3, 2, 3, 2), _conv(3, 3, 2, 2, stride=2)), [(1, 2, 4, 6, 5)]
    ),
    OpCase("conv3d/unbatched", _conv(3, 2, 3, 2), [(2, 4, 5, 6)]),
    # transposed
    OpCase("conv_transpose1d/plain", _up(1, 3, 5, 3), [(1, 3, 7)]),
    OpCase("conv_transpose1d/all", _up(1, 4, 6, 3, stride=3, padding=1, output_padding=2, groups=2), [(2, 4, 7)]),
    OpCase("conv_transpose1d/unbatched", _up(1, 3, 5, 3, stride=2), [(3, 7)]),
    OpCase("conv_transpose2d/plain", _up(2, 3, 5, 3), [(1, 3, 5, 7)]),
    OpCase("conv_transpose2d/stride", _up(2, 3, 5, 2, stride=2, bias=False), [(2, 3, 5, 7)]),
    OpCase("conv_transpose2d/padding", _up(2, 3, 5, (4, 3), stride=(2, 1), padding=(1, 2)), [(1, 3, 5, 7)]),
    OpCase("conv_transpose1d/crops", _up(1, 3, 5, 2, padding=2), [(1, 3, 7)]),
    OpCase("conv_transpose2d/crops", _up(2, 4, 6, 2, padding=2), [(1, 4, 5, 5)]),
    OpCase("conv_transpose2d/crops, strided", _up(2, 3, 5, 2, stride=2, padding=3, output_padding=1), [(1, 3, 6, 7)]),
    OpCase("conv_transpose2d/output_padding", _up(2, 3, 5, 3, stride=2, padding=1, output_padding=1), [(1, 3, 5, 7)]),
    OpCase("conv_transpose2d/grouped", _up(2, 4, 6, 3, stride=2, groups=2), [(1, 4, 5, 5)]),
    OpCase("conv_transpose2d/depthwise", _up(2, 4, 4, 4, stride=2, padding=1, groups=4, bias=False), [(1, 4, 5, 5)]),
    OpCase("conv_transpose2d/dilation", _up(2, 3, 5, 3, dilation=2), [(1, 3, 5, 7)]),
    OpCase("conv_transpose2d/unbatched", _up(2, 3, 5, 3), [(3, 5, 7)]),
    OpCase("conv_transpose2d/channels_last", _up(2, 3, 5, 3), [channels_last((1, 3, 5, 7))]),
    OpCase("conv_transpose2d/relu", _then(_up(2, 3, 5, 3), nn.ReLU), [(1, 3, 5, 7)]),
    OpCase("conv_transpose3d/plain", _up(3, 2, 3, 2), [(1, 2, 3, 4, 5)]),
    OpCase("conv_transpose3d/stride", _up(3, 2, 3, 3, stride=2, padding=1, output_padding=1), [(1, 2, 3, 4, 5)]),
    OpCase("conv_transpose3d/grouped", _up(3, 4, 6, (1, 3, 2), stride=(1, 2, 3), groups=2), [(1, 4, 3, 3, 2)]),
    OpCase("conv_transpose3d/crops", _up(3, 2, 3, 1, stride=2, padding=1, dilation=2), [(1, 2, 3, 4, 5)]),
    # with the next layer
    OpCase("conv2d/relu", _then(_conv(2, 4, 6, 3), nn.ReLU), [_IMAGE]),
    OpCase("conv2d/relu6", _then(_conv(2, 4, 6, 3), nn.ReLU6), [_IMAGE]),
    OpCase("conv2d/hardtanh", _then(_conv(2, 4, 6, 3), nn.Hardtanh), [_IMAGE]),
    OpCase("conv2d/clamp", lambda: _Weighted((5, 4, 3, 3), lambda x, w: F.conv2d(x, w).clamp(-1.5, 2.5)), [_IMAGE]),
    OpCase(
        "conv2d/clamp below", lambda: _Weighted((5, 4, 3, 3), lambda x, w: F.conv2d(x, w).clamp(min=-0.5)), [_IMAGE]
    ),
    OpCase("conv2d/depthwise, relu6", _then(_conv(2, 4, 4, 3, groups=4), nn.ReLU6), [_IMAGE]),
    OpCase("conv2d/grouped, relu", _then(_conv(2, 4, 4, 3, groups=2), nn.ReLU), [_IMAGE]),
    OpCase(
        "conv2d/used twice",
        lambda: _Weighted((4, 4, 3, 3), lambda x, w: F.conv2d(F.conv2d(x, w), w)),
        [_IMAGE],
        tolerance=(1e-4, 5e-5),  # results reach 100, of which sums in another order differ by 1e-5
    ),
    OpCase("conv2d/batch_norm", lambda: _Normalized(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6)), [_IMAGE]),
    OpCase(
        "conv2d/depthwise, batch_norm", lambda: _Normalized(nn.Conv2d(4, 8, 3, groups=4), nn.BatchNorm2d(8)), [_IMAGE]
    ),
    OpCase("conv1d/batch_norm", lambda: _Normalized(nn.Conv1d(3, 6, 3), nn.BatchNorm1d(6)), [(2, 3, 9)]),
    OpCase(
        "conv_transpose2d/batch_norm", lambda: _Normalized(nn.ConvTranspose2d(4, 6, 3), nn.BatchNorm2d(6)), [_IMAGE]
    ),
]
