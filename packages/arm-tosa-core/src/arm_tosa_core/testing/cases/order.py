"""Cases of the rules in ``rules/order.py``."""

from __future__ import annotations

import torch

from ..case import OpCase, refused, row

_IMAGE = [(2, 5, 4, 3)]


def _few(g: torch.Generator) -> torch.Tensor:
    """Numbers of which many are equal."""
    return torch.randint(-2, 3, (3, 9), generator=g).float()


CASES: list[OpCase] = [
    row("topk", lambda x: tuple(x.topk(2)), [(3, 5)]),
    row("topk/smallest, dim", lambda x: x.topk(3, 1, largest=False).values, _IMAGE),
    row("topk/routing", lambda x: torch.softmax(x, -1).topk(2).values, [(6, 8)]),
    row("topk/used", lambda x: x.gather(1, x.topk(3).indices), [(3, 7)]),
    row("topk/thousands", lambda x: x.topk(2), [(1, 3000)], refused("with 9000000 comparisons; the CPU is better")),
    row("sort", lambda x: x.sort().values, [(3, 5)]),
    row("sort/descending", lambda x: tuple(x.sort(1, descending=True)), _IMAGE),
    row("sort/equal", lambda x: tuple(x.sort(stable=True)), [_few]),
    row("sort/equal, descending", lambda x: tuple(x.sort(stable=True, descending=True)), [_few]),
    row("sort/int32", lambda x: tuple(x.sort(stable=True)), [lambda g: _few(g).int()]),
    row("sort/no axis", lambda x: tuple(x.sum().sort()), [(3, 5)]),
    row("argsort", lambda x: x.argsort(1), [(3, 5)]),
    row("argsort/stable", lambda x: x.argsort(stable=True, dim=0, descending=True), [_few]),
    row("kthvalue", lambda x: x.kthvalue(2, 1).values, _IMAGE),
    row("kthvalue/keepdim", lambda x: x.kthvalue(3, -1, keepdim=True).values, [(3, 5)]),
    row("median", torch.median, [(3, 4)]),
    row("median/dim", lambda x: tuple(x.median(1)), [(3, 6)]),
    row("mode", lambda x: x.mode(1).values, [_few], refused("counts equal numbers, which no TOSA operator does")),
]
