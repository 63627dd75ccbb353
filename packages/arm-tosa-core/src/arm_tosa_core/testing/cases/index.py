"""Cases of the rules in ``rules/index.py``."""

from __future__ import annotations

import torch

from ..case import OpCase, int32, integers, row

_pad = torch.nn.functional.pad


class _Buffers(torch.nn.Module):
    """Indexes with constants, some negative."""

    i: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("i", torch.tensor([[0, -1], [2, 1]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, self.i]


class _Order(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, [2, 1, 0, 2]]


CASES: list[OpCase] = [
    OpCase("embedding", lambda: torch.nn.Embedding(9, 5), [integers((2, 3), 0, 9)]),
    OpCase("embedding/int32", lambda: torch.nn.Embedding(9, 5), [int32((4,), 0, 9)]),
    OpCase("embedding/scalar", lambda: torch.nn.Embedding(9, 5), [integers((), 0, 9)]),
    OpCase("embedding/rank 3", lambda: torch.nn.Embedding(9, 5), [integers((2, 1, 3), 0, 9)]),
    OpCase("embedding/padding", lambda: torch.nn.Embedding(9, 5, padding_idx=0), [integers((2, 3), 0, 9)]),
    row("index_select", lambda x, i: x.index_select(1, i), [(2, 5, 3), integers((4,), 0, 5)]),
    row("index_select/negative", lambda x, i: x.index_select(-1, i), [(2, 5, 3), integers((4,), 0, 3)]),
    row("index_select/vector", lambda x, i: x.index_select(0, i), [(5,), int32((2,), 0, 5)]),
    row("index_select/rank 6", lambda x, i: x.index_select(3, i), [(1, 2, 1, 5, 2, 2), integers((4,), 0, 5)]),
    row("take", torch.take, [(3, 4), integers((2, 5), -12, 12)]),
    row("take/scalar", torch.take, [(), integers((3,), 0, 1)]),
    row("gather/last", lambda x, i: x.gather(-1, i), [(2, 5), integers((2, 3), 0, 5)]),
    row("gather/first", lambda x, i: x.gather(0, i), [(4, 3), integers((2, 3), 0, 4)]),
    row("gather/middle", lambda x, i: x.gather(1, i), [(2, 5, 3), integers((2, 4, 3), 0, 5)]),
    row("gather/smaller", lambda x, i: x.gather(1, i), [(3, 5, 4), integers((2, 6, 3), 0, 5)]),
    row("as_strided/reshape", lambda x: x.as_strided((2, 6), (6, 1)), [(3, 4)]),
    row("as_strided/part", lambda x: x.as_strided((2, 3), (3, 1), 2) + 1, [(3, 4)]),
    row("as_strided/windows", lambda x: x.as_strided((2, 3), (1, 2)), [(3, 4)]),
    row("index/one", lambda x, i: x[i], [(5, 3), integers((4,), 0, 5)]),
    row("index/one matrix", lambda x, i: x[i], [(5, 3), integers((2, 4), 0, 5)]),
    row("index/second axis", lambda x, i: x[:, i], [(2, 5, 3), integers((2, 4), 0, 5)]),
    row("index/two", lambda x, i, j: x[i, j], [(5, 4, 3), integers((6,), 0, 5), integers((6,), 0, 4)]),
    row("index/broadcast", lambda x, i, j: x[i, j], [(5, 4), integers((2, 1), 0, 5), integers((3,), 0, 4)]),
    row("index/later two", lambda x, i, j: x[:, i, j], [(2, 5, 4, 3), integers((6,), 0, 5), integers((6,), 0, 4)]),
    row("index/apart", lambda x, i, j: x[i, :, j], [(5, 2, 4), integers((3,), 0, 5), integers((3,), 0, 4)]),
    row(
        "index/three",
        lambda x, i, j, k: x[i, j, k],
        [(3, 4, 5), integers((7,), 0, 3), integers((7,), 0, 4), integers((7,), 0, 5)],
    ),
    row("index_select/constant", lambda x: x.index_select(1, torch.tensor([2, 0, 1])), [(1, 3, 4, 5)]),
    OpCase("index/order of channels", lambda: torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), _Order()), [(1, 3, 4, 5)]),
    OpCase("index/constants", _Buffers, [(2, 3, 4)]),
    row("index/grid", lambda x: x[:, torch.arange(9)[:, None] % 5, 3 * torch.arange(-5, 5) % 7], [(2, 5, 7)]),
    row("index/negative", lambda x, i: x[i], [(5, 3), integers((4,), -5, 5)]),
    row("index/of two types", lambda x, i: x[torch.cat([torch.arange(2), i])], [(5, 3), int32((4,), -5, 0)]),
    row("index/padded", lambda x, y: x[_pad(y.argmax(1), (1, 1), value=-1.0)], [(5, 3), (4, 5)]),
]
