"""Cases of recurrent layers, which PyTorch itself decomposes, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..case import OpCase


class _Outputs(torch.nn.Module):
    """A recurrent layer, its outputs only or its states as well."""

    def __init__(self, kind: Callable[..., torch.nn.Module], *sizes: int, states: bool = False, **options: Any) -> None:
        super().__init__()
        self.layer, self.states = kind(*sizes, **options), states

    def forward(self, x: torch.Tensor) -> Any:
        outputs, states = self.layer(x)
        if not self.states:
            return outputs
        return (outputs, *(states if isinstance(states, tuple) else (states,)))


def _rows(name: str, kind: Callable[..., torch.nn.Module]) -> list[OpCase]:
    variants: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
        "plain": ({}, (3, 2, 4)),
        "batch_first": ({"batch_first": True}, (2, 3, 4)),
        "two layers, both ways": ({"num_layers": 2, "bidirectional": True}, (3, 2, 4)),
        "states, no bias": ({"states": True, "bias": False}, (3, 2, 4)),
        "without a batch": ({}, (3, 4)),
    }
    return [
        OpCase(
            f"{name}/{variant}",
            lambda o=options: _Outputs(kind, 4, 5, **o),
            [shape],
            coarse=3,
        )
        for variant, (options, shape) in variants.items()
    ]


class _Relu(torch.nn.RNN):
    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes, nonlinearity="relu")


CASES: list[OpCase] = [
    *_rows("lstm", torch.nn.LSTM),
    *_rows("gru", torch.nn.GRU),
    *_rows("rnn", torch.nn.RNN),
    OpCase("rnn/relu", lambda: _Outputs(_Relu, 4, 5), [(3, 2, 4)]),
]
