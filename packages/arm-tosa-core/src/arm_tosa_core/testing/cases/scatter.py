"""Cases of the rules in ``rules/scatter.py``."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..case import QUANTIZED, OpCase, bools, int32, integers, refused, row


def _distinct(rows: int, length: int, count: int) -> Callable[[torch.Generator], torch.Tensor]:
    """Indices of which none repeats in a row; without rows, a vector."""
    return lambda g: torch.stack([torch.randperm(length, generator=g)[:count] for _ in range(rows)])


def _vector(length: int, count: int) -> Callable[[torch.Generator], torch.Tensor]:
    return lambda g: torch.randperm(length, generator=g)[:count]


def _reduction(how: str, alone: bool) -> Callable[[], Callable[..., torch.Tensor]]:
    """``scatter_reduce``; ``alone``: without the old numbers."""
    return lambda: lambda x, i, y: x.scatter_reduce(1, i, y, how, include_self=not alone)


CASES: list[OpCase] = [
    row("scatter/source", lambda x, i, s: x.scatter(1, i, s), [(2, 5), _distinct(2, 5, 3), (2, 3)]),
    row("scatter/larger source", lambda x, i, s: x.scatter(1, i, s), [(3, 5), _distinct(2, 5, 3), (4, 6)]),
    row("scatter/first axis", lambda x, i, s: x.scatter(0, i.t(), s), [(5, 2), _distinct(2, 5, 3), (3, 2)]),
    row("scatter/number", lambda x, i: x.scatter(1, i, 1.5), [(2, 5), integers((2, 3), 0, 5)]),
    row(
        "scatter/int32",
        lambda x, i, s: x.scatter(1, i, s),
        [int32((2, 5), -9, 9), _distinct(2, 5, 3), int32((2, 3), -9, 9)],
    ),
    row("scatter_add", lambda x, i, s: x.scatter_add(1, i, s), [(2, 5), integers((2, 6), 0, 5), (2, 6)]),
    *(
        OpCase(
            f"scatter_reduce/{how}" + (" alone" if alone else ""),
            _reduction(how, alone),
            [(2, 5), integers((2, 3), 0, 5), (2, 3)],
            needs_float=needs_float,
        )
        for how, alone, needs_float in (
            ("sum", False, ()),
            ("amax", False, ()),
            ("amax", True, ()),
            ("amin", False, ()),
            ("amin", True, ()),
            ("mean", False, QUANTIZED),
            ("mean", True, QUANTIZED),
            ("prod", False, QUANTIZED),
        )
    ),
    row(
        "scatter_reduce/mean, constant indices",
        lambda x, y: x.scatter_reduce(1, torch.tensor([[0, 1, 1], [2, 2, 2]]), y, "mean", include_self=False),
        [(2, 5), (2, 3)],
    ),
    row(
        "scatter_reduce/int32",
        lambda x, i, y: x.scatter_reduce(1, i, y, "amax"),
        [int32((2, 5), -9, 9), integers((2, 3), 0, 5), int32((2, 3), -9, 9)],
    ),
    row("scatter/add", lambda x, i, y: x.scatter(1, i, y, reduce="add"), [(2, 5), integers((2, 3), 0, 5), (2, 3)]),
    row(
        "scatter/multiply by a number",
        lambda x, i: x.scatter(0, i, 3.0, reduce="multiply"),
        [(5, 4), integers((1, 4), 0, 5)],
        needs_float=QUANTIZED,
    ),
    row(
        "masked_scatter",
        lambda x, mask, y: x.masked_scatter(mask, y),
        [(2, 3), bools(2, 3), (2, 3)],
        refused("gives as many numbers as the data says; TOSA has fixed shapes"),
    ),
    row("index_put/rows", lambda x, i, v: x.index_put((i,), v), [(5, 3), _vector(5, 2), (2, 3)]),
    row("index_put/constant", lambda x, v: x.index_put((torch.tensor([1, -1]),), v), [(5, 3), (2, 3)]),
    row(
        "index_put/constant, channels",
        lambda x, v: torch.ops.aten.index_put(x, [None, torch.tensor([3, 0])], v),
        [(2, 5, 3, 4), (2, 2, 3, 4)],
    ),
    row("index_put/repeated", lambda x, v: x.index_put((torch.tensor([1, 3, 1]),), v), [(5, 3), (3, 3)]),
    row("index_put/pairs", lambda x, i, v: x.index_put((i, i), v), [(5, 4, 3), _vector(4, 2), (2, 3)]),
    row(
        "index_put/apart",
        lambda x, i, v: torch.ops.aten.index_put(x, [i, None, i], v),
        [(5, 2, 4), _vector(4, 2), (2, 2)],
    ),
    row(
        "index_put/later",
        lambda x, i, v: torch.ops.aten.index_put(x, [None, i], v),
        [(2, 5, 3), _vector(5, 2), (2, 2, 3)],
    ),
    row("index_put/broadcast", lambda x, i, v: x.index_put((i,), v), [(5, 3), _vector(5, 2), (3,)]),
    row(
        "index_put/accumulate int32",
        lambda x, v: x.index_put((torch.tensor([0, 2, 2]),), v, accumulate=True),
        [int32((4, 5), -9, 9), int32((3, 5), -9, 9)],
    ),
    row(
        "index_put/accumulate",
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        [(5, 3), integers((4,), 0, 5), (4, 3)],
    ),
    row("index_put/mask", lambda x, m: x.index_put((m,), torch.tensor(0.5)), [(3, 4), bools(3, 4)]),
    row(
        "index_put/mask, accumulate",
        lambda x, m: x.index_put((m,), torch.tensor(0.5), accumulate=True),
        [(3, 4), bools(3, 4)],
    ),
    row(
        "index_put/mask of a later axis",
        lambda x, m: torch.ops.aten.index_put(x, [None, m], torch.tensor(0.5)),
        [(2, 3, 4), bools(3)],
    ),
    row(
        "index_put/bool",
        lambda x, i: (x > 0).index_put((i,), torch.tensor([[True, False, True], [False, True, True]])),
        [(5, 3), _vector(5, 2)],
    ),
    row("index_copy", lambda x, i, v: x.index_copy(1, i, v), [(5, 3), _vector(3, 2), (5, 2)]),
    row("index_copy/in place", lambda x, i, v: (x + 1).index_copy_(0, i, v), [(5, 3), _vector(5, 2), (2, 3)]),
    row("index_add", lambda x, i, v: x.index_add(1, i, v), [(5, 3), integers((4,), 0, 3), (5, 4)]),
    row("index_fill/twice", lambda x, i, v: x.index_fill(1, i, v[0]), [(5, 3), integers((5,), 0, 3), (1,)]),
    row("index_fill", lambda x, i: x.index_fill(1, i, 2.0), [(5, 3), integers((4,), 0, 3)]),
    row("slice_scatter", lambda x, v: torch.slice_scatter(x, v, 1, 1, 3), [(5, 4), (5, 2)]),
    row("slice_scatter/steps", lambda x, v: torch.slice_scatter(x, v, 1, 0, 4, 2), [(5, 4), (5, 2)]),
    row("slice_scatter/to the end", lambda x, v: torch.slice_scatter(x, v, 0, -2), [(5, 4), (2, 4)]),
    row("select_scatter", lambda x, v: torch.select_scatter(x, v, 1, -2), [(5, 4), (5,)]),
    row(
        "masked_scatter/square",
        lambda x, m, v: x.masked_scatter(m, v),
        [(4, 4), bools(4, 4), (4, 4)],
        refused("gives as many numbers as the data says; TOSA has fixed shapes"),
    ),
    row("diagonal_scatter", lambda x, v: torch.diagonal_scatter(x, v, 1), [(4, 4), (3,)]),
]
