"""The layers of small networks, by shape: what ``benchmarks.cortex_m_kernels`` measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """A layer.

    Args:
        kind: ``conv``, ``depthwise``, ``linear``, ``add`` of two, ``mean`` or ``max`` (pools without padding),
            ``matmul`` or ``softmax``.
        size: height, width and channels of the input; of a linear layer, a matmul and a softmax the height is 1, and
            the width is how many rows there are.
        out: channels of the result.
        stride: of both axes; the padding is TensorFlow's SAME.
    """

    kind: str
    size: tuple[int, int, int]
    out: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1

    def __str__(self) -> str:
        text = f"{self.kind} {' x '.join(map(str, self.size))} to {self.out}"
        text += f", {self.kernel[0]} x {self.kernel[1]}" if self.kernel != (1, 1) else ""
        return text + (f" by {self.stride}" if self.stride > 1 else "")

    @property
    def out_size(self) -> tuple[int, int]:
        """Height and width of the result."""
        return -(-self.size[0] // self.stride), -(-self.size[1] // self.stride)

    @property
    def pad(self) -> tuple[int, int, int, int]:
        """Above, below, left and right."""
        if self.kind in ("mean", "max"):
            return 0, 0, 0, 0
        sides: list[int] = []
        for size, result, kernel in zip(self.size[:2], self.out_size, self.kernel, strict=True):
            both = max(0, (result - 1) * self.stride + kernel - size)
            sides += [both // 2, both - both // 2]
        return sides[0], sides[1], sides[2], sides[3]


@dataclass(frozen=True)
class Lstm:
    """A layer that ``benchmarks.cortex_m_lstm`` measures."""

    steps: int
    features: int
    hidden: int

    def __str__(self) -> str:
        return f"LSTM of {self.steps} steps, {self.features} to {self.hidden}"


#: Of the size of keywords, and of a detector of voices.
LSTMS = (Lstm(49, 10, 32), Lstm(49, 40, 64), Lstm(20, 64, 128))

_THREE = (3, 3)


def _conv(side: int, channels: int, out: int, kernel: int = 1, stride: int = 1) -> Layer:
    return Layer("conv", (side, side, channels), out, (kernel, kernel), stride)


def _depthwise(side: int, channels: int, stride: int = 1) -> Layer:
    return Layer("depthwise", (side, side, channels), channels, _THREE, stride)


def _linear(channels: int, out: int, rows: int = 1) -> Layer:
    return Layer("linear", (1, rows, channels), out)


def _add(side: int, channels: int) -> Layer:
    return Layer("add", (side, side, channels), channels)


def _mean(height: int, width: int, channels: int) -> Layer:
    return Layer("mean", (height, width, channels), channels, (height, width), max(height, width))


def _softmax(length: int, rows: int = 1) -> Layer:
    return Layer("softmax", (1, rows, length), length)


def _resnet8() -> list[Layer]:
    out = [_conv(32, 3, 16, 3), _conv(32, 16, 16, 3), _conv(32, 16, 16, 3), _add(32, 16)]
    for side, channels in ((32, 16), (16, 32)):
        half, more = side // 2, 2 * channels
        out += [_conv(side, channels, more, 3, 2), _conv(half, more, more, 3)]
        # TOSA has no line of the input that no result needs: one of 32 is left out.
        out += [_conv(side - 1, channels, more, 1, 2), _add(half, more)]
    return [*out, _mean(8, 8, 64), _linear(64, 10), _softmax(10)]


def _ds_cnn() -> list[Layer]:
    pair = [Layer("depthwise", (25, 5, 64), 64, _THREE), Layer("conv", (25, 5, 64), 64)]
    first = Layer("conv", (49, 10, 1), 64, (10, 4), 2)
    return [first, *pair * 4, _mean(25, 5, 64), _linear(64, 12), _softmax(12)]


def _mobilenet_v1() -> list[Layer]:
    out, side, channels = [_conv(96, 3, 8, 3, 2)], 48, 8
    for more, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)):
        out += [_depthwise(side, channels, stride), _conv(side // stride, channels, more)]
        side, channels = side // stride, more
    return [*out, _mean(3, 3, 256), _linear(256, 2), _softmax(2)]


def _mobilenet_v2() -> list[Layer]:
    out, side, channels = [_conv(96, 3, 16, 3, 2), _depthwise(48, 16), _conv(48, 16, 8)], 48, 8
    for more, count, first in ((8, 2, 2), (16, 3, 2), (24, 4, 2), (32, 3, 1), (56, 3, 2), (112, 1, 1)):
        for stride in (first, *[1] * (count - 1)):
            wide = 6 * channels
            out += [_conv(side, channels, wide), _depthwise(side, wide, stride), _conv(side // stride, wide, more)]
            side = side // stride
            out += [_add(side, more)] if stride == 1 and channels == more else []
            channels = more
    return [*out, _conv(3, 112, 1280), _mean(3, 3, 1280), _linear(1280, 2), _softmax(2)]


def _transformer() -> list[Layer]:
    """Keyword Transformer 1, of 98 frames and a token, without its layer norms and GELUs, which CMSIS-NN has not."""
    rows, width = 99, 64
    heads = [Layer("matmul", (1, rows, width), rows), _softmax(rows, rows), Layer("matmul", (1, rows, rows), width)]
    add = Layer("add", (1, rows, width), width)
    block = [*[_linear(width, width, rows)] * 3, *heads, _linear(width, width, rows), add]
    block += [_linear(width, 256, rows), _linear(256, width, rows), add]
    return [_linear(40, width, 98), *block * 12, _linear(width, 12)]


#: By name: the layers, each as often as one inference has it.
NETWORKS: Mapping[str, list[Layer]] = {
    "ResNet-8 (MLPerf Tiny)": _resnet8(),
    "DS-CNN (MLPerf Tiny)": _ds_cnn(),
    "MobileNetV1 0.25, 96 x 96 (MLPerf Tiny)": _mobilenet_v1(),
    "autoencoder (MLPerf Tiny)": [
        _linear(640, 128), *[_linear(128, 128)] * 3, _linear(128, 8), _linear(8, 128), *[_linear(128, 128)] * 3,
        _linear(128, 640),
    ],
    "MobileNetV2 0.35, 96 x 96, 2 classes": _mobilenet_v2(),
    "Keyword Transformer 1": _transformer(),
}  # fmt: skip
