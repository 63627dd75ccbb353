"""Cases of the rules in ``rules/attention.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ..case import OpCase, bools, row, uniform

_sdpa = nn.functional.scaled_dot_product_attention
_Q, _K = (1, 2, 5, 8), (1, 2, 7, 8)


def _attention(**options: Any) -> Callable[[], Callable[..., torch.Tensor]]:
    return lambda: lambda q, k, v, *mask: _sdpa(q, k, v, *mask, **options)


def _masked_by_number() -> Callable[..., torch.Tensor]:
    visible = torch.arange(7) <= torch.arange(5).reshape(5, 1)
    return lambda q, k, v, bias: _sdpa(q, k, v, torch.where(visible, bias, torch.finfo(torch.float32).min))


class _SelfAttention(nn.Module):
    """``nn.MultiheadAttention`` on one sequence."""

    def __init__(self, weights: bool = False, **options: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, **options)
        self.weights = weights

    def forward(self, x: torch.Tensor) -> Any:
        result = self.attention(x, x, x, need_weights=self.weights)
        return result if self.weights else result[0]


_ROWS = [
    OpCase("attention/4D", _attention(), [_Q, _K, _K]),
    OpCase("attention/3D", _attention(), [_Q[1:], _K[1:], _K[1:]]),
    OpCase("attention/2D", _attention(), [_Q[2:], _K[2:], _K[2:]]),
    OpCase("attention/5D", _attention(), [(2, *_Q), (2, *_K), (2, *_K)]),
    OpCase("attention/scale", _attention(scale=0.7), [_Q, _K, _K]),
    OpCase("attention/wider values", _attention(), [_Q, _K, (1, 2, 7, 12)]),
    OpCase("attention/causal", _attention(is_causal=True), [_Q, _Q, _Q]),
    OpCase("attention/causal, not square", _attention(is_causal=True), [_Q, _K, _K]),
    OpCase("attention/float mask", _attention(), [_Q, _K, _K, uniform((5, 7), -2, 0)]),
    OpCase("attention/float mask per head", _attention(), [_Q, _K, _K, uniform((1, 2, 5, 7), -2, 0)]),
    OpCase("attention/bool mask", _attention(), [_Q, _K, _K, bools(1, 1, 5, 7)]),
    OpCase("attention/number for a mask", _masked_by_number, [_Q, _K, _K, uniform((1, 2, 5, 7), -2, 0)]),
    row(
        "attention/queries without keys",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torch.arange(5).reshape(5, 1).expand(5, 7) > 0),
        [_Q, _K, _K],
    ),
    OpCase("attention/grouped queries", _attention(enable_gqa=True), [(1, 6, 5, 8), _K, _K]),
    OpCase("attention/broadcast batch", _attention(), [(3, 2, 5, 8), _K, _K]),
    OpCase("attention/multi-head", lambda: _SelfAttention(batch_first=True), [(2, 5, 8)]),
    OpCase("attention/multi-head weights", lambda: _SelfAttention(True, batch_first=True), [(2, 5, 8)]),
    OpCase("attention/multi-head sequence first", _SelfAttention, [(5, 2, 8)]),
    OpCase("attention/multi-head no bias", lambda: _SelfAttention(bias=False, batch_first=True), [(2, 5, 8)]),
    OpCase("attention/multi-head unbatched", _SelfAttention, [(5, 8)]),
]

#: A quantum of a score is three of its exponential.
CASES: list[OpCase] = [replace(row, coarse=5) for row in _ROWS]
