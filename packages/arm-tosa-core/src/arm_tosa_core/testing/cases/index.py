"""Cases of the rules in ``rules/index.py``."""

from __future__ import annotations

import torch

from ..case import OpCase, integers

_INT32 = torch.int32
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
    OpCase("embedding/int32", lambda: torch.nn.Embedding(9, 5), [integers((4,), 0, 9, _INT32)]),
    OpCase("embedding/scalar", lambda: torch.nn.Embedding(9, 5), [integers((), 0, 9)]),
    OpCase("embedding/rank 3", lambda: torch.nn.Embedding(9, 5), [integers((2, 1, 3), 0, 9)]),
    OpCase("embedding/padding", lambda: torch.nn.Embedding(9, 5, padding_idx=0), [integers((2, 3), 0, 9)]),
    OpCase("index_select", lambda: lambda x, i: x.index_select(1, i), [(2, 5, 3), integers((4,), 0, 5)]),
    OpCase("index_select/negative", lambda: lambda x, i: x.index_select(-1, i), [(2, 5, 3), integers((4,), 0, 3)]),
    OpCase("index_select/vector", lambda: lambda x, i: x.index_select(0, i), [(5,), integers((2,), 0, 5, _INT32)]),
    OpCase(
        "index_select/rank 6", lambda: lambda x, i: x.index_select(3, i), [(1, 2, 1, 5, 2, 2), integers((4,), 0, 5)]
    ),
    OpCase("take", lambda: torch.take, [(3, 4), integers((2, 5), -12, 12)]),
    OpCase("take/scalar", lambda: torch.take, [(), integers((3,), 0, 1)]),
    OpCase("gather/last", lambda: lambda x, i: x.gather(-1, i), [(2, 5), integers((2, 3), 0, 5)]),
    OpCase("gather/first", lambda: lambda x, i: x.gather(0, i), [(4, 3), integers((2, 3), 0, 4)]),
    OpCase("gather/middle", lambda: lambda x, i: x.gather(1, i), [(2, 5, 3), integers((2, 4, 3), 0, 5)]),
    OpCase("gather/smaller", lambda: lambda x, i: x.gather(1, i), [(3, 5, 4), integers((2, 6, 3), 0, 5)]),
    OpCase("as_strided/reshape", lambda: lambda x: x.as_strided((2, 6), (6, 1)), [(3, 4)]),
    OpCase("as_strided/part", lambda: lambda x: x.as_strided((2, 3), (3, 1), 2) + 1, [(3, 4)]),
    OpCase("as_strided/windows", lambda: lambda x: x.as_strided((2, 3), (1, 2)), [(3, 4)]),
    OpCase("index/one", lambda: lambda x, i: x[i], [(5, 3), integers((4,), 0, 5)]),
    OpCase("index/one matrix", lambda: lambda x, i: x[i], [(5, 3), integers((2, 4), 0, 5)]),
    OpCase("index/second axis", lambda: lambda x, i: x[:, i], [(2, 5, 3), integers((2, 4), 0, 5)]),
    OpCase("index/two", lambda: lambda x, i, j: x[i, j], [(5, 4, 3), integers((6,), 0, 5), integers((6,), 0, 4)]),
    OpCase("index/broadcast", lambda: lambda x, i, j: x[i, j], [(5, 4), integers((2, 1), 0, 5), integers((3,), 0, 4)]),
    OpCase(
        "index/later two",
        lambda: lambda x, i, j: x[:, i, j],
        [(2, 5, 4, 3), integers((6,), 0, 5), integers((6,), 0, 4)],
    ),
    OpCase("index/apart", lambda: lambda x, i, j: x[i, :, j], [(5, 2, 4), integers((3,), 0, 5), integers((3,), 0, 4)]),
    OpCase(
        "index/three",
        lambda: lambda x, i, j, k: x[i, j, k],
        [(3, 4, 5), integers((7,), 0, 3), integers((7,), 0, 4), integers((7,), 0, 5)],
    ),
    OpCase("index_select/constant", lambda: lambda x: x.index_select(1, torch.tensor([2, 0, 1])), [(1, 3, 4, 5)]),
    OpCase("index/order of channels", lambda: torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), _Order()), [(1, 3, 4, 5)]),
    OpCase("index/constants", _Buffers, [(2, 3, 4)]),
    OpCase(
        "index/grid", lambda: lambda x: x[:, torch.arange(9)[:, None] % 5, 3 * torch.arange(-5, 5) % 7], [(2, 5, 7)]
    ),
    OpCase("index/negative", lambda: lambda x, i: x[i], [(5, 3), integers((4,), -5, 5)]),
    OpCase(
        "index/of two types",
        lambda: lambda x, i: x[torch.cat([torch.arange(2), i])],
        [(5, 3), integers((4,), -5, 0, _INT32)],
    ),
    OpCase("index/padded", lambda: lambda x, y: x[_pad(y.argmax(1), (1, 1), value=-1.0)], [(5, 3), (4, 5)]),
]
