"""Cases of the rules in ``rules/creation.py``, and of constants that the lowering evaluates."""

from __future__ import annotations

import torch

from ..case import QUANTIZED, OpCase, integers

CASES: list[OpCase] = [
    OpCase("zeros_like", lambda: lambda x: torch.zeros_like(x) + x, [(2, 3)]),
    OpCase("ones_like", lambda: lambda x: torch.ones_like(x) - x, [(2, 3)]),
    OpCase(
        "ones_like/other type",
        lambda: lambda x: torch.ones_like(x, dtype=torch.int32) * 3 * (x > 0),
        [(2, 3)],
        needs_float=QUANTIZED,
    ),
    OpCase("full_like", lambda: lambda x: torch.full_like(x, 0.7) * x, [(2, 3)]),
    OpCase("full", lambda: lambda x: torch.full((2, 3), -1.3) + x, [(2, 3)]),
    OpCase("full/rank 0", lambda: lambda x: torch.full((), 2.0) * x, [(2, 3)]),
    OpCase("zeros", lambda: lambda x: torch.maximum(torch.zeros(3), x), [(2, 3)]),
    OpCase("ones", lambda: lambda x: x - torch.ones(2, 1), [(2, 3)]),
    OpCase("new_zeros", lambda: lambda x: x.new_zeros((3,)) - x, [(2, 3)]),
    OpCase("new_ones", lambda: lambda x: x.new_ones((2, 1)) + x, [(2, 3)]),
    OpCase("new_full", lambda: lambda x: x.new_full((3,), 0.3) + x, [(2, 3)]),
    OpCase("arange/float", lambda: lambda x: torch.arange(0, 1.5, 0.5) + x, [(2, 3)]),
    OpCase("arange/int64", lambda: lambda x: torch.arange(3) * x, [(2, 3)]),
    OpCase(
        "arange/step",
        lambda: lambda x: torch.arange(9, 0, -3, dtype=torch.int32) + x,
        [integers((2, 3), 0, 9, torch.int32)],
    ),
    OpCase("linspace", lambda: lambda x: torch.linspace(-1, 2, 3) + x, [(2, 3)]),
    OpCase("eye", lambda: lambda x: torch.eye(3) + x, [(2, 3, 3)]),
    OpCase("scalar_tensor", lambda: lambda x: torch.scalar_tensor(1.5) + x, [(2, 3)]),
    OpCase("tril/constant", lambda: lambda x: torch.ones(3, 3).tril() * x, [(2, 3, 3)]),
    OpCase("fill", lambda: lambda x: (x * 2).fill_(3.0) - x, [(2, 3)]),
    OpCase("fill/constant", lambda: lambda x: torch.full_like(x, 0).fill_(3.0) * x, [(2, 3)]),
    OpCase("fill/tensor", lambda: lambda x, y: (x * 2).fill_(y) - x, [(2, 3), ()]),
    OpCase("zero", lambda: lambda x: (x * 2).zero_() - x, [(2, 3)]),
    OpCase("copy", lambda: lambda x, y: (x * 2).copy_(y) - x, [(2, 3), (2, 3)]),
    OpCase("copy/broadcast", lambda: lambda x, y: (x * 2).copy_(y) - x, [(2, 3), (3,)]),
    OpCase("clone/of a sum", lambda: lambda x: (x + 1).clone(), [(2, 3)]),
    OpCase("contiguous/of a sum", lambda: lambda x: (x + 1).transpose(0, 1).contiguous(), [(2, 3)]),
    OpCase("clone/channels_last", lambda: lambda x: (x + 1).clone(memory_format=torch.channels_last), [(1, 3, 4, 5)]),
    OpCase("clone/detach", lambda: lambda x: (x + 1).detach().clone(), [(2, 3)]),
    OpCase(
        "rand_like",
        lambda: lambda x: torch.rand_like(x) + x,
        [(2, 3)],
        dict.fromkeys(("fp32", "int8", "int16"), "no rule for aten.rand_like.default"),
    ),
]
