"""Gathers: embedding, index_select, gather, index."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..build import Builder
from ..registry import Q, op
from ..values import Value


@op("aten.embedding.default", quant=Q.SHARED)
def embedding(b: Builder, table: Value, indices: Value, *_: object) -> Value:
    rows = b.GATHER(b.RESHAPE(table, [1, *table.shape]), b.RESHAPE(indices, [1, indices.size]))
    return b.RESHAPE(rows, [*indices.shape, table.shape[1]])


@op("aten.index_select.default", quant=Q.SHARED)
def index_select(b: Builder, x: Value, dim: int, indices: Value) -> Value:
    dim %= x.rank
    front = [dim, *(i for i in range(x.rank) if i != dim)]
    moved = b.TRANSPOSE(x, front)
    rest = moved.shape[1:]
    rows = b.GATHER(
        b.RESHAPE(moved, [1, moved.shape[0], -(-moved.size // moved.shape[0])]), b.RESHAPE(indices, [1, indices.size])
    )
    back = [front.index(i) for i in range(x.rank)]
    return b.TRANSPOSE(b.RESHAPE(rows, [indices.size, *rest]), back)


@op("aten.index.Tensor", quant=Q.SHARED)
def index(b: Builder, x: Value, indices: Sequence[Value | None]) -> Value:
    given = [(i, v) for i, v in enumerate(indices) if v is not None]
    b.require(len(given) == 1, f"indexes with {len(given)} tensors at once")
    dim, chosen = given[0]
    b.require(chosen.dtype != torch.bool, "indexes with a mask, so that the shape depends on data")
    picked = index_select(b, x, dim, _wrapped(b, chosen, x.shape[dim]))
    return b.RESHAPE(picked, [*x.shape[:dim], *chosen.shape, *x.shape[dim + 1 :]])


def _wrapped(b: Builder, indices: Value, length: int) -> Value:
    """Negative indices count from the end; constants are resolved, others taken as they are if they can't be negative."""
    if indices.const is not None:
        return b.const(indices.const.reshape(-1) % length)
    return indices


@op("aten.gather.default", quant=Q.SHARED)
def gather(b: Builder, x: Value, dim: int, indices: Value, *, sparse_grad: bool = False) -> Value:
    dim %= x.rank
    last = [*(i for i in range(x.rank) if i != dim), dim]
    for i in range(x.rank):
        if i != dim:
            x = b.slice(x, i, 0, indices.shape[i])
    moved, chosen = b.TRANSPOSE(x, last), b.TRANSPOSE(indices, last)
    lanes = indices.size // indices.shape[dim]
    rows = b.GATHER(b.RESHAPE(moved, [lanes, x.shape[dim], 1]), b.RESHAPE(chosen, [lanes, indices.shape[dim]]))
    back = [last.index(i) for i in range(x.rank)]
    return b.TRANSPOSE(b.RESHAPE(rows, list(chosen.shape)), back)
