"""Attention, as opset 23 has it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from .table import ROWS, is_float, require


def _apart(x: Tensor, heads: int) -> Tensor:
    """Heads that stand beside each other in the last axis, as an axis of their own."""
    return x.reshape([*x.shape[:2], heads, -1]).transpose(1, 2)


@ROWS.row("Attention")
def attention(
    node: FileNode,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    past_k: Tensor | None = None,
    past_v: Tensor | None = None,
) -> list[Tensor]:
    require(not node.get("softcap", 0.0), "it has a softcap")
    heads, kv_heads = node.get("q_num_heads"), node.get("kv_num_heads")
    flat = q.dim() == 3
    if flat:
        require(heads and kv_heads, "its operands have 3 axes, and it has no number of heads")
        q, k, v = (_apart(x, n) for x, n in ((q, heads), (k, kv_heads), (v, kv_heads)))
    if past_k is not None and past_v is not None:
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
    whole_k, whole_v = k, v
    if k.shape[1] != q.shape[1]:
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    causal = bool(node.get("is_causal", 0))
    require(not (causal and (mask is not None or past_k is not None)), "it is causal and has a mask or a past")
    if mask is not None and not is_float(mask) and mask.dtype is not torch.bool:
        mask = mask.to(q.dtype)
    made = functional.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=node.get("scale"))
    made = made.transpose(1, 2).flatten(2) if flat else made
    return [made, whole_k, whole_v]


@ROWS.row("RotaryEmbedding")
def rotary(node: FileNode, x: Tensor, cosines: Tensor, sines: Tensor, places: Tensor | None = None) -> Tensor:
    require(not node.get("rotary_embedding_dim", 0), "it turns a part of each head")
    flat = x.dim() == 3
    if flat:
        require(node.get("num_heads", 0), "its input has 3 axes, and it has no number of heads")
        x = _apart(x, node["num_heads"])
    if places is not None:
        cosines, sines = cosines[places], sines[places]
    cosines, sines = cosines.unsqueeze(1), sines.unsqueeze(1)
    pairs = bool(node.get("interleaved", 0))
    a, b = (x[..., 0::2], x[..., 1::2]) if pairs else x.chunk(2, -1)
    turned = a * cosines - b * sines, b * cosines + a * sines
    made = torch.stack(turned, -1).flatten(-2) if pairs else torch.cat(turned, -1)
    return made.transpose(1, 2).flatten(2) if flat else made
