"""Cases of the rules in ``rules/activation.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ..case import QUANTIZED, OpCase, channels_last, half, int32, integers, refused, row, uniform

#: Functions, over -6 to 6.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "celu": lambda x: F.celu(x, 0.7),
    "elu": F.elu,
    "elu/alpha": lambda x: F.elu(x, 0.4),
    "gelu": F.gelu,
    "gelu/written out": lambda x: 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3))),
    "gelu/tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardshrink": lambda x: F.hardshrink(x, 0.8),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "leaky_relu": F.leaky_relu,
    "leaky_relu/slope": lambda x: F.leaky_relu(x, 0.3),
    "log_sigmoid": F.logsigmoid,
    "mish": F.mish,
    "selu": F.selu,
    "silu": F.silu,
    "silu/written out": lambda x: x * torch.sigmoid(x),
    "softplus": F.softplus,
    "softplus/beta": lambda x: F.softplus(x, 2.0, 5.0),
    "softshrink": F.softshrink,
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "threshold": lambda x: F.threshold(x, 0.5, -1.0),
    "relu": F.relu,
    "relu6": F.relu6,
    "hardtanh": F.hardtanh,
    "hardtanh/bounds": lambda x: F.hardtanh(x, -2.5, 0.5),
    "clamp": lambda x: x.clamp(-1.3, 2.1),
    "clamp/low": lambda x: x.clamp(min=0.5),
    "clamp/high": lambda x: x.clamp(max=-0.5),
    "clamp/crossed": lambda x: x.clamp(1.0, -1.0),
    "clamp/clip": lambda x: x.clip(0, 3),
    "clamp/clamp_min": lambda x: x.clamp_min(-0.7),
    "clamp/clamp_max": lambda x: x.clamp_max(0.7),
    "clamp/twice": lambda x: x.clamp(-2, 2).clamp(-1, 3),
    "clamp/tensors": lambda x: torch.clamp(x, torch.linspace(-3, 0, 41), torch.tensor(1.0)),
    "dropout": lambda x: F.dropout(x + 1, 0.5, False),
    "dropout/channels": lambda x: F.dropout1d(x + 1, 0.5, False),
}
_functions = [row(name, f, [uniform((1, 3, 41), -6, 6)]) for name, f in _FUNCTIONS.items()]

CASES: list[OpCase] = [
    *_functions,
    row("relu/rank 0", F.relu, [()]),
    row("relu/rank 6", F.relu, [(1, 2, 1, 3, 2, 2)]),
    row("relu/channels_last", F.relu, [channels_last((1, 3, 4, 5))]),
    row("relu/in place", lambda x, y: F.relu(x + y, inplace=True), [(2, 3, 5), (2, 3, 5)]),
    row("relu/int32", F.relu, [int32((9,), -9, 9)]),
    row("relu/float16", F.relu, [half(3, 4)], needs_float=QUANTIZED),
    row("relu/after add", lambda x, y: F.relu(x + y), [(2, 3, 5), (2, 3, 5)]),
    row("relu6/in place", lambda x: F.relu6(x * 5, inplace=True), [(2, 3, 5)]),
    row("hardtanh/after mul", lambda x, y: F.hardtanh(x * y), [(2, 3, 5), (2, 3, 5)]),
    row("clamp/int32", lambda x: x.clamp(-3, 4), [int32((9,), -9, 9)]),
    row("clamp/int32 to float", lambda x: x.clamp(-2.5, 4), [int32((9,), -9, 9)], needs_float=QUANTIZED),
    row("clamp/int8", lambda x: x.clamp(-3, 4), [integers((9,), -9, 9, torch.int8)]),
    row("silu/in place", lambda x: F.silu(x + 1, inplace=True), [(3, 5)]),
    row("silu/float16", F.silu, [half(3, 4)], tolerance=(4e-3, 2e-3), needs_float=QUANTIZED),
    *(
        row(
            f"{function.__name__}/float16, far below 0",
            function,
            [lambda g: (torch.randn(3, 4, generator=g) * 2 - 7).half()],
            tolerance=(4e-3, 1e-6),
            needs_float=QUANTIZED,
        )
        for function in (F.mish, F.softplus)
    ),
    OpCase("prelu/one weight", lambda: nn.PReLU(), [(2, 5)]),
    OpCase("prelu/channels", lambda: nn.PReLU(3, 0.3), [(2, 3, 4, 5)]),
    OpCase("prelu/rank 2", lambda: nn.PReLU(5, 0.3), [(2, 5)]),
    OpCase("glu", lambda: nn.GLU(), [(2, 3, 6)]),
    OpCase("glu/axis", lambda: nn.GLU(1), [(2, 6, 3)]),
    OpCase("rrelu", lambda: nn.RReLU(), [(2, 6, 3)]),
    row("dropout/train", lambda x: F.dropout(x + 1, 0.5, True), [(2, 3)], refused("drops values at random")),
]
