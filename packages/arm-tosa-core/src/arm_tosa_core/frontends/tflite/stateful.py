"""Operators with a state as their rows read them: the weights of all gates in one, and results for what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import torch

from ...support.errors import Rejected
from .graph import Graph, Operator, Quantization, Tensor

#: The places of operands that are states.
STATES = {
    "SVDF": (4,),
    "LSTM": (18, 19),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19),
    "RNN": (4,),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (4,),
    "BIDIRECTIONAL_SEQUENCE_RNN": (4, 8),
}
#: The step of what a gate reads, in 16 bits.
GATE = 2.0**-12
#: The activation of this number in the format.
TANH = 4
_GATES = ("weights of the input", "weights of the state", "biases")


#: What to do about layers of which a part is quantized.
_WHOLE = "make the file again, with the layer quantized as a whole"
#: Elements of a state at most; no model has as many.
_LARGEST = 1 << 26


def state_sizes(state: Tensor) -> list[int]:
    """The sizes of a state; a batch that is open is 1."""
    sizes = [1 if place == 0 and size < 0 else size for place, size in enumerate(state.shape)]
    if min(sizes, default=1) < 0 or prod(sizes) > _LARGEST:
        raise Rejected(f"the state {state.name!r} has the sizes {list(state.shape)}", "make the file with fixed sizes")
    return sizes


def with_states(graph: Graph, one: Operator) -> tuple[Graph, Operator, dict[str, str]]:
    """The operator with its states behind the call as its last results, in a graph that has them.

    Returns:
        graph, operator, and by name of a state the result that it becomes.

    Raises:
        Rejected: a state is no variable, or the operator has parts that are not read.
    """
    name = graph.tensors[one.outputs[0]].name
    kept = [graph.tensors[one.inputs[place]] for place in STATES[one.kind] if place < len(one.inputs)]
    if len(kept) != len(STATES[one.kind]) or not all(state.variable for state in kept):
        raise Rejected(f"{one.kind} {name!r}: its state is no variable")
    if one.kind.endswith("LSTM"):
        graph, one = _with_gates(graph, one, name)
    start = len(graph.tensors)
    after = [replace(state, name=f"{state.name} (next)", variable=False) for state in kept]
    graph = replace(graph, tensors=[*graph.tensors, *after])
    outputs = (*one.outputs, *range(start, start + len(after)))
    attributes = dict(one.attributes)
    ends = [graph.tensors[place].quantization for place in (one.inputs[0], one.outputs[0])]
    quantized = [q is not None for q in (*ends, *(state.quantization for state in kept))]
    if any(quantized) and one.kind.endswith("RNN"):
        raise Rejected(f"{one.kind} {name!r} has integers, which are not read", "leave the layer in float")
    if any(quantized) and not all(quantized):
        raise Rejected(
            f"{one.kind} {name!r}: of its input, result and state some have a scale, and others have none", _WHOLE
        )
    if (q := kept[0].quantization) is not None:
        if one.kind != "SVDF" and q != graph.tensors[one.outputs[0]].quantization:
            raise Rejected(
                f"{one.kind} {name!r}: its state and its result have different scales or zero points", _WHOLE
            )
        if one.kind == "SVDF" and kept[0].dtype != torch.int16:
            raise Rejected(
                f"{one.kind} {name!r}: its state has {kept[0].dtype}, which LiteRT does not read",
                "use int16",
            )
        attributes["states"] = [_steps(state) for state in kept]
        if one.kind != "SVDF":
            attributes["step"] = _step(graph.tensors[one.inputs[2]], q, f"{one.kind} {name!r}")
    writes = {state.name: new.name for state, new in zip(kept, after, strict=True)}
    return graph, replace(one, outputs=outputs, attributes=attributes), writes


def _steps(state: Tensor) -> tuple[float, int, torch.dtype]:
    assert state.quantization is not None
    return state.quantization.scales[0], state.quantization.zeros[0], state.dtype


def _step(weights: Tensor, of_hidden: Quantization, subject: str) -> float:
    """The finest step, from that of gates on, at which no product with the hidden state is too large for 16 bits."""
    q = weights.quantization
    if weights.constant is None or q is None:
        raise Rejected(f"{subject}: its weights have no scale", _WHOLE)
    rows = (weights.constant.double() - torch.tensor(q.zeros).unsqueeze(1)).abs().sum(1) * torch.tensor(q.scales)
    largest = max(abs(end - of_hidden.zeros[0]) for end in (of_hidden.low, of_hidden.high)) * of_hidden.scales[0]
    step = GATE
    while rows.max().item() * largest > step * 32767:
        step *= 2
    return step


def _with_gates(graph: Graph, one: Operator, name: str) -> tuple[Graph, Operator]:
    """The operands that the row reads: the input, the weights and biases of all gates, hidden state and cell."""
    inputs = [*one.inputs, *[-1] * (24 - len(one.inputs))]
    for places, what in (
        (range(9, 12), "peepholes"),
        (range(16, 18), "a projection"),
        (range(20, 24), "layer normalization"),
    ):
        if any(inputs[place] >= 0 for place in places):
            raise Rejected(f"{one.kind} {name!r} has {what}, which are not read", "make the layer without them")
    gates = [[inputs[first + gate] for gate in range(4)] for first in (1, 5, 12)]
    if min(min(places) for places in gates) < 0 or one.attributes["activation"] != TANH:
        raise Rejected(
            f"{one.kind} {name!r} has no input gate of its own, or another activation than TANH",
            "make the layer as Keras has it",
        )
    start = len(graph.tensors)
    joined = [
        _joined([graph.tensors[place] for place in places], f"{name} ({what})", f"{one.kind} {name!r}")
        for places, what in zip(gates, _GATES, strict=True)
    ]
    graph = replace(graph, tensors=[*graph.tensors, *joined])
    return graph, replace(one, inputs=(inputs[0], start, start + 1, start + 2, inputs[18], inputs[19]))


def _joined(parts: Sequence[Tensor], name: str, subject: str) -> Tensor:
    """Constants one behind the other, each row with its scale."""
    constants = [part.constant for part in parts if part.constant is not None]
    if len(constants) != len(parts) or len({c.dtype for c in constants}) != 1:
        raise Rejected(
            f"{subject}: its weights are no constants, or of several types", "make them constants of one type"
        )
    whole = torch.cat(constants)
    quantization = None
    if all(part.quantization for part in parts):
        scales: list[float] = []
        zeros: list[int] = []
        for part, data in zip(parts, constants, strict=True):
            assert part.quantization is not None
            times = data.shape[0] // len(part.quantization.scales)
            scales += list(part.quantization.scales) * times
            zeros += list(part.quantization.zeros) * times
        first = parts[0].quantization
        assert first is not None
        quantization = Quantization(tuple(scales), tuple(zeros), 0, first.low, first.high)
    return Tensor(name, tuple(whole.shape), constants[0].dtype, quantization, whole, False)
