"""Output correction: what all rounding together adds to every result of a model alike is taken off its last biases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from ..compat.torch import tree_leaves
from ..lowering.exported_program import is_dequantize, is_quantize
from ..lowering.rule_set import RuleSet
from .bias_correction import Floating, Sample, add_to_bias, channel_means, constant, is_layer

#: Calls from which on others need no stand-ins.
_ENOUGH = 4

#: Standard errors that a mean has at least to be taken for more than an accident.
_SURE = 2.0

Leaves = list[Any]


def correct_outputs(exact: GraphModule, converted: GraphModule, samples: Sequence[Sample], rules: RuleSet) -> None:
    """Changes the biases of the layers that make a converted model's outputs; costs nothing at run time.

    The mean error of an output's channels is taken off where it is more than twice as large as its standard error, by
    which calls disagree about it: with the mean ``m`` and that error ``s``, ``1 - s**2 / m**2`` of it, which leaves the
    least error to expect. Where samples are few, the same numbers in another order stand for others; then no more is
    taken off than lessens the error of the samples themselves.

    Args:
        exact: the prepared model; its observers do not observe here.
        converted: what ``convert_pt2e`` made of a copy of it.
        samples: calls of the model.
        rules: those of the target.
    """
    layers = _last_layers(converted, rules)
    if not layers:
        return
    given = [tree_leaves((args, dict(kwargs))) for args, kwargs in samples]
    calls = given + [other for call in given for other in _others(call)] if len(given) < _ENOUGH else given
    errors: dict[int, list[torch.Tensor]] = {place: [] for place in layers}
    seen = 0  # of the calls given, those whose outputs have elements
    for number, call in enumerate(calls, 1):
        with torch.no_grad():
            wanted = Floating(exact).run(*call, enable_io_processing=False)
            run = _Results(converted, {layer for layer, _ in layers.values()})
            run.run(*call, enable_io_processing=False)
        if not all(wanted[place].numel() for place in layers):
            continue
        seen += number <= len(given)
        for place, (layer, rank) in layers.items():
            errors[place].append(channel_means(wanted[place].double() - run.results[layer].double(), rank))
        if number == 2 and not any(_agreed(found, seen).any() for found in errors.values()):
            return
    for place, (layer, _) in layers.items() if seen else ():
        add_to_bias(converted, layer, _agreed(errors[place], seen).float())
    converted.recompile()


class _Results(Interpreter):
    """Keeps the results of some nodes: those of layers before they are rounded, which is not for a bias to mend."""

    def __init__(self, module: GraphModule, wanted: set[Node]) -> None:
        super().__init__(module)
        self.wanted, self.results = wanted, dict[Node, torch.Tensor]()

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n in self.wanted:
            self.results[n] = result
        return result


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


def _others(leaves: Leaves) -> list[Leaves]:
    """Stand-ins for further calls: the same numbers reversed along the last axis, moved on by half of it, and both."""

    def each(leaves: Leaves, change: Callable[[torch.Tensor], torch.Tensor]) -> Leaves:
        return [change(x) if isinstance(x, torch.Tensor) and x.dim() else x for x in leaves]

    reversed_ = each(leaves, lambda x: x.flip(-1))
    moved = [each(of, lambda x: x.roll(x.shape[-1] // 2, -1)) for of in (leaves, reversed_)]
    return [reversed_, *moved]


def _agreed(errors: Sequence[torch.Tensor], given: int) -> torch.Tensor:
    """The part of the mean error that is no accident of these calls, of which the first ``given`` are no stand-ins."""
    found = torch.stack(list(errors))
    count, mean = len(found), found.mean(0)
    accident = float(((found - mean) ** 2).sum()) / (count - 1) / count if count > 1 else float("inf")
    size = float((mean**2).sum())
    if not _SURE**2 * accident < size < float("inf"):
        return torch.zeros_like(mean)
    wanted = float((found[:given].mean(0) * mean).sum()) / size
    return mean * max(min(1 - accident / size, wanted), 0.0)
