"""Bias correction: the mean that rounding adds to a layer's results is taken off its bias (Nagel et al., 2019, 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...compat.torch import tree_flatten, tree_unflatten
from ...lowering.exported_program import attribute, is_dequantize, is_quantize
from ...lowering.rule_set import RuleSet
from ..annotate.node_roles import is_layer
from ..probe.calls import Sample
from ..probe.judge import estimate
from ..probe.runner import Runner, run
from .layer_inputs import Layer, LayerInputs


def correct_biases(converted: GraphModule, inputs: LayerInputs) -> dict[str, None]:
    """Changes the biases of a converted model so that rounded weights leave the mean of each channel as it is in float.

    The mean error of a channel is ``(W - rounded W) E[x]``, with float activations ``x``: what rounding of activations
    adds differs from sample to sample, and is not for a bias to mend. Costs nothing at run time.

    Args:
        converted: what ``convert_pt2e`` made of the prepared model.
        inputs: of its layers.

    Returns:
        The names of the layers.
    """
    nodes = {node.name: node for node in converted.graph.nodes}
    changed: dict[str, None] = {}
    for layer in inputs.layers:
        rounded = constant(nodes[layer.name].args[1])
        if rounded is None:
            continue
        for node in layer.nodes:
            if (mean := inputs.mean(node.name)) is not None:
                add_to_bias(converted, nodes[node.name], _errors(layer, layer.weight - rounded, mean))
                changed[node.name] = None
    converted.recompile()
    return changed


def _errors(layer: Layer, lost: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    """The mean error of each channel, [channels], of what rounding takes from the weights."""
    if layer.is_transposed:
        products = (lost * mean).double().flatten(2).sum(2)  # [inputs, channels of a group]
        return products.reshape(layer.groups, -1, products.shape[1]).sum(1).reshape(-1).float()
    groups = lost.reshape(layer.groups, -1, *lost.shape[1:]) if lost.dim() > 2 else lost
    return (groups * mean).double().reshape(len(lost), -1).sum(1).float()


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


def channel_means(result: torch.Tensor, rank: int) -> torch.Tensor:
    """Per channel of a layer's result: the last axis, or the one before those that a kernel of a rank goes over."""
    axis = result.dim() - (1 if rank == 2 else rank - 1)
    others = [i for i in range(result.dim()) if i != axis]
    return result.double().mean(others) if others else result.double()  # of no axes PyTorch takes the mean of all


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


#: Calls from which on others need no stand-ins.
_ENOUGH = 4

#: Standard errors that a mean has at least to be taken for more than an accident.
_SURE = 2.0


def correct_outputs(exact: GraphModule, converted: GraphModule, samples: Sequence[Sample], rules: RuleSet) -> None:
    """Changes the biases of the layers that make a converted model's outputs; costs nothing at run time.

    The mean error of an output's channels is taken off where it is more than twice as large as its standard error, by
    which calls disagree about it: with the mean ``m`` and that error ``s``, ``1 - s**2 / m**2`` of it, which leaves the
    least error to expect. Where samples are few, the same numbers in another order stand for others; then no more is
    taken off than lessens the error of the samples themselves.

    Args:
        exact: the prepared model; its observers do not observe here.
        converted: what ``convert_pt2e`` made of a copy of it.
    """
    layers = _last_layers(converted, rules)
    if not layers:
        return
    calls = [*samples, *(other for call in samples for other in _others(call))] if len(samples) < _ENOUGH else samples
    errors: dict[int, list[torch.Tensor]] = {place: [] for place in layers}
    results: dict[Node, torch.Tensor] = {}  # before they are rounded, which is not for a bias to mend

    def see(node: Node, _args: Sequence[Any], result: torch.Tensor) -> None:
        results[node] = result

    noisy = Runner(converted, [layer for layer, _ in layers.values()], see)
    seen = 0  # of the calls given, those whose outputs have elements
    for number, (_, (wanted, _)) in enumerate(run(calls, Runner(exact), noisy), 1):
        if not all(wanted[place].numel() for place in layers):
            continue
        seen += number <= len(samples)
        for place, (layer, rank) in layers.items():
            errors[place].append(channel_means(wanted[place].double() - results[layer].double(), rank))
        if number == 2 and not any(_agreed(error, seen).any() for error in errors.values()):
            return
    for place, (layer, _) in layers.items() if seen else ():
        add_to_bias(converted, layer, _agreed(errors[place], seen).float())
    converted.recompile()


def _last_layers(module: GraphModule, rules: RuleSet) -> dict[int, tuple[Node, int]]:
    """Of each output that a layer makes, and nobody else reads: the layer and the rank of its weight."""
    (output,) = (n for n in module.graph.nodes if n.op == "output")
    layers: dict[int, tuple[Node, int]] = {}
    for place, node in enumerate(output.args[0]):
        while isinstance(node, Node) and len(node.users) == 1 and (is_quantize(node) or is_dequantize(node)):
            node = node.args[0]
        if isinstance(node, Node) and len(node.users) == 1 and is_layer(node, rules):
            weight = constant(node.args[1])
            if weight is not None:
                layers[place] = node, weight.dim()
    return layers


def _others(call: Sample) -> list[Sample]:
    """Stand-ins for further calls: the same numbers reversed along the last axis, moved on by half of it, and both."""

    def each(call: Sample, change: Callable[[torch.Tensor], torch.Tensor]) -> Sample:
        inputs, structure = tree_flatten(call)
        sample: Sample = tree_unflatten(
            [change(x) if isinstance(x, torch.Tensor) and x.dim() else x for x in inputs], structure
        )
        return sample

    reversed_ = each(call, lambda x: x.flip(-1))
    moved = [each(of, lambda x: x.roll(x.shape[-1] // 2, -1)) for of in (call, reversed_)]
    return [reversed_, *moved]


def _agreed(errors: Sequence[torch.Tensor], calls: int) -> torch.Tensor:
    """The part of the mean error that is no accident of these calls, of which the first ``calls`` are no stand-ins."""
    stacked = torch.stack(list(errors))
    mean, square = estimate(stacked)
    accident = float(square.sum())
    size = float((mean**2).sum())
    if not _SURE**2 * accident < size < float("inf"):
        return torch.zeros_like(mean)
    wanted = float((stacked[:calls].mean(0) * mean).sum()) / size
    return mean * max(min(1 - accident / size, wanted), 0.0)
