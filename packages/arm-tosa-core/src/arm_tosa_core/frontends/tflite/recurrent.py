"""Operators with a state: their last results are what it is behind the call. ``stateful.py`` makes their operands."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from ...support.errors import require
from ..file_graph import MOST_STEPS, FileNode
from ..quantized_softmax import rounded
from .rows import ROWS, fused
from .stateful import GATE, TANH

#: The step of what a gate makes, in 16 bits.
_PART = 2.0**-15


@ROWS.row("SVDF")
def svdf(
    node: FileNode, x: Tensor, feature: Tensor, time: Tensor, bias: Tensor | None, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """A product of the input, and a sum over those of the last calls."""
    integers = node.get("states")
    new = F.linear(x, feature)
    new = rounded(new, *integers[0]) if integers else new
    before = memory.reshape(x.shape[0], *time.shape)
    now = torch.cat([before[:, :, 1:], new.unsqueeze(-1)], -1)
    made = (now * time).sum(-1)
    made = made if node["rank"] == 1 else made.reshape(x.shape[0], -1, node["rank"]).sum(-1)
    made = made if bias is None else made + bias
    return (made if integers else fused(node, made)), now.reshape(memory.shape)


@ROWS.row("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(
    node: FileNode, x: Tensor, from_x: Tensor, from_state: Tensor, bias: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gates stand beside each other, as PyTorch's: input, forget, cell, output."""
    alone, batch_first = node.kind == "LSTM", not node.get("time_major", True)
    steps = x.unsqueeze(0) if alone else x.transpose(0, 1) if batch_first else x
    require(len(steps) <= MOST_STEPS, f"it has {len(steps)} steps a call", f"give at most {MOST_STEPS}")
    if node.get("states"):
        whole, hidden, cell = _of_integers(node, steps, from_x, from_state, bias, hidden, cell)
    elif node["cell_clip"] > 0:
        whole, hidden, cell = _of_reals(node["cell_clip"], steps, from_x, from_state, bias, hidden, cell)
    else:
        states, weights = [hidden.unsqueeze(0), cell.unsqueeze(0)], [from_x, from_state, bias, torch.zeros_like(bias)]
        whole, last, inner = torch.lstm(steps, states, weights, True, 1, 0.0, False, False, False)
        hidden, cell = last.squeeze(0), inner.squeeze(0)
    return (whole[0] if alone else whole.transpose(0, 1) if batch_first else whole), hidden, cell


def _of_reals(
    clip: float, x: Tensor, from_x: Tensor, from_state: Tensor, bias: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    made = []
    for part in F.linear(x, from_x, bias).unbind(0):
        i, f, g, o = (part + F.linear(hidden, from_state)).chunk(4, -1)
        cell = torch.clamp(torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g), -clip, clip)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        made.append(hidden)
    return torch.stack(made), hidden, cell


def _of_integers(
    node: FileNode, x: Tensor, from_x: Tensor, from_state: Tensor, bias: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Rounds where LiteRT does, and once more: what a gate reads of the state."""
    of_hidden, of_cell = node["states"]
    clip = node["cell_clip"]

    def part(x: Tensor) -> Tensor:
        return rounded(x, _PART, 0, torch.int16)

    made = []
    for one in rounded(F.linear(x, from_x, bias), GATE, 0, torch.int16).unbind(0):
        again = rounded(F.linear(hidden, from_state), node["step"], 0, torch.int16)
        i, f, g, o = rounded(again + one, GATE, 0, torch.int16).chunk(4, -1)
        cell = part(torch.sigmoid(f)) * cell + part(torch.sigmoid(i)) * part(torch.tanh(g))
        cell = rounded(torch.clamp(cell, -clip, clip) if clip > 0 else cell, *of_cell)
        hidden = rounded(part(torch.sigmoid(o)) * part(torch.tanh(cell)), *of_hidden)
        made.append(hidden)
    return torch.stack(made), hidden, cell


@ROWS.row("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def rnn(
    node: FileNode, x: Tensor, from_x: Tensor, from_state: Tensor, bias: Tensor, hidden: Tensor
) -> tuple[Tensor, ...]:
    made, hidden = _steps_of_rnn(node, _time_first(node, x), (from_x, from_state, bias), hidden)
    return (made[0] if node.kind == "RNN" else _time_back(node, made)), hidden


@ROWS.row("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_rnn(node: FileNode, x: Tensor, *operands: Tensor | None) -> tuple[Tensor, ...]:
    """Of the layer: weights, biases and state; of the one that begins at the end the same; and a second input."""
    require(not any(one is not None for one in operands[8:]), "it has a second input", "make the layer without it")
    given = [tensor for tensor in operands[:8] if tensor is not None]
    require(len(given) == 8, "it has no bias", "make the layer with biases")
    steps, layers = _time_first(node, x), (given[:4], given[4:])
    (w, r, b, forward), (back_w, back_r, back_b, backward) = layers
    made, forward = _steps_of_rnn(node, steps, (w, r, b), forward)
    turned, backward = _steps_of_rnn(node, steps.flip(0), (back_w, back_r, back_b), backward)
    results = [_time_back(node, made), _time_back(node, turned.flip(0))]
    return (*([torch.cat(results, -1)] if node["merge"] else results), forward, backward)


def _steps_of_rnn(
    node: FileNode, x: Tensor, weights: tuple[Tensor, Tensor, Tensor], hidden: Tensor
) -> tuple[Tensor, Tensor]:
    require(len(x) <= MOST_STEPS, f"it has {len(x)} steps a call", f"give at most {MOST_STEPS}")
    from_x, from_state, bias = weights
    made = []
    for part in F.linear(x, from_x, bias).unbind(0):
        hidden = part + F.linear(hidden, from_state)
        hidden = torch.tanh(hidden) if node["activation"] == TANH else fused(node, hidden)
        made.append(hidden)
    return torch.stack(made), hidden


def _time_first(node: FileNode, x: Tensor) -> Tensor:
    if node.kind == "RNN":
        return x.unsqueeze(0)
    return x if node["time_major"] else x.transpose(0, 1)


def _time_back(node: FileNode, x: Tensor) -> Tensor:
    return x if node["time_major"] else x.transpose(0, 1)
