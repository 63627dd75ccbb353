"""Scaled dot-product attention."""

from __future__ import annotations

import math

import torch

from ..lowering.op_builder import CompositeBuilder, V
from ..lowering.rule import Q, op

#: The least float16: a score with this or a smaller number added is masked.
_MASKS = -65504.0


@op("aten.scaled_dot_product_attention.default", quant=Q.PIECEWISE)
def attention(
    b: CompositeBuilder[V],
    query: V,
    key: V,
    value: V,
    mask: V | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> V:
    b.require(dropout == 0, "drops values at random", "export the model in eval mode: model.eval()")
    rank = len(query.shape)
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        key, value = (_repeated(b, v, query.shape[-3] // v.shape[-3]) for v in (key, value))
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    scores = b.aten.mul(b.aten.matmul(query, b.aten.permute(key, swapped)), scale)
    softmax = b.aten.softmax if mask is None else b.aten._safe_softmax  # a mask may cover a whole row
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        if isinstance(rows, int) and isinstance(columns, int):
            mask = b.const(torch.ones(rows, columns, dtype=torch.bool).tril())
        else:  # a constant has one size
            mask = b.aten.tril(b.aten.ones([rows, columns], dtype=torch.bool))
    if mask is not None and mask.dtype == torch.bool:
        scores = b.aten.where(mask, scores, -math.inf)
    elif mask is not None:
        chosen = b.as_where(mask)
        if chosen is not None and chosen[2] > _MASKS:
            chosen = None
        mask = mask if chosen is None else chosen[1]
        scores = scores if b.is_neutral(mask, 0.0) else b.aten.add(scores, mask)
        if chosen is not None:  # a number that saturates would be added to scores: masked positions might still count
            scores = b.aten.where(chosen[0], scores, chosen[2])
    return b.aten.matmul(softmax(scores, -1), value)


def _repeated(b: CompositeBuilder[V], x: V, times: int) -> V:
    """Each head ``times`` times, neighbours first."""
    *batch, heads, rows, columns = x.shape
    wide = b.aten.expand(b.aten.unsqueeze(x, -3), [*batch, heads, times, rows, columns])
    return b.aten.reshape(wide, [*batch, heads * times, rows, columns])
