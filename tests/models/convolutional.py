"""Convolutional networks of the field, small: ImageNet ones take 96x96 pictures, the others what their papers say."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F

from .realistic import image

SIDE = 96


def _unit(
    cin: int,
    cout: int,
    kernel: int | tuple[int, int] = 3,
    stride: int = 1,
    *,
    groups: int = 1,
    dilation: int = 1,
    act: type[nn.Module] | None = nn.ReLU,
) -> nn.Sequential:
    """Convolution with "same" padding, batch norm, activation."""
    kernels = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    pads = tuple(dilation * (k - 1) // 2 for k in kernels)
    conv = nn.Conv2d(cin, cout, kernels, stride, pads, dilation, groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(cout), *([act()] if act else []))


def _classifier(width: int, classes: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)]


def mobilenet_v1_025() -> nn.Module:
    """Howard et al. 2017, width 0.25: the person detector of MLPerf Tiny."""
    widths = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]
    layers: list[nn.Module] = [_unit(3, 8, stride=2)]
    width = 8
    for cout, stride in widths:
        layers += [_unit(width, width, 3, stride, groups=width), _unit(width, cout, 1)]
        width = cout
    return nn.Sequential(*layers, *_classifier(256, 2))


class _Excite(nn.Module):
    """Squeeze and excitation (Hu et al. 2018)."""

    def __init__(self, channels: int, inner: int, gate: type[nn.Module], act: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), act(), nn.Conv2d(inner, channels, 1), gate()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.gate(x)


class _Inverted(nn.Module):
    """Widen, filter, excite, narrow; added to its input where the shapes agree."""

    def __init__(
        self,
        cin: int,
        wide: int,
        cout: int,
        kernel: int,
        stride: int,
        act: type[nn.Module],
        excite: nn.Module | None,
        dilation: int = 1,
    ) -> None:
        super().__init__()
        parts = [_unit(cin, wide, 1, act=act)] if wide != cin else []
        parts.append(_unit(wide, wide, kernel, stride, groups=wide, dilation=dilation, act=act))
        self.path = nn.Sequential(*parts, *([excite] if excite else []), _unit(wide, cout, 1, act=None))
        self.shortcut = stride == 1 and cin == cout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.path(x) if self.shortcut else self.path(x)


# kernel, expanded channels, output channels, excited, hardswish, stride: Howard et al. 2019, tables 1 and 2
_V3_LARGE = (
    (3, 16, 16, 0, 0, 1),
    (3, 64, 24, 0, 0, 2),
    (3, 72, 24, 0, 0, 1),
    (5, 72, 40, 1, 0, 2),
    (5, 120, 40, 1, 0, 1),
    (5, 120, 40, 1, 0, 1),
    (3, 240, 80, 0, 1, 2),
    (3, 200, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1),
    (3, 480, 112, 1, 1, 1),
    (3, 672, 112, 1, 1, 1),
    (5, 672, 160, 1, 1, 2),
    (5, 960, 160, 1, 1, 1),
    (5, 960, 160, 1, 1, 1),
)
_V3_SMALL = (
    (3, 16, 16, 1, 0, 2),
    (3, 72, 24, 0, 0, 2),
    (3, 88, 24, 0, 0, 1),
    (5, 96, 40, 1, 1, 2),
    (5, 240, 40, 1, 1, 1),
    (5, 240, 40, 1, 1, 1),
    (5, 120, 48, 1, 1, 1),
    (5, 144, 48, 1, 1, 1),
    (5, 288, 96, 1, 1, 2),
    (5, 576, 96, 1, 1, 1),
    (5, 576, 96, 1, 1, 1),
)


def _v3_body(table: Sequence[tuple[int, ...]], dilate_last: int = 0) -> list[nn.Module]:
    layers: list[nn.Module] = [_unit(3, 16, stride=2, act=nn.Hardswish)]
    width = 16
    for index, (kernel, wide, cout, excited, swish, stride) in enumerate(table):
        late = dilate_last and index >= len(table) - dilate_last
        excite = _Excite(wide, wide // 4, nn.Hardsigmoid) if excited else None
        act = nn.Hardswish if swish else nn.ReLU
        layers.append(_Inverted(width, wide, cout, kernel, 1 if late else stride, act, excite, 2 if late else 1))
        width = cout
    return [*layers, _unit(width, 6 * width, 1, act=nn.Hardswish)]


def mobilenet_v3_small() -> nn.Module:
    return nn.Sequential(*_v3_body(_V3_SMALL), nn.AdaptiveAvgPool2d(1), nn.Flatten(), *_v3_head(576, 1024))


def mobilenet_v3_large() -> nn.Module:
    return nn.Sequential(*_v3_body(_V3_LARGE), nn.AdaptiveAvgPool2d(1), nn.Flatten(), *_v3_head(960, 1280))


def _v3_head(width: int, inner: int) -> list[nn.Module]:
    return [nn.Linear(width, inner), nn.Hardswish(), nn.Linear(inner, 100)]


class _Atrous(nn.Module):
    """Atrous spatial pyramid pooling (Chen et al. 2017): four views of the image and its mean."""

    def __init__(self, cin: int, cout: int, rates: Sequence[int]) -> None:
        super().__init__()
        self.views = nn.ModuleList([_unit(cin, cout, 1), *(_unit(cin, cout, 3, dilation=rate) for rate in rates)])
        self.mean = nn.Sequential(nn.AdaptiveAvgPool2d(1), _unit(cin, cout, 1))
        self.join = _unit(cout * (len(rates) + 2), cout, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        views = [view(x) for view in self.views]
        mean = F.interpolate(self.mean(x), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return self.join(torch.cat([*views, mean], 1))


class _DeepLab(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*_v3_body(_V3_LARGE, dilate_last=3))
        self.head = nn.Sequential(_Atrous(960, 64, (12, 24, 36)), _unit(64, 64), nn.Conv2d(64, 21, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(self.head(self.body(x)), size=x.shape[-2:], mode="bilinear", align_corners=False)


class _Basic(nn.Module):
    def __init__(self, cin: int, cout: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(_unit(cin, cout, 3, stride), _unit(cout, cout, act=None))
        self.skip = _unit(cin, cout, 1, stride, act=None) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.path(x) + self.skip(x))


def resnet8() -> nn.Module:
    """The image classifier of MLPerf Tiny, on 32x32 pictures."""
    return nn.Sequential(_unit(3, 16), _Basic(16, 16, 1), _Basic(16, 32, 2), _Basic(32, 64, 2), *_classifier(64, 10))


class _Branches(nn.Module):
    """Branches of one input, side by side along the channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def inception_v3() -> nn.Module:
    """The three kinds of blocks of Szegedy et al. 2016, one of each, and the reductions between them."""

    def factored(cin: int, inner: int, cout: int) -> nn.Sequential:
        return nn.Sequential(_unit(cin, inner, 1), _unit(inner, inner, (1, 7)), _unit(inner, cout, (7, 1)))

    def pooled(cin: int, cout: int) -> nn.Sequential:
        return nn.Sequential(nn.AvgPool2d(3, 1, 1), _unit(cin, cout, 1))

    first = _Branches(
        _unit(192, 64, 1),
        nn.Sequential(_unit(192, 48, 1), _unit(48, 64, 5)),
        nn.Sequential(_unit(192, 64, 1), _unit(64, 96), _unit(96, 96)),
        pooled(192, 32),
    )
    shrink = _Branches(_unit(256, 384, 3, 2), nn.MaxPool2d(3, 2, 1))
    second = _Branches(_unit(640, 192, 1), factored(640, 128, 192), pooled(640, 192))
    wide = _Branches(_unit(384, 384, (1, 3)), _unit(384, 384, (3, 1)))
    third = _Branches(_unit(576, 320, 1), nn.Sequential(_unit(576, 384, 1), wide), pooled(576, 192))
    stem = [_unit(3, 32, 3, 2), _unit(32, 64), nn.MaxPool2d(3, 2), _unit(64, 192), nn.MaxPool2d(3, 2)]
    return nn.Sequential(*stem, first, shrink, second, third, *_classifier(1280, 100))


def efficientnet_b0() -> nn.Module:
    """Tan and Le 2019, table 1."""
    table = (
        (1, 3, 16, 1, 1),
        (6, 3, 24, 2, 2),
        (6, 5, 40, 2, 2),
        (6, 3, 80, 3, 2),
        (6, 5, 112, 3, 1),
        (6, 5, 192, 4, 2),
    )
    layers: list[nn.Module] = [_unit(3, 32, stride=2, act=nn.SiLU)]
    width = 32
    for expansion, kernel, cout, blocks, first_stride in (*table, (6, 3, 320, 1, 1)):
        for index in range(blocks):
            wide, stride = width * expansion, first_stride if index == 0 else 1
            excite = _Excite(wide, max(1, width // 4), nn.Sigmoid, nn.SiLU)
            layers.append(_Inverted(width, wide, cout, kernel, stride, nn.SiLU, excite))
            width = cout
    return nn.Sequential(*layers, _unit(320, 1280, 1, act=nn.SiLU), *_classifier(1280, 100))


class _Shuffled(nn.Module):
    """A unit of ShuffleNetV2 (Ma et al. 2018): half of the channels pass, then the halves are interleaved."""

    def __init__(self, cin: int, cout: int, stride: int) -> None:
        super().__init__()
        half = cout // 2
        taken = cin if stride > 1 else half
        self.path = nn.Sequential(
            _unit(taken, half, 1), _unit(half, half, 3, stride, groups=half, act=None), _unit(half, half, 1)
        )
        spatial = [_unit(cin, cin, 3, stride, groups=cin, act=None), _unit(cin, half, 1)]
        self.skip = nn.Sequential(*spatial) if stride > 1 else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept, taken = (self.skip(x), x) if self.skip is not None else x.chunk(2, 1)
        y = torch.cat([kept, self.path(taken)], 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def shufflenet_v2() -> nn.Module:
    layers: list[nn.Module] = [_unit(3, 24, stride=2), nn.MaxPool2d(3, 2, 1)]
    width = 24
    for cout, blocks in ((116, 4), (232, 8), (464, 4)):
        layers += [_Shuffled(width if i == 0 else cout, cout, 2 if i == 0 else 1) for i in range(blocks)]
        width = cout
    return nn.Sequential(*layers, _unit(464, 1024, 1), *_classifier(1024, 100))


def ds_cnn() -> nn.Module:
    """The keyword spotter of MLPerf Tiny: 49 frames of 10 coefficients."""
    first = nn.Sequential(nn.Conv2d(1, 64, (10, 4), 2, (4, 1), bias=False), nn.BatchNorm2d(64), nn.ReLU())
    rest = [part for _ in range(4) for part in (_unit(64, 64, groups=64), _unit(64, 64, 1))]
    return nn.Sequential(first, *rest, *_classifier(64, 12))


def autoencoder() -> nn.Module:
    """The anomaly detector of MLPerf Tiny: 640 numbers through 8 and back."""
    widths = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128)
    parts: list[nn.Module] = []
    for cin, cout in itertools.pairwise(widths):
        parts += [nn.Linear(cin, cout), nn.BatchNorm1d(cout), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(128, 640))


def wav2letter() -> nn.Module:
    """Collobert et al. 2016, with an eighth of its channels: 40 coefficients in 296 frames to 29 letters."""
    layers: list[nn.Module] = [nn.Conv1d(40, 32, 48, 2, 23), nn.ReLU()]
    for _ in range(4):
        layers += [nn.Conv1d(32, 32, 7, 1, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv1d(32, 250, 32, 1, 16), nn.ReLU(), nn.Conv1d(250, 29, 1), nn.LogSoftmax(1))


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(32, 48, batch_first=True), nn.Linear(48, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x)[0][:, -1])


class _Conformer(nn.Module):
    """One block of Gulati et al. 2020: half a feed-forward, attention, convolution, half a feed-forward."""

    def __init__(self, width: int = 64, heads: int = 4, kernel: int = 15) -> None:
        super().__init__()
        self.before, self.after = (self._feed_forward(width) for _ in range(2))
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, batch_first=True)
        self.local_norm = nn.LayerNorm(width)
        self.local = nn.Sequential(
            nn.Conv1d(width, 2 * width, 1),
            nn.GLU(1),
            nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
            nn.BatchNorm1d(width),
            nn.SiLU(),
            nn.Conv1d(width, width, 1),
        )
        self.last = nn.LayerNorm(width)

    @staticmethod
    def _feed_forward(width: int) -> nn.Sequential:
        return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 0.5 * self.before(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.local(self.local_norm(x).transpose(1, 2)).transpose(1, 2)
        return self.last(x + 0.5 * self.after(x))


def pictures(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, 3, SIDE)


def small_pictures(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, 3, 32)


def _noise(*shape: int, seed: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)),)


#: Name, what builds it, its inputs by seed.
NETWORKS = {
    "mobilenet_v1_025": (mobilenet_v1_025, pictures),
    "mobilenet_v3_small": (mobilenet_v3_small, pictures),
    "mobilenet_v3_large": (mobilenet_v3_large, pictures),
    "resnet8": (resnet8, small_pictures),
    "inception_v3": (inception_v3, pictures),
    "efficientnet_b0": (efficientnet_b0, pictures),
    "shufflenet_v2": (shufflenet_v2, pictures),
    "ds_cnn": (ds_cnn, lambda seed: _noise(1, 1, 49, 10, seed=seed)),
    "autoencoder": (autoencoder, lambda seed: _noise(1, 640, seed=seed)),
    "deeplab_v3": (_DeepLab, pictures),
    "wav2letter": (wav2letter, lambda seed: _noise(1, 40, 296, seed=seed)),
    "lstm": (_Recurrent, lambda seed: _noise(1, 16, 32, seed=seed)),
    "conformer": (_Conformer, lambda seed: _noise(1, 40, 64, seed=seed)),
}
