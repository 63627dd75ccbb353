"""Cases of the rules in ``rules/linear.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ..case import QUANTIZED, OpCase, row


class _Weighted(nn.Module):
    """A function of the inputs and of parameters."""

    def __init__(self, function: Callable[..., torch.Tensor], *shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(s) for s in shapes)
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs, *self.weights)


def _of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], nn.Module]:
    return lambda: _Weighted(function, *shapes)


#: Forms of matmul by the ranks of its operands: batches that are equal, missing and broadcast.
_PRODUCTS = [
    ((5,), (5,)),
    ((5,), (5, 3)),
    ((4, 5), (5,)),
    ((4, 5), (5, 3)),
    ((1, 5), (5, 1)),
    ((5,), (2, 5, 3)),
    ((2, 4, 5), (5,)),
    ((2, 4, 5), (5, 3)),
    ((4, 5), (2, 5, 3)),
    ((2, 4, 5), (2, 5, 3)),
    ((1, 4, 5), (2, 5, 3)),
    ((2, 3, 4, 5), (3, 5, 2)),
    ((2, 3, 4, 5), (2, 1, 5, 2)),
    ((1, 3, 4, 5), (2, 1, 5, 2)),
    ((2, 1, 2, 4, 5), (3, 1, 5, 2)),
    ((2, 2, 1, 2, 4, 5), (1, 2, 2, 1, 5, 3)),
]

CASES: list[OpCase] = [
    *(
        OpCase(f"linear/rank {len(shape)}", lambda: nn.Linear(7, 5), [shape])
        for shape in [(7,), (4, 7), (2, 3, 7), (2, 3, 2, 7)]
    ),
    OpCase("linear/transposed", lambda: _of(lambda x, w: F.linear(x.permute(1, 2, 0, 3), w), (5, 7))(), [(2, 3, 4, 7)]),
    OpCase("linear/no bias", lambda: nn.Linear(7, 5, bias=False), [(2, 3, 7)]),
    OpCase("linear/one output", lambda: nn.Linear(7, 1), [(3, 7)]),
    OpCase("linear/one input", lambda: nn.Linear(1, 4), [(3, 1)]),
    OpCase("linear/wide", lambda: nn.Linear(300, 40), [(13, 300)]),
    OpCase("linear/relu", lambda: nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3)), [(4, 7)]),
    OpCase("linear/relu6 in 3 ranks", lambda: nn.Sequential(nn.Linear(7, 5), nn.ReLU6()), [(2, 4, 7)]),
    OpCase(
        "linear/transposed input",
        lambda: nn.Sequential(nn.Linear(3, 4)),
        [lambda g: torch.randn(2, 3, 5, generator=g).mT],
    ),
    OpCase("linear/after a transpose", _of(lambda x, w: F.linear(x.transpose(1, 2), w), (4, 3)), [(2, 3, 5)]),
    row("linear/weight from outside", F.linear, [(2, 3, 7), (5, 7)]),
    row("linear/weight and bias from outside", F.linear, [(3, 7), (5, 7), (5,)], needs_float=QUANTIZED),
    OpCase("linear/weight used twice", _of(lambda x, w: F.linear(F.linear(x, w).relu(), w), (5, 5)), [(3, 5)]),
    row("addmm/plain", torch.addmm, [(4, 3), (4, 5), (5, 3)]),
    row("addmm/broadcast", torch.addmm, [(3,), (4, 5), (5, 3)]),
    row("addmm/alpha, beta", lambda c, x, y: torch.addmm(c, x, y, alpha=0.5, beta=2.0), [(4, 3), (4, 5), (5, 3)]),
    OpCase("addmm/constants", _of(lambda x, c, w: torch.addmm(c, x, w), (3,), (5, 3)), [(4, 5)]),
    row("mm/plain", torch.mm, [(4, 5), (5, 3)]),
    OpCase("mm/constant right", _of(torch.mm, (5, 3)), [(4, 5)]),
    OpCase("mm/constant left", _of(lambda x, w: torch.mm(w, x), (3, 4)), [(4, 5)]),
    row("mm/with itself", lambda x: x @ x.T, [(4, 5)]),
    row("bmm/plain", torch.bmm, [(2, 4, 5), (2, 5, 3)]),
    row("bmm/transposed", lambda x, y: torch.bmm(x, y.transpose(1, 2)), [(2, 4, 5), (2, 3, 5)]),
    OpCase("bmm/constant", _of(torch.bmm, (2, 5, 3)), [(2, 4, 5)]),
    row("baddbmm/plain", torch.baddbmm, [(2, 4, 3), (2, 4, 5), (2, 5, 3)]),
    row(
        "baddbmm/alpha, beta",
        lambda c, x, y: torch.baddbmm(c, x, y, alpha=0.5, beta=-2.0),
        [(4, 3), (2, 4, 5), (2, 5, 3)],
    ),
    row("dot", torch.dot, [(5,), (5,)]),
    row("mv", torch.mv, [(4, 5), (5,)]),
    *(row(f"matmul/{x} {y}", torch.matmul, [x, y]) for x, y in _PRODUCTS),
    OpCase("matmul/constant matrix", _of(torch.matmul, (5, 3)), [(2, 4, 5)]),
    OpCase("matmul/constant vector", _of(torch.matmul, (5,)), [(2, 4, 5)]),
    OpCase("matmul/constant batch", _of(torch.matmul, (2, 5, 3)), [(2, 4, 5)]),
    OpCase("matmul/constant left", _of(lambda x, w: torch.matmul(w, x), (3, 4)), [(2, 4, 5)]),
    row("matmul/scaled", lambda x, y: (x @ y) * 0.125, [(2, 4, 5), (2, 5, 3)]),
    row("matmul/relu", lambda x, y: F.relu(x @ y), [(2, 4, 5), (2, 5, 3)]),
    row("einsum/outer", lambda x, y: torch.einsum("i,j->ij", x, y), [(3,), (4,)]),
    row("einsum/three", lambda x, y, z: torch.einsum("ij,jk,kl->il", x, y, z), [(3, 4), (4, 5), (5, 2)]),
    row("einsum/diagonal", lambda x: torch.einsum("ii->i", x) + 1, [(3, 3)]),
    row("einsum/ellipsis", lambda x, y: torch.einsum("...ij,jk->...ki", x, y), [(2, 2, 3, 4), (4, 5)]),
    row("einsum/batched", lambda x, y: torch.einsum("bij,bkj->bik", x, y), [(2, 4, 5), (2, 3, 5)]),
]
