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


def _rows(name: str, kind: Callable[..., torch.nn.Module], coarse: int = 3) -> list[OpCase]:
    """Rows of a kind of layer; each step reads the error of the one before.

    Args:
        coarse: one quantum of the sum in front of tanh, in quanta of tanh, where that is steepest: the largest
            such sum of these rows is 8 times as wide as tanh. LSTM and GRU multiply it by a gate.
    """
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
            coarse=coarse,
        )
        for variant, (options, shape) in variants.items()
    ]


class _Relu(torch.nn.RNN):
    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes, nonlinearity="relu")


class _Cell(torch.nn.Module):
    """One step, from an input and a state or two."""

    def __init__(self, kind: Callable[..., torch.nn.Module], **options: Any) -> None:
        super().__init__()
        self.cell = kind(4, 5, **options)

    def forward(self, x: torch.Tensor, *states: torch.Tensor) -> Any:
        return self.cell(x, states if len(states) > 1 else states[0])


def _cell_rows(
    name: str, kind: Callable[..., torch.nn.Module], states: int = 1, coarse: int = 3, **options: Any
) -> list[OpCase]:
    """Rows of one step; ``coarse`` as for layers, the sum being 6 times as wide as tanh here."""
    return [
        OpCase(f"{name}/plain", lambda: _Cell(kind, **options), [(2, 4), *[(2, 5)] * states], coarse=coarse),
        OpCase(
            f"{name}/no bias, no batch",
            lambda: _Cell(kind, bias=False, **options),
            [(4,), *[(5,)] * states],
            coarse=coarse,
        ),
    ]


CASES: list[OpCase] = [
    *_rows("lstm", torch.nn.LSTM),
    *_rows("gru", torch.nn.GRU),
    *_rows("rnn", torch.nn.RNN, coarse=8),
    OpCase("rnn/relu", lambda: _Outputs(_Relu, 4, 5), [(3, 2, 4)]),
    *_cell_rows("lstm_cell", torch.nn.LSTMCell, states=2),
    *_cell_rows("gru_cell", torch.nn.GRUCell),
    *_cell_rows("rnn_cell", torch.nn.RNNCell, coarse=6),
    *_cell_rows("rnn_cell_relu", torch.nn.RNNCell, coarse=1, nonlinearity="relu"),
]
