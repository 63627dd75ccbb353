"""Cases of the rules in ``rules/order.py``."""

from __future__ import annotations

import torch

from ..case import SCHEMES, OpCase, given

_IMAGE = [(2, 5, 4, 3)]


def _few(g: torch.Generator) -> torch.Tensor:
    """Numbers of which many are equal."""
    return torch.randint(-2, 3, (3, 9), generator=g).float()


CASES: list[OpCase] = [
    OpCase("topk", given(lambda x: tuple(x.topk(2))), [(3, 5)]),
    OpCase("topk/smallest, dim", given(lambda x: x.topk(3, 1, largest=False).values), _IMAGE),
    OpCase("topk/routing", given(lambda x: torch.softmax(x, -1).topk(2).values), [(6, 8)]),
    OpCase("topk/used", given(lambda x: x.gather(1, x.topk(3).indices)), [(3, 7)]),
    OpCase(
        "topk/thousands",
        given(lambda x: x.topk(2)),
        [(1, 3000)],
        dict.fromkeys(SCHEMES, "with 9000000 comparisons; the CPU is better"),
    ),
    OpCase("sort", given(lambda x: x.sort().values), [(3, 5)]),
    OpCase("sort/descending", given(lambda x: tuple(x.sort(1, descending=True))), _IMAGE),
    OpCase("sort/equal", given(lambda x: tuple(x.sort(stable=True))), [_few]),
    OpCase("sort/equal, descending", given(lambda x: tuple(x.sort(stable=True, descending=True))), [_few]),
    OpCase("sort/int32", given(lambda x: tuple(x.sort(stable=True))), [lambda g: _few(g).int()]),
    OpCase("sort/no axis", given(lambda x: tuple(x.sum().sort())), [(3, 5)]),
    OpCase("argsort", given(lambda x: x.argsort(1)), [(3, 5)]),
    OpCase("argsort/stable", given(lambda x: x.argsort(stable=True, dim=0, descending=True)), [_few]),
    OpCase("kthvalue", given(lambda x: x.kthvalue(2, 1).values), _IMAGE),
    OpCase("kthvalue/keepdim", given(lambda x: x.kthvalue(3, -1, keepdim=True).values), [(3, 5)]),
    OpCase("median", given(torch.median), [(3, 4)]),
    OpCase("median/dim", given(lambda x: tuple(x.median(1))), [(3, 6)]),
    OpCase(
        "mode",
        given(lambda x: x.mode(1).values),
        [_few],
        dict.fromkeys(SCHEMES, "counts equal numbers, which no TOSA operator does"),
    ),
]
