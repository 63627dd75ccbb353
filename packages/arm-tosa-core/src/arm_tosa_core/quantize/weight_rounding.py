"""Weights rounded together: what rounding one to the nearest integer does to a layer's results, others make up for.

Scales stay as they were calibrated, so that it costs nothing at run time. What is learned of a layer's inputs on few
samples may be wrong: where it does not help on samples that were left out, a layer keeps the nearest integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..compat.torch import tree_leaves
from ..lowering.rule_set import RuleSet
from . import rounded_weights
from .bias_correction import Floating, Sample
from .error_feedback import Feedback
from .weight_statistics import Layer, Moments, find_layers

#: Samples that are looked at, at most.
SAMPLES = 16
#: Weights of a channel that make up for one another; of more the cost grows with the third power.
_TOGETHER = 512


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
    layers = find_layers(exact, converted, rules, _TOGETHER)
    run = _Inputs(exact, layers)
    for number, (args, kwargs) in enumerate(islice(samples, SAMPLES)):
        run.half = number % 2
        with torch.no_grad():
            run.run(*tree_leaves((args, dict(kwargs))), enable_io_processing=False)
    changed = []
    for layer in layers:
        halves = run.moments[layer.name]
        if all(half.observations for half in halves) and (made := _rounded(layer, halves)) is not None:
            scales, _, _ = rounded_weights.parameters(layer.dequantize)
            rounded_weights.replace(converted, layer.dequantize, made, scales)
            changed.append(layer.name)
    return changed


class _Inputs(Floating):
    """Sums of what each layer multiplies with its weights, of two halves of the samples."""

    def __init__(self, module: GraphModule, layers: Sequence[Layer]) -> None:
        super().__init__(module)
        self._layers = {node.name: (layer, node) for layer in layers for node in layer.nodes}
        self.moments = {layer.name: (Moments(), Moments()) for layer in layers}
        self.half = 0

    def run_node(self, n: Node) -> Any:
        if n.name in self._layers:
            layer, node = self._layers[n.name]
            self.moments[layer.name][self.half].see(layer, self.fetch_args_kwargs_from_env(n)[0][0], node)
        return super().run_node(n)


def _rounded(layer: Layer, halves: tuple[Moments, Moments]) -> torch.Tensor | None:
    """Integers in the weight's shape; None: the nearest are as good."""
    scales, low, high = rounded_weights.parameters(layer.dequantize)
    weights = layer.cut(layer.weight.float())
    steps = scales.float().expand(len(layer.weight)).reshape(layer.groups, -1).repeat_interleave(layer.parts, 0)
    nearest = layer.cut(rounded_weights.stored(layer.dequantize).float())

    def together(moments: Moments) -> torch.Tensor:
        feedback = Feedback(moments.covariance, moments.observations)
        made = feedback.round(feedback.sorted(weights), steps, lambda _, wanted: wanted.round().clamp(low, high))
        return feedback.unsorted(made)

    def noise(rounded: torch.Tensor, moments: Moments) -> float:
        errors = rounded * steps[..., None] - weights
        return float((errors @ moments.covariance * errors).sum())

    first, second = halves
    if noise(together(first), second) >= noise(nearest, second):
        return None
    return layer.whole(together(first + second)).to(torch.int8)
