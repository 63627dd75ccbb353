"""Weights rounded together: what rounding one to the nearest integer does to a layer's results, others make up for.

Scales stay as they were calibrated, so that it costs nothing at run time. What is learned of a layer's inputs on few
samples may be wrong: each half of the samples judges what was learned from the other, and a channel keeps the nearest
integers unless both say that it gains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..compat.torch import tree_leaves
from ..lowering.exported_program import attribute
from ..lowering.rule_set import RuleSet
from .bias_correction import Floating, Sample
from .error_feedback import Feedback
from .layer_inputs import Layer, Moments, find_layers
from .written_buffers import restore, saved

#: Samples that are looked at, at most.
SAMPLES = 64
#: Weights of a channel that make up for one another; of more the cost grows with the third power.
_TOGETHER = 512
#: What the moments of the layers that are looked at in one go may take, in sizes of all weights in float.
_ROOM = 2


def round_weights(exact: GraphModule, converted: GraphModule, samples: Iterable[Sample], rules: RuleSet) -> list[str]:
    """Changes the integers of a converted model's weights, so that the results of each layer are nearer to float.

    Their mean is for bias correction to mend, which comes behind it.

    Args:
        exact: the prepared model; its observers do not observe here.
        converted: what ``convert_pt2e`` made of a copy of it.
        samples: calls of the model; with one alone nothing is done, as nothing is left out to judge by.
        rules: those of the target.

    Returns:
        The names of the layers that have other integers.
    """
    calls = list(islice(samples, SAMPLES))
    state = saved(exact)
    changed = []
    for layers in _that_fit(find_layers(exact, converted, rules, _TOGETHER)):
        run = _Inputs(exact, layers)
        for number, (args, kwargs) in enumerate(calls):
            run.half = number % 2
            with torch.no_grad():
                run.run(*tree_leaves((args, dict(kwargs))), enable_io_processing=False)
        restore(state)
        for layer in layers:
            if (made := _rounded(layer, *run.moments.pop(layer.name))) is not None:
                with torch.no_grad():
                    _stored(layer.dequantize).copy_(made)
                changed.append(layer.name)
    return changed


def _that_fit(layers: Sequence[Layer]) -> Iterator[list[Layer]]:
    """Layers in their order, in groups of which the moments have room."""
    room = _ROOM * sum(layer.weight.numel() for layer in layers)
    group: list[Layer] = []
    taken = 0
    for layer in layers:
        size = 2 * layer.groups * layer.parts * (layer.weight[0].numel() // layer.parts) ** 2
        if group and taken + size > room:
            yield group
            group, taken = [], 0
        group.append(layer)
        taken += size
    if group:
        yield group


class _Inputs(Floating):
    """What each layer multiplies with its weights, of two halves of the samples."""

    def __init__(self, module: GraphModule, layers: Sequence[Layer]) -> None:
        super().__init__(module)
        self._layers = {node.name: (layer, node) for layer in layers for node in layer.nodes}
        self.moments = {layer.name: (Moments(), Moments()) for layer in layers}
        self.half = 0

    def run_node(self, n: Node) -> Any:
        if n.name in self._layers:
            layer, node = self._layers[n.name]
            x = self.fetch_args_kwargs_from_env(n)[0][0]
            self.moments[layer.name][self.half].see(layer, x, node)
        return super().run_node(n)


def _rounded(layer: Layer, first: Moments, second: Moments) -> torch.Tensor | None:
    """Integers in the weight's shape; None: the nearest are as good."""
    if not (first.is_known and second.is_known):
        return None
    scales, low, high = _parameters(layer.dequantize)
    weights = layer.cut(layer.weight.float())
    steps = scales.float().expand(len(layer.weight)).reshape(layer.groups, -1).repeat_interleave(layer.parts, 0)
    nearest = layer.cut(_stored(layer.dequantize).float())

    def together(moments: Moments) -> torch.Tensor:
        feedback = Feedback(moments.covariance, moments.observations)
        return feedback.unsorted(feedback.round(feedback.sorted(weights), steps, low, high))

    def noise(rounded: torch.Tensor, moments: Moments) -> torch.Tensor:
        errors = rounded * steps[..., None] - weights
        return (errors @ moments.covariance * errors).sum(-1)

    def gains(learned: Moments, judge: Moments) -> torch.Tensor:
        return noise(together(learned), judge) < noise(nearest, judge)

    better = gains(first, second) & gains(second, first)
    if not better.any():
        return None
    return layer.whole(torch.where(better[..., None], together(first + second), nearest)).to(torch.int8)


def _stored(dequantize: Node) -> torch.Tensor:
    """The integers that a dequantize node reads, in the weight's shape."""
    stored = dequantize.args[0]
    assert isinstance(stored, Node)
    data: torch.Tensor = attribute(stored).detach()
    return data


def _parameters(dequantize: Node) -> tuple[torch.Tensor, int, int]:
    """Scales of a rounded weight, [channels] or [1], and the range of its integers."""
    scale = dequantize.args[1]
    scales = attribute(scale).detach().reshape(-1) if isinstance(scale, Node) else torch.tensor([float(str(scale))])
    low, high = (int(str(a)) for a in dequantize.args[-3:-1])
    return scales, low, high
