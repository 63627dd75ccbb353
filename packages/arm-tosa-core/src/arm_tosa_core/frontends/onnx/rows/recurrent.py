"""LSTM, GRU and RNN, as PyTorch's own, whose gates stand in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ....support.errors import Rejected
from ...file_graph import MOST_STEPS, FileNode
from ...file_model import Expansion
from .table import ROWS, known, require

#: For each of PyTorch's gates, its place among those of ONNX.
_GATES: dict[str, tuple[int, ...]] = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_WEIGHTS = ("input", "hidden", "input_bias", "hidden_bias", "peepholes")
_ACTIVATIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}


@ROWS.expansion("LSTM", "GRU", "RNN")
def recurrent(node: FileNode, x: Tensor, *given: Tensor | None) -> Expansion:
    """The layer with its weights in the order of PyTorch."""
    operands: list[Tensor | None] = [*given, *([None] * (7 - len(given)))]
    w, r, bias, lengths, *states = operands
    if not known(w) or not known(r) or not (bias is None or known(bias)):
        raise Rejected("its weights are computed while the model runs", "export the model with constant weights")
    assert w is not None and r is not None
    gates, directions, hidden = _GATES[node.kind], w.shape[0], r.shape[-1]
    _require_plain(node, directions, hidden)
    time = 1 if node.get("layout", 0) else 0
    if lengths is not None:
        whole = known(lengths) and bool((lengths == x.shape[time]).all())
        require(whole, "its sequence_lens are not the length of its input", "leave them out, and give whole sequences")
    peepholes = states[2] if len(states) > 2 else None
    require(peepholes is None or known(peepholes), "its peepholes are computed while the model runs")
    constants = {}
    for d in range(directions):
        rows = [weight[d].reshape(len(gates), hidden, -1)[list(gates)].flatten(0, 1) for weight in (w, r)]
        both = torch.zeros(2 * len(gates) * hidden) if bias is None else bias[d]
        biases = [half.reshape(len(gates), hidden)[list(gates)].flatten() for half in both.to(w.dtype).chunk(2)]
        rows += biases if peepholes is None else [*biases, peepholes[d]]
        for kind, value in zip(_WEIGHTS, rows, strict=False):
            constants[f"{node.outputs[0] or node.name}/{kind}{d}"] = value.contiguous()
    attributes: dict[str, Any] = {
        "direction": node.get("direction", "forward"),
        "batch_first": bool(time),
        "hidden": hidden,
        "activation": (node.get("activations") or ["Tanh"])[0] if node.kind == "RNN" else "",
        "peepholes": peepholes is not None,
        "reset_before": node.kind == "GRU" and not node["linear_before_reset"],
    }
    kept = (node.inputs[i] if len(node.inputs) > i else "" for i in (0, 5, 6))
    inputs = (*kept, *constants)
    return [FileNode(node.name, f"{node.kind}/gates", inputs, node.outputs, node.place, attributes)], constants


def _require_plain(node: FileNode, directions: int, hidden: int) -> None:
    require(node.get("hidden_size", hidden) == hidden, "its hidden_size is not that of its weights")
    require((node.get("direction", "forward") == "bidirectional") == (directions == 2), "its direction does not fit")
    activations = node.get("activations") or []
    each = _ACTIVATIONS.get(node.kind, ["Tanh"])
    plain = activations in ([], each * directions, each * 2) or (node.kind == "RNN" and set(activations) == {"Relu"})
    require(plain, f"its activations are {activations}", f"make the layer with those of PyTorch, {each}")
    require(not node.get("input_forget", 0), "its input and forget gates are one", "make the layer with both")
    require(not node.get("clip", 0.0), "it has a clip", "make the layer without it")


@ROWS.row("LSTM/gates", "GRU/gates", "RNN/gates")
def gates(node: FileNode, x: Tensor, hidden: Tensor | None, cell: Tensor | None, *weights: Tensor) -> list[Tensor]:
    kind, direction, batch_first = node.kind.partition("/")[0], node["direction"], node["batch_first"]
    if batch_first:
        x = x.transpose(0, 1)
        hidden, cell = (value if value is None else value.transpose(0, 1) for value in (hidden, cell))
    both = direction == "bidirectional"
    zeros = torch.zeros([1 + both, x.shape[1], node["hidden"]], dtype=x.dtype, device=x.device)
    hidden, cell = (zeros if value is None else value for value in (hidden, cell))
    x = x.flip(0) if direction == "reverse" else x
    if node["peepholes"]:
        results: Sequence[Tensor] = _with_peepholes(x, hidden, cell, weights)
    elif kind == "LSTM":
        results = torch.lstm(x, [hidden, cell], weights, True, 1, 0.0, False, both, False)
    elif kind == "RNN":
        run = torch.rnn_relu if node["activation"] == "Relu" else torch.rnn_tanh
        results = run(x, hidden, weights, True, 1, 0.0, False, both, False)
    elif node["reset_before"]:
        results = _reset_before(x, hidden, weights, both)
    else:
        results = torch.gru(x, hidden, weights, True, 1, 0.0, False, both, False)
    y, *states = results
    y = y.flip(0) if direction == "reverse" else y
    y = y.reshape([*y.shape[:2], 1 + both, node["hidden"]])
    if batch_first:
        return [y.transpose(0, 1), *(state.transpose(0, 1) for state in states)]
    return [y.transpose(1, 2), *states]


def _reset_before(x: Tensor, hidden: Tensor, weights: Sequence[Tensor], both: bool) -> list[Tensor]:
    """A GRU that resets the state before its product with the weights, which PyTorch's does after it."""
    whole, lasts = [], []
    for d in range(1 + both):
        w, r, w_bias, r_bias = weights[4 * d : 4 * d + 4]
        size, state = hidden.shape[-1], hidden[d]
        from_x = torch.nn.functional.linear(x, w, w_bias)
        steps: list[Tensor] = []
        for t in reversed(range(x.shape[0])) if d else range(x.shape[0]):
            gates = torch.nn.functional.linear(state, r[: 2 * size], r_bias[: 2 * size])
            reset, update = torch.sigmoid(from_x[t, :, : 2 * size] + gates).chunk(2, -1)
            new = torch.nn.functional.linear(reset * state, r[2 * size :], r_bias[2 * size :])
            new = torch.tanh(from_x[t, :, 2 * size :] + new)
            state = new + update * (state - new)
            steps.append(state)
        whole.append(torch.stack(steps[::-1] if d else steps))
        lasts.append(state)
    return [torch.cat(whole, -1), torch.stack(lasts)]


def _with_peepholes(x: Tensor, hidden: Tensor, cell: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    """An LSTM whose gates read the cell: input and forget that of the step before, output the new one."""
    require(len(x) <= MOST_STEPS, f"it has peepholes and {len(x)} steps", f"give at most {MOST_STEPS}")
    whole, states, cells = [], [], []
    for d in range(len(hidden)):
        w, r, w_bias, r_bias, peepholes = weights[5 * d : 5 * d + 5]
        of_input, of_output, of_forget = peepholes.chunk(3)
        from_x, h, c = torch.nn.functional.linear(x, w, w_bias), hidden[d], cell[d]
        steps: list[Tensor] = []
        for t in reversed(range(len(x))) if d else range(len(x)):
            i, f, g, o = (from_x[t] + torch.nn.functional.linear(h, r, r_bias)).chunk(4, -1)
            c = torch.sigmoid(f + of_forget * c) * c + torch.sigmoid(i + of_input * c) * torch.tanh(g)
            h = torch.sigmoid(o + of_output * c) * torch.tanh(c)
            steps.append(h)
        whole.append(torch.stack(steps[::-1] if d else steps))
        states.append(h)
        cells.append(c)
    return [torch.cat(whole, -1), torch.stack(states), torch.stack(cells)]
