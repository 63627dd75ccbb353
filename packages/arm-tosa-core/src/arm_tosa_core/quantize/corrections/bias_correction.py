"""Bias correction: the mean that rounding adds to a layer's results is taken off its bias (Nagel et al., 2019, 4.2)."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.exported_program import attribute, is_dequantize
from ..probe.judge import Evidence, evidence
from .layer_inputs import LayerInputs


def correct_biases(converted: GraphModule, inputs: LayerInputs) -> dict[str, Evidence]:
    """Changes the biases of a converted model so that rounded weights leave the mean of each channel as it is in float.

    The mean error of a channel is ``(W - rounded W) E[x]``, with float activations ``x``: what rounding of activations
    adds differs from sample to sample, and is not for a bias to mend. Costs nothing at run time.

    Args:
        converted: what ``convert_pt2e`` made of the prepared model.
        inputs: of its layers.

    Returns:
        Evidence by the names of the layers: squared mean errors of their channels, of two halves of the calls, and what
        the other half's correction leaves. No layer is left out by it: docs/notes/2026-11-28-corrections.md.
    """
    nodes = {node.name: node for node in converted.graph.nodes}
    changed: dict[str, Evidence] = {}
    for layer in inputs.layers:
        rounded = constant(nodes[layer.name].args[1])
        halves = [half for half in inputs.moments[layer.name] if half.calls]
        if rounded is None or not halves:
            continue
        errors = torch.stack([half.mean_errors(layer.weight - rounded) for half in halves])
        said = evidence((errors**2).sum(1), ((errors - errors.flip(0)) ** 2).sum(1))
        shares = torch.tensor([half.calls for half in halves], dtype=torch.float64)
        error = ((shares / shares.sum()) @ errors).float()
        for node in layer.nodes:
            add_to_bias(converted, nodes[node.name], error)
            changed[node.name] = said
    converted.recompile()
    return changed


def _is_known(node: Any) -> bool:
    """Whether ``constant`` gives a value."""
    if not isinstance(node, Node) or node.op == "get_attr":
        return isinstance(node, Node)
    return is_dequantize(node) and all(_is_known(a) for a in node.args if isinstance(a, Node))


def constant(node: Any) -> torch.Tensor | None:
    """A constant, or what a dequantize node of one gives."""
    if not _is_known(node):
        return None
    if node.op == "get_attr":
        data: torch.Tensor = attribute(node).detach()
        return data
    value: torch.Tensor = node.target(*(constant(a) if isinstance(a, Node) else a for a in node.args))
    return value


def add_to_bias(module: GraphModule, node: Node, error: torch.Tensor) -> None:
    """Gives a layer another bias, rounded as it will be; [channels] is added. A bias that is not constant stays."""
    old: Any = node.args[2] if len(node.args) > 2 else None
    before = constant(old)
    if isinstance(old, Node) and before is None:
        return
    data = error if before is None else before + error
    if (steps := _steps(node, len(data))) is not None:
        data = ((data / steps).round() * steps).float()
    name = f"_corrected_bias_{node.name}"
    module.register_buffer(name, data)
    with module.graph.inserting_before(node):
        new = module.graph.get_attr(name)
    new.meta["val"] = old.meta["val"] if isinstance(old, Node) and "val" in old.meta else data.to("meta")
    node.args = (*node.args[:2], new, *node.args[3:])


def _steps(node: Node, channels: int) -> torch.Tensor | None:
    """Of a quantized layer's accumulator, [channels], float64: the compiled layer rounds its bias to them."""
    operands = [n for n in node.args[:2] if isinstance(n, Node) and is_dequantize(n)]
    if len(operands) < 2:
        return None
    scales: list[Any] = [n.args[1] for n in operands]
    of_input, of_weight = (constant(s) if isinstance(s, Node) else torch.tensor(s) for s in scales)
    if of_input is None or of_weight is None:
        return None  # known only at run time
    steps = (of_input.double() * of_weight.double()).reshape(-1)
    return steps.repeat(channels // len(steps))
