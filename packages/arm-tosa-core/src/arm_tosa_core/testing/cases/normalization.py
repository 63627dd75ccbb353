"""Cases of the rules in ``rules/normalization.py``."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from ..case import QUANTIZED, OpCase, channels_last, row


def _warm(norm: nn.Module) -> nn.Module:
    """With statistics and an affine part that are not the initial ones."""
    for name, tensor in [*norm.named_parameters(), *norm.named_buffers()]:
        if tensor.dtype.is_floating_point:
            values = torch.randn(tensor.shape) * 0.5
            tensor.data.copy_(values.abs() + 0.5 if "var" in name or "weight" in name else values)
    return norm


_ROWS = [
    OpCase("batch_norm/rank 2", lambda: _warm(nn.BatchNorm1d(5)), [(4, 5)]),
    OpCase("batch_norm/1d", lambda: _warm(nn.BatchNorm1d(5)), [(2, 5, 7)]),
    OpCase("batch_norm/2d", lambda: _warm(nn.BatchNorm2d(5)), [(2, 5, 3, 4)]),
    OpCase("batch_norm/channels_last", lambda: _warm(nn.BatchNorm2d(5)), [channels_last((2, 5, 3, 4))]),
    OpCase("batch_norm/3d", lambda: _warm(nn.BatchNorm3d(3)), [(2, 3, 2, 3, 4)]),
    OpCase("batch_norm/no affine", lambda: _warm(nn.BatchNorm2d(5, affine=False)), [(2, 5, 3, 4)]),
    OpCase("batch_norm/large eps", lambda: _warm(nn.BatchNorm2d(5, eps=0.1)), [(2, 5, 3, 4)]),
    OpCase(
        "batch_norm/after conv", lambda: nn.Sequential(nn.Conv2d(3, 4, 3), _warm(nn.BatchNorm2d(4))), [(1, 3, 6, 6)]
    ),
    OpCase("layer_norm", lambda: _warm(nn.LayerNorm(16)), [(2, 5, 16)]),
    OpCase("layer_norm/vector", lambda: _warm(nn.LayerNorm(16)), [(16,)]),
    OpCase("layer_norm/several axes", lambda: _warm(nn.LayerNorm([3, 8])), [(2, 4, 3, 8)]),
    OpCase("layer_norm/no affine", lambda: nn.LayerNorm(16, elementwise_affine=False), [(2, 5, 16)]),
    OpCase("layer_norm/no bias", lambda: _warm(nn.LayerNorm(16, bias=False)), [(2, 5, 16)]),
    OpCase("layer_norm/rank 5", lambda: _warm(nn.LayerNorm([2, 8])), [(1, 2, 3, 2, 8)]),
    OpCase("group_norm", lambda: _warm(nn.GroupNorm(2, 6)), [(2, 6, 4, 3)]),
    OpCase("group_norm/rank 3", lambda: _warm(nn.GroupNorm(3, 6)), [(2, 6, 8)]),
    OpCase("group_norm/no affine", lambda: nn.GroupNorm(1, 6, affine=False), [(2, 6, 4, 3)]),
    row(
        "native_group_norm/mean and deviation",
        lambda x: torch.native_group_norm(x, None, None, 2, 6, 12, 3, 1e-5),
        [(2, 6, 4, 3)],
    ),
    OpCase("group_norm/channels_last", lambda: _warm(nn.GroupNorm(2, 6)), [channels_last((2, 6, 4, 3))]),
    OpCase("instance_norm/1d", lambda: _warm(nn.InstanceNorm1d(4, affine=True)), [(2, 4, 9)]),
    OpCase("instance_norm/2d", lambda: nn.InstanceNorm2d(4), [(2, 4, 5, 3)]),
    OpCase("instance_norm/running", lambda: _warm(nn.InstanceNorm2d(4, track_running_stats=True)), [(2, 4, 5, 3)]),
    OpCase("rms_norm", lambda: _warm(nn.RMSNorm(16)), [(2, 5, 16)]),
    OpCase("rms_norm/eps, no affine", lambda: nn.RMSNorm(16, eps=1e-3, elementwise_affine=False), [(2, 5, 16)]),
    OpCase("rms_norm/several axes", lambda: _warm(nn.RMSNorm([3, 8])), [(2, 3, 8)]),
    OpCase("softmax/last", lambda: nn.Softmax(-1), [(2, 3, 10)]),
    OpCase("softmax/middle", lambda: nn.Softmax(1), [(2, 10, 3)]),
    OpCase("softmax/first", lambda: nn.Softmax(0), [(7, 3)]),
    OpCase("softmax/vector", lambda: nn.Softmax(0), [(7,)]),
    OpCase("softmax/scalar", lambda: nn.Softmax(0), [()]),
    OpCase("softmax/rank 5", lambda: nn.Softmax(2), [(1, 2, 5, 2, 3)]),
    OpCase("softmax/channels_last", lambda: nn.Softmax(1), [channels_last((2, 6, 3, 4))]),
    row("softmax/large", lambda x: torch.softmax(x * 30, -1), [(2, 3, 10)]),
    OpCase("softmax/min", lambda: nn.Softmin(-1), [(2, 3, 10)]),
    OpCase("log_softmax/last", lambda: nn.LogSoftmax(-1), [(2, 3, 10)]),
    OpCase("log_softmax/first", lambda: nn.LogSoftmax(0), [(7, 3)]),
    OpCase("log_softmax/image", lambda: nn.LogSoftmax(1), [(2, 6, 3, 4)]),
]

#: Numbers whose squares are beyond float16.
_LARGE = {
    "layer_norm": lambda x: nn.functional.layer_norm(x, (5, 3)),
    "rms_norm": lambda x: nn.functional.rms_norm(x, (3,)),
    "group_norm": lambda x: nn.functional.group_norm(x, 2),
    "instance_norm": nn.functional.instance_norm,
}
_ROWS += [
    row(
        f"{name}/large float16",
        function,
        [lambda g: (torch.randn(2, 4, 5, 3, generator=g) * 400).half()],
        tolerance=(4e-3, 2e-3),
        needs_float=QUANTIZED,
    )
    for name, function in _LARGE.items()
]

#: A mean over two axes comes from INT48.
_COARSE = {"layer_norm/several axes": 3}

CASES: list[OpCase] = [replace(row, coarse=_COARSE.get(row.name, 1)) for row in _ROWS]
