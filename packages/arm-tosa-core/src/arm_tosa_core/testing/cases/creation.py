"""Cases of the rules in ``rules/creation.py``, and of constants that the lowering evaluates."""

from __future__ import annotations

import torch

from ..case import QUANTIZED, OpCase, int32, refused, row

CASES: list[OpCase] = [
    row("zeros_like", lambda x: torch.zeros_like(x) + x, [(2, 3)]),
    row("ones_like", lambda x: torch.ones_like(x) - x, [(2, 3)]),
    row(
        "ones_like/other type",
        lambda x: torch.ones_like(x, dtype=torch.int32) * 3 * (x > 0),
        [(2, 3)],
        needs_float=QUANTIZED,
    ),
    row("full_like", lambda x: torch.full_like(x, 0.7) * x, [(2, 3)]),
    row("full", lambda x: torch.full((2, 3), -1.3) + x, [(2, 3)]),
    row("full/rank 0", lambda x: torch.full((), 2.0) * x, [(2, 3)]),
    row("zeros", lambda x: torch.maximum(torch.zeros(3), x), [(2, 3)]),
    row("ones", lambda x: x - torch.ones(2, 1), [(2, 3)]),
    row("new_zeros", lambda x: x.new_zeros((3,)) - x, [(2, 3)]),
    row("new_ones", lambda x: x.new_ones((2, 1)) + x, [(2, 3)]),
    row("new_full", lambda x: x.new_full((3,), 0.3) + x, [(2, 3)]),
    row("arange/float", lambda x: torch.arange(0, 1.5, 0.5) + x, [(2, 3)]),
    row("arange/int64", lambda x: torch.arange(3) * x, [(2, 3)]),
    row("arange/step", lambda x: torch.arange(9, 0, -3, dtype=torch.int32) + x, [int32((2, 3), 0, 9)]),
    row("linspace", lambda x: torch.linspace(-1, 2, 3) + x, [(2, 3)]),
    row("eye", lambda x: torch.eye(3) + x, [(2, 3, 3)]),
    row("scalar_tensor", lambda x: torch.scalar_tensor(1.5) + x, [(2, 3)]),
    row("tril/constant", lambda x: torch.ones(3, 3).tril() * x, [(2, 3, 3)]),
    row("fill", lambda x: (x * 2).fill_(3.0) - x, [(2, 3)]),
    row("fill/constant", lambda x: torch.full_like(x, 0).fill_(3.0) * x, [(2, 3)]),
    row("fill/tensor", lambda x, y: (x * 2).fill_(y) - x, [(2, 3), ()]),
    row("zero", lambda x: (x * 2).zero_() - x, [(2, 3)]),
    row("copy", lambda x, y: (x * 2).copy_(y) - x, [(2, 3), (2, 3)]),
    row("copy/broadcast", lambda x, y: (x * 2).copy_(y) - x, [(2, 3), (3,)]),
    row("clone/of a sum", lambda x: (x + 1).clone(), [(2, 3)]),
    row("contiguous/of a sum", lambda x: (x + 1).transpose(0, 1).contiguous(), [(2, 3)]),
    row("clone/channels_last", lambda x: (x + 1).clone(memory_format=torch.channels_last), [(1, 3, 4, 5)]),
    row("clone/detach", lambda x: (x + 1).detach().clone(), [(2, 3)]),
    row("rand_like", lambda x: torch.rand_like(x) + x, [(2, 3)], refused("no rule for aten.rand_like.default")),
]
