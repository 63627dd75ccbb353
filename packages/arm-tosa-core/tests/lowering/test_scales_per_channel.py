"""Scales per channel along any axis: results are those of PyTorch, and what cannot keep them stays on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from arm_tosa_core.exir.tosa_targets import tosa, tosa_int
from arm_tosa_core.testing.harness import Execution, left_outside

_INT8 = (-128, 127, torch.int8)
_SCALES = torch.tensor([0.01, 0.02, 0.03, 0.04])
_ZEROS, _MIDDLES = torch.zeros(4, dtype=torch.int64), torch.full((4,), 128)
quantized = torch.ops.quantized_decomposed
Function = Callable[[Tensor, Tensor], Tensor]


def rounded(x: Tensor, scale: float) -> Tensor:
    """Numbers as integers of one scale stand for them."""
    integers = quantized.quantize_per_tensor(x, scale, 0, *_INT8)
    return quantized.dequantize_per_tensor(integers, scale, 0, *_INT8)


class Weights(nn.Module):
    """A function of an image and weights with a scale for each place of an axis."""

    def __init__(self, function: Function, shape: tuple[int, ...], axis: int, *, unsigned: bool = False) -> None:
        super().__init__()
        self.function, self.axis, self.unsigned = function, axis, unsigned
        numbers = torch.randint(-100, 100, shape, generator=torch.Generator().manual_seed(0))
        self.weight = nn.Buffer((numbers + 128).to(torch.uint8) if unsigned else numbers.to(torch.int8))

    def forward(self, x: Tensor) -> Tensor:
        zeros, kind = (_MIDDLES, (0, 255, torch.uint8)) if self.unsigned else (_ZEROS, _INT8)
        weight = quantized.dequantize_per_channel(self.weight, _SCALES, zeros, self.axis, *kind)
        return rounded(self.function(rounded(x, 0.02), weight), 0.125)


class Activations(nn.Module):
    """A function of an image with a scale for each place of an axis."""

    def __init__(self, function: Callable[[Tensor], Tensor], axis: int) -> None:
        super().__init__()
        self.function, self.axis = function, axis

    def channels(self, x: Tensor) -> Tensor:
        integers = quantized.quantize_per_channel(x, _SCALES, _ZEROS, self.axis, *_INT8)
        return quantized.dequantize_per_channel(integers, _SCALES, _ZEROS, self.axis, *_INT8)

    def forward(self, x: Tensor) -> Tensor:
        return rounded(self.function(self.channels(x)), 0.125)


_KERNEL = (4, 4, 3, 3)
#: Weights that are moved before their layer, with scales along its output channels in the end.
MOVED: dict[str, nn.Module] = {
    "unsigned": Weights(F.conv2d, _KERNEL, 0, unsigned=True),
    "unsigned, reversed": Weights(lambda x, w: F.conv2d(x, w.flip(1)), _KERNEL, 0, unsigned=True),
    "permuted": Weights(lambda x, w: F.conv2d(x, w.permute(1, 0, 2, 3)), _KERNEL, 1),
    "each second": Weights(lambda x, w: F.conv2d(x, w[::2]), _KERNEL, 0),
    "twice": Weights(lambda x, w: F.conv2d(x, torch.cat([w, w])), _KERNEL, 0),
    "side by side": Weights(lambda x, w: F.conv2d(x, torch.cat([w, w], 1)), (4, 2, 3, 3), 0),
    "a part of them": Weights(lambda x, w: F.conv2d(x, w.index_select(0, torch.tensor([3, 0, 3]))), _KERNEL, 0),
    "split": Weights(lambda x, w: F.conv2d(x, w.split([1, 3])[1]), _KERNEL, 0),
    "of a row": Weights(lambda x, w: F.conv2d(x, w.reshape(_KERNEL)), (4, 36), 0),
    "one of two axes": Weights(lambda x, w: F.conv2d(x, w.reshape(8, 4, 1, 1)), (4, 8), 0),
    "padded": Weights(lambda x, w: F.conv2d(x, F.pad(w, (0, 0, 0, 0, 0, 0, 1, 2))), _KERNEL, 0),
}
MODULES: dict[str, nn.Module] = MOVED | {
    "input channels": Weights(F.conv2d, _KERNEL, 1),
    "output channels": Weights(F.conv2d, _KERNEL, 0),
    "rows of a window": Weights(F.conv2d, (4, 4, 4, 4), 2),
    "depthwise": Weights(lambda x, w: F.conv2d(x, w, groups=4), (4, 1, 3, 3), 0),
    "depthwise, rows": Weights(lambda x, w: F.conv2d(x, w, groups=4), (4, 1, 4, 4), 2),
    "transposed, inputs": Weights(F.conv_transpose2d, _KERNEL, 0),
    "transposed, outputs": Weights(F.conv_transpose2d, _KERNEL, 1),
    "linear, inputs": Weights(F.linear, (4, 4), 1),
    "linear, outputs": Weights(F.linear, (4, 4), 0),
    "reversed": Weights(lambda x, w: F.conv2d(x, w.flip(0)), _KERNEL, 0),
    "repeated": Weights(lambda x, w: F.conv2d(x, w.repeat(2, 1, 1, 1)), _KERNEL, 0),
    "across": Weights(lambda x, w: F.conv2d(x[:, :2], w.reshape(8, 2, 3, 3).permute(1, 0, 2, 3)[:, :2]), _KERNEL, 0),
    "largest": Weights(lambda x, w: F.conv2d(x, w.amax(0, keepdim=True)), _KERNEL, 0),
    "chosen": Weights(lambda x, w: F.conv2d(x, w[torch.tensor([3, 0, 1, 2])]), _KERNEL, 0),
    "rows of a table": Weights(lambda x, w: x[0, 0, :4, :4] + w[torch.tensor([3, 0, 1, 2])], (4, 4), 0),
    "image reversed": Activations(lambda x: x.flip(1), 1),
    "image moved": Activations(lambda x: x.permute(0, 2, 3, 1), 1),
    "image, largest": Activations(lambda x: x.amax(1), 1),
    "image, average": Activations(lambda x: F.avg_pool2d(x, 2), 1),
    "image, windows": Activations(lambda x: F.max_pool2d(x, 3, 1, 1), 2),
    "image, chosen": Activations(lambda x: torch.where(torch.ones(2, 1, 4, 4, 4) > 0, x, 0.5), 2),
    "image, chosen beside 0": Activations(lambda x: torch.where(x > 0.1, x, 0.0), 1),
    "image, chosen beside rows": Activations(lambda x: torch.where(x > 0.1, x, torch.ones(4, 1)), 1),
    "image, filled": Activations(lambda x: x.masked_fill(torch.arange(4) > 1, 0.5), 1),
    "image, lower part": Activations(torch.tril, 1),
    "image, scales again": Activations(lambda x: Activations(torch.relu, 1).channels(torch.relu(x)), 1),
}


@pytest.mark.parametrize("make", [tosa, tosa_int])
@pytest.mark.parametrize("name", MODULES)
def test_results_are_those_of_pytorch(name: str, make: Callable[[], object]) -> None:
    module, size = MODULES[name].eval(), 4 if name.startswith(("image", "linear", "rows of a t")) else 8
    x = torch.rand(1, 4, size, size, generator=torch.Generator().manual_seed(1)) * 2 - 1
    program = torch.export.export(module, (x,))
    (made,) = Execution(program, make()).run([x])
    wanted = module(x)
    off = (made - wanted).abs() / 0.125  # a tie may be rounded to the other side
    assert off.max() <= 1.001
    assert (off > 0.001).float().mean() <= 0.05


@pytest.mark.parametrize("name", MOVED)
def test_moved_weights_are_integers(name: str) -> None:
    program = torch.export.export(MOVED[name].eval(), (torch.rand(1, 4, 8, 8),))
    execution = Execution(program, tosa_int())
    assert not left_outside(execution.program, execution.analysis)


def test_weights_in_float_beside_integers() -> None:
    module = Weights(lambda x, w: F.conv2d(x, w * 2), _KERNEL, 0)
    execution = Execution(torch.export.export(module.eval(), (torch.rand(1, 4, 8, 8),)), tosa_int())
    left = left_outside(execution.program, execution.analysis)
    assert any("has weights that are not quantized" in why for why in left.values()), left
