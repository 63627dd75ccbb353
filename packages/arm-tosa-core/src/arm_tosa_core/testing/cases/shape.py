"""Cases of the rules in ``rules/shape.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..case import HANDS_ON, QUANTIZED, OpCase, channels_last, int32, refused, row


def _row(name: str, move: Callable[..., Any], *inputs: Any, **more: Any) -> OpCase:
    """A case whose every result is computed with: a region that only moves data is not worth a delegate."""

    def forward(*args: torch.Tensor) -> Any:
        result = move(*args)
        if isinstance(result, (tuple, list)):
            return tuple(_used(r) for r in result)
        return _used(result)

    return OpCase(name, lambda: forward, inputs, **more)


def _used(x: torch.Tensor) -> torch.Tensor:
    if x.dtype == torch.bool:
        return torch.logical_not(x)
    return torch.abs(x) if x.dtype.is_floating_point else torch.bitwise_xor(x, 1)


def _cat_scales(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.cat([x * 0.01, y * 30.0, x], 1)


def _used_twice(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor that is quantized for a convolution and added as a residual."""
    activation = torch.sigmoid(x)
    return torch.cat([activation, y], 1), torch.tanh(activation) + activation


def _chained(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.max_pool2d(torch.cat([x.view(1, 2, 4, 6), torch.tanh(y) * 4], 1), 2)


def _two_cats(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.sigmoid(y)
    return torch.cat([x, y], 0), torch.cat([y, torch.tanh(z) * 5], 0)


class _CatConstant(torch.nn.Module):
    """A class token before the patches of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.token = torch.nn.Parameter(torch.randn(1, 1, 5) * 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.token.expand(2, -1, -1), torch.tanh(x)], 1)


class _Inception(torch.nn.Module):
    """Branches whose results differ in range, one of them the input itself."""

    def __init__(self) -> None:
        super().__init__()
        self.one = torch.nn.Conv2d(3, 4, 1)
        self.three = torch.nn.Conv2d(3, 5, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.one(x).relu(), self.three(x) * 4, torch.max_pool2d(x, 3, 1, 1), x], 1)


def _slices(x: torch.Tensor) -> Sequence[torch.Tensor]:
    return x[:, ::2], x[..., 1:-1:3], x[1:, -2:], x[0, 1:4, 2]


CASES: list[OpCase] = [
    _row("view/flat", lambda x: x.view(-1), (2, 3, 4)),
    _row("view/rank 6", lambda x: x.view(1, 2, 3, 2, 2, 1), (2, 3, 4)),
    _row("view/to scalar", lambda x: x.view(()), (1, 1)),
    _row("view/from scalar", lambda x: x.view(1, 1), ()),
    _row("view/bool", lambda x: (x > 0).view(4, 6), (2, 3, 4)),
    _row("view/int32", lambda x: x.view(4, 6), int32((2, 3, 4), 0, 9)),
    _row("reshape/of a permuted one", lambda x: x.permute(2, 0, 1).reshape(4, 6), (2, 3, 4)),
    _row("reshape/channels_last", lambda x: x.reshape(2, -1), channels_last((2, 3, 4, 5))),
    _row("view_as", lambda x, y: x.view_as(y) + y, (2, 6), (3, 4)),
    _row("flatten/all", torch.flatten, (2, 3, 4)),
    _row("flatten/some", lambda x: x.flatten(1, -2), (2, 3, 4, 5)),
    _row("flatten/scalar", torch.flatten, ()),
    _row("unflatten", lambda x: x.unflatten(-1, (2, -1)), (3, 8)),
    _row("squeeze/all", torch.squeeze, (1, 3, 1, 4)),
    _row("squeeze/dim", lambda x: x.squeeze(-2), (1, 3, 1, 4)),
    _row("squeeze/no such", lambda x: x.squeeze(1), (2, 3, 4)),
    _row("squeeze/dims", lambda x: x.squeeze((0, -2)), (1, 3, 1, 4)),
    _row("unsqueeze/front", lambda x: x.unsqueeze(0), (3, 4)),
    _row("unsqueeze/back", lambda x: x.unsqueeze(-1), (3, 4)),
    _row("unsqueeze/scalar", lambda x: x.unsqueeze(0), ()),
    # All that a program does is worth a delegate.
    row("permute/alone", lambda x: x.permute(2, 0, 1), [(2, 3, 4)]),
    row("view/alone", lambda x: x.view(4, 6), [(2, 3, 4)]),
    row("clone/alone", torch.clone, [(2, 3, 4)], {"fp32": HANDS_ON}),
    row("view/beside its input", lambda x: (x.view(4, 6), x), [(2, 3, 4)]),
    _row("permute/rank 3", lambda x: x.permute(2, 0, 1), (2, 3, 4)),
    _row("permute/negative", lambda x: x.permute(0, -1, 1, -2), (2, 3, 4, 5)),
    _row("permute/rank 6", lambda x: x.permute(5, 3, 1, 0, 2, 4), (1, 2, 3, 2, 1, 2)),
    _row("permute/of merged axes", lambda x: x.permute(2, 0, 3, 1).reshape(8, 15).t(), (2, 3, 4, 5)),
    _row("permute/of split axes", lambda x: x.permute(1, 0).reshape(3, 2, 2, 2).permute(2, 0, 3, 1), (4, 6)),
    _row("permute/of axes cut elsewhere", lambda x: x.permute(1, 0).reshape(4, 6).t(), (8, 3)),
    _row("permute/channels_last", lambda x: x.permute(0, 2, 3, 1), channels_last((1, 3, 4, 5))),
    _row("permute/bool", lambda x: (x > 0).permute(1, 0), (2, 3)),
    _row("transpose", lambda x: x.transpose(-1, 1), (2, 3, 4)),
    _row("transpose/t", lambda x: x.t(), (2, 3)),
    _row("transpose/T", lambda x: x.T, (2, 3)),
    _row("transpose/mT", lambda x: x.mT, (2, 3, 4)),
    _row("movedim/int", lambda x: x.movedim(1, -1), (2, 3, 4)),
    _row("movedim/list", lambda x: x.movedim((0, 1), (2, 0)), (2, 3, 4)),
    _row("moveaxis", lambda x: torch.moveaxis(x, 0, 2), (2, 3, 4)),
    _row("swapaxes", lambda x: torch.swapaxes(x, 0, 2), (2, 3, 4)),
    _row("expand/ones", lambda x: x.expand(2, 3, 4), (2, 1, 4)),
    _row("expand/front", lambda x: x.expand(5, -1, 4), (3, 1)),
    _row("expand/scalar", lambda x: x.expand(2, 3), ()),
    _row("expand/as", lambda x, y: x.expand_as(y) * y, (3, 1), (2, 3, 4)),
    _row("expand/bool", lambda x: (x > 0).expand(2, 3, 4), (3, 1)),
    _row("repeat", lambda x: x.repeat(2, 1, 3), (2, 3, 4)),
    _row("repeat/new axes", lambda x: x.repeat(2, 3, 2), (3, 4)),
    _row("repeat/int32", lambda x: x.repeat(2, 2), int32((2, 3), 0, 9)),
    _row("tile", lambda x: torch.tile(x, (2, 2)), (2, 3, 4)),
    _row("repeat_interleave", lambda x: x.repeat_interleave(3, 1), (2, 3, 4)),
    _row("repeat_interleave/flat", lambda x: x.repeat_interleave(2), (2, 3)),
    _row(
        "repeat_interleave/by a tensor",
        lambda x: x.repeat_interleave(torch.tensor([1, 2, 3]), 0),
        (3, 4),
        refuses=refused("has a dynamic shape"),
    ),
    _row(
        "repeat_interleave/by a tensor, size known",
        lambda x: torch.repeat_interleave(x, torch.tensor([1, 0, 2]), dim=0, output_size=3),
        (3, 4),
    ),
    _row("cat/dim 0", lambda x, y: torch.cat([x, y]), (2, 3), (4, 3)),
    _row("cat/negative dim", lambda x, y: torch.cat([x, y, x], -1), (2, 3, 4), (2, 3, 1)),
    _row("cat/one", lambda x: torch.cat([x], 1), (2, 3)),
    _row("cat/same twice", lambda x: torch.cat([x, x], 1), (2, 3)),
    _row("cat/concat", lambda x, y: torch.concat([x, y]), (2, 3), (4, 3)),
    _row("cat/concatenate", lambda x, y: torch.concatenate([x, y]), (2, 3), (4, 3)),
    _row(
        "cat/channels_last", lambda x, y: torch.cat([x, y], 1), channels_last((1, 3, 4, 5)), channels_last((1, 2, 4, 5))
    ),
    _row("cat/mixed order", lambda x, y: torch.cat([x, y], 1), channels_last((1, 3, 4, 5)), (1, 2, 4, 5)),
    _row("cat/minima", lambda x, y: torch.cat([torch.minimum(x, y), torch.maximum(x, y)], 1), (3, 4), (3, 4)),
    row("cat/distances", lambda x, y: torch.cat([y, (x - y).abs()]), [(3, 4), (3, 4)]),
    _row("cat/rank 6", lambda x, y: torch.cat([x, y], 3), (1, 2, 1, 2, 2, 3), (1, 2, 1, 3, 2, 3)),
    _row("cat/bool", lambda x, y: torch.cat([x > 0, y > 0]), (2, 3), (4, 3)),
    _row("cat/types", lambda x, y: torch.cat([x, y]), int32((2, 3), 0, 9), (4, 3), needs_float=QUANTIZED),
    _row("cat/scales", _cat_scales, (2, 3), (2, 5)),
    _row("cat/negative slope", lambda x, y: torch.cat([x, y.relu()], 0), (2, 3), (2, 3)),
    _row("cat/seventy", lambda x: torch.cat(list(x.unbind(1)), 1), (2, 70, 3)),
    row("cat/used twice", _used_twice, [(2, 3), (2, 5)]),
    # a quantum of tanh is 1.7 of the joined tensors
    row("cat/chained", _chained, [(1, 48), (1, 3, 4, 6)]),
    row("cat/two", _two_cats, [(2, 3), (4, 3), (1, 3)]),
    OpCase("cat/constant", _CatConstant, [(2, 4, 5)]),
    OpCase("cat/convolutions", _Inception, [(1, 3, 6, 6)]),
    _row("stack", lambda x, y: torch.stack([x, y], 1), (2, 3), (2, 3)),
    _row("stack/negative dim", lambda x, y: torch.stack([x, y * 20], -1), (2, 3), (2, 3)),
    _row("stack/scalars", lambda x, y: torch.stack([x, y]), (), ()),
    _row("split", lambda x: x.split(2, 1), (2, 5, 3)),
    _row("split/negative dim", lambda x: x.split(3, -1), (2, 6)),
    _row("split/sizes", lambda x: x.split([1, 3, 1], 1), (2, 5, 3)),
    _row("split/scales", lambda x: [a * 9 for a in x.split(2, 1)], (2, 4, 3)),
    _row("chunk", lambda x: x.chunk(2, -1), (2, 3, 7)),
    _row("chunk/channels_last", lambda x: x.chunk(3, 1), channels_last((1, 6, 4, 5))),
    _row("tensor_split", lambda x: x.tensor_split(3, 1), (2, 7)),
    _row("slice", _slices, (2, 5, 8)),
    _row("slice/step over the end", lambda x: x[:, 1::3], (2, 6)),
    _row("slice/step, fewer left", lambda x: x[:, 3::4], (2, 9)),
    _row("slice/rank 6 step", lambda x: x[:, :, ::2], (1, 2, 5, 2, 1, 2)),
    _row("slice/bool step", lambda x: (x > 0)[::2], (5, 3)),
    _row("slice/int32 step", lambda x: x[1::2], int32((5, 3), 0, 9)),
    _row("slice/channels_last", lambda x: x[:, 1:, ::2, 1:], channels_last((1, 3, 4, 5))),
    _row("narrow", lambda x: x.narrow(1, 1, 3), (2, 5)),
    _row("narrow/from the end", lambda x: x.narrow(-1, -3, 2), (2, 5)),
    _row("select", lambda x: x.select(1, -1), (2, 3, 4)),
    _row("select/to scalar", lambda x: x[2], (5,)),
    _row("unbind", lambda x: x.unbind(-1), (2, 3, 4)),
    _row("pad/constant", lambda x: torch.nn.functional.pad(x, (1, 2, 0, 3)), (2, 3, 4)),
    _row("pad/number", lambda x: torch.nn.functional.pad(x, (1, 1), value=1.5), (2, 3)),
    _row("pad/of a sum", lambda x: torch.nn.functional.pad(x + 1, (1, 1, 1, 0)), (3, 4)),
    _row("pad/of differences", lambda x: torch.nn.functional.pad(x - x.amax(1, True), (1, 1, 1, 0)), (3, 4)),
    _row("pad/negative", lambda x: torch.nn.functional.pad(x, (-1, 2, 1, -1)), (2, 3, 4)),
    _row("pad/rank 5", lambda x: torch.nn.functional.pad(x, (1, 0, 0, 1, 1, 1)), (1, 2, 2, 3, 2)),
    _row("pad/channels_last", lambda x: torch.nn.functional.pad(x, (1, 0, 2, 1)), channels_last((1, 3, 4, 5))),
    _row("pad/int32", lambda x: torch.nn.functional.pad(x, (1, 2), value=7), int32((2, 3), 0, 9)),
    row(
        "pad/beyond int32",
        lambda x: torch.nn.functional.pad(x.long(), (1, 2), value=3e9),
        [int32((2, 3), 0, 9)],
        refused("INT32 does not hold"),
    ),
    _row("pad/reflect 1d", lambda x: torch.nn.functional.pad(x, (2, 3), mode="reflect"), (1, 2, 5)),
    _row("pad/reflect 2d", lambda x: torch.nn.functional.pad(x, (1, 2, 3, 0), mode="reflect"), (1, 2, 4, 5)),
    _row("pad/replicate", lambda x: torch.nn.functional.pad(x, (1, 2, 3, 0), mode="replicate"), (1, 2, 4, 5)),
    _row("pad/circular", lambda x: torch.nn.functional.pad(x, (1, 2, 0, 1), mode="circular"), (1, 2, 4, 5)),
    _row("pad/reflect 3d", lambda x: torch.nn.functional.pad(x, (1, 2, 0, 1, 1, 1), mode="reflect"), (1, 2, 3, 4, 5)),
    _row("pad/replicate 1d", lambda x: torch.nn.functional.pad(x, (1, 2), mode="replicate"), (1, 2, 5)),
    _row(
        "pad/replicate 3d", lambda x: torch.nn.functional.pad(x, (1, 2, 0, 1, 1, 1), mode="replicate"), (1, 2, 3, 4, 5)
    ),
    _row("pad/circular 3d", lambda x: torch.nn.functional.pad(x, (1, 2, 0, 1, 1, 1), mode="circular"), (1, 2, 3, 4, 5)),
    _row("pixel_shuffle", lambda x: torch.pixel_shuffle(x, 2), (1, 8, 3, 4)),
    _row("pixel_shuffle/rank 3", lambda x: torch.pixel_shuffle(x, 3), (9, 2, 3)),
    _row("pixel_shuffle/channels_last", lambda x: torch.pixel_shuffle(x, 2), channels_last((1, 8, 3, 4))),
    _row("pixel_unshuffle", lambda x: torch.pixel_unshuffle(x, 2), (2, 3, 4, 6)),
    _row("pixel_unshuffle/rank 3", lambda x: torch.pixel_unshuffle(x, 2), (3, 4, 6)),
    _row("channel_shuffle", lambda x: torch.channel_shuffle(x, 3), (1, 6, 3, 4)),
    _row("flip", lambda x: x.flip(0, -1), (2, 3, 4)),
    _row("flip/vector", lambda x: x.flip(0), (7,)),
    _row("flip/matrix", lambda x: x.flip(1), (4, 5)),
    _row("flip/image", lambda x: x.flip(3), (1, 3, 4, 5)),
    _row("flip/channels_last", lambda x: x.flip(1), channels_last((1, 3, 4, 5))),
    _row("roll", lambda x: x.roll(2, 1), (2, 5)),
    _row("roll/several", lambda x: x.roll((-1, 3), (0, 2)), (2, 3, 4)),
    _row("roll/flat", lambda x: x.roll(4), (2, 3)),
    _row("unfold", lambda x: x.unfold(1, 3, 2), (2, 7)),
    _row("unfold/windows of an image", lambda x: x.unfold(2, 3, 1).unfold(3, 3, 1), (1, 2, 5, 6)),
    _row("unfold/im2col", torch.nn.Unfold((2, 3), padding=1, stride=2), (2, 3, 6, 7)),
    OpCase("fold/overlapping", lambda: torch.nn.Fold((5, 6), (2, 3), padding=1), [(2, 18, 36)]),
    OpCase("fold/dilation, stride", lambda: torch.nn.Fold((5, 6), 2, dilation=2, stride=2), [(1, 12, 4)]),
    _row("diagonal", lambda x: x.diagonal(), (3, 3)),
    _row("tril", lambda x: x.tril(), (3, 4)),
    _row("triu", lambda x: x.triu(1), (3, 4)),
    _row("tril/batch", lambda x: x.tril(-1), (2, 3, 4)),
    _row("diag_embed", torch.diag_embed, (2, 3)),
    _row("rot90", torch.rot90, (3, 4)),
    _row("clone", lambda x: x.clone(), (2, 3)),
    _row("contiguous", lambda x: x.permute(1, 0).contiguous(), (2, 3)),
    _row("detach", lambda x: x.detach(), (2, 3)),
    _row("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), (3,), (4,)),
    _row("empty", lambda x: x[:, 3:3], (2, 5), refuses=refused("is computed from constants")),
]
