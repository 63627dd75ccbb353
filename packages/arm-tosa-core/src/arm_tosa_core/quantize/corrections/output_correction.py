"""Output correction: what all rounding together adds to every result of a model alike is taken off its last biases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...compat.torch import tree_flatten, tree_unflatten
from ...lowering.exported_program import is_dequantize, is_quantize
from ...lowering.rule_set import RuleSet
from ..annotate.node_roles import is_layer
from ..probe.calls import Sample
from ..probe.judge import estimate
from ..probe.runner import Runner, run
from .bias_correction import add_to_bias, channel_means, constant

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
        if number == 2 and not any(_agreed(found, seen).any() for found in errors.values()):
            return
    for place, (layer, _) in layers.items() if seen else ():
        add_to_bias(converted, layer, _agreed(errors[place], seen).float())
    converted.recompile()


def _last_layers(module: GraphModule, rules: RuleSet) -> dict[int, tuple[Node, int]]:
    """Of each output that a layer makes, and nobody else reads: the layer and the rank of its weight."""
    (output,) = (n for n in module.graph.nodes if n.op == "output")
    found: dict[int, tuple[Node, int]] = {}
    for place, node in enumerate(output.args[0]):
        while isinstance(node, Node) and len(node.users) == 1 and (is_quantize(node) or is_dequantize(node)):
            node = node.args[0]
        if isinstance(node, Node) and len(node.users) == 1 and is_layer(node, rules):
            weight = constant(node.args[1])
            if weight is not None:
                found[place] = node, weight.dim()
    return found


def _others(call: Sample) -> list[Sample]:
    """Stand-ins for further calls: the same numbers reversed along the last axis, moved on by half of it, and both."""

    def each(call: Sample, change: Callable[[torch.Tensor], torch.Tensor]) -> Sample:
        inputs, structure = tree_flatten(call)
        made: Sample = tree_unflatten(
            [change(x) if isinstance(x, torch.Tensor) and x.dim() else x for x in inputs], structure
        )
        return made

    reversed_ = each(call, lambda x: x.flip(-1))
    moved = [each(of, lambda x: x.roll(x.shape[-1] // 2, -1)) for of in (call, reversed_)]
    return [reversed_, *moved]


def _agreed(errors: Sequence[torch.Tensor], given: int) -> torch.Tensor:
    """The part of the mean error that is no accident of these calls, of which the first ``given`` are no stand-ins."""
    found = torch.stack(list(errors))
    mean, square = estimate(found)
    accident = float(square.sum())
    size = float((mean**2).sum())
    if not _SURE**2 * accident < size < float("inf"):
        return torch.zeros_like(mean)
    wanted = float((found[:given].mean(0) * mean).sum()) / size
    return mean * max(min(1 - accident / size, wanted), 0.0)
