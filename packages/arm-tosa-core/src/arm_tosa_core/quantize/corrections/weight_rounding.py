"""Weights rounded together: what rounding one to the nearest integer does to a layer's results, others make up for.

Scales stay as they were calibrated, so that it costs nothing at run time. What is learned of a layer's inputs on few
samples may be wrong: each half of the samples judges what was learned from the other, and a channel keeps the nearest
integers unless both say that it gains.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.exported_program import attribute, is_dequantize
from ..probe.judge import Evidence, accepts, evidence
from .layer_inputs import Layer, LayerInputs, Moments


def round_weights(converted: GraphModule, inputs: LayerInputs) -> dict[str, Evidence]:
    """Changes the integers of a converted model's weights, so that the results of each layer are nearer to float.

    Their mean is for bias correction to mend, which comes behind it.

    Args:
        converted: what ``convert_pt2e`` made of the prepared model.
        inputs: of its layers; of one call alone nothing is done, as nothing is left out to judge by.

    Returns:
        Evidence by the names of the layers that have other integers: squared errors of their results.
    """
    nodes = {node.name: node for node in converted.graph.nodes}
    changed = {}
    for layer in inputs.layers:
        dequantize = nodes[layer.name].args[1]
        if not _is_stored(dequantize):
            continue
        if (rounded := _rounded(layer, dequantize, *inputs.moments[layer.name])) is not None:
            integers, changed[layer.name] = rounded
            with torch.no_grad():
                _stored(dequantize).copy_(integers)
    return changed


def _is_stored(weight: Any) -> bool:
    """Whether a dequantize node of a constant gives a weight."""
    if not isinstance(weight, Node) or not is_dequantize(weight):
        return False
    (source, *_) = weight.all_input_nodes
    return source.op == "get_attr"


def _rounded(layer: Layer, dequantize: Node, first: Moments, second: Moments) -> tuple[torch.Tensor, Evidence] | None:
    """Integers in the weight's shape, and errors of its results; None: the nearest are as good."""
    if not (first.is_known and second.is_known):
        return None
    scales, low, high = _parameters(dequantize)
    weights = layer.cut(layer.weight.float())
    steps = scales.float().expand(len(layer.weight)).reshape(layer.groups, -1).repeat_interleave(layer.parts, 0)
    nearest = layer.cut(_stored(dequantize).float())
    learned = (first, second, first + second)
    feedback = Feedback(
        torch.cat([moments.covariance for moments in learned]),
        torch.tensor([moments.observations for moments in learned]).repeat_interleave(len(weights)),
    )
    rounded = feedback.round(feedback.sorted(weights.repeat(3, 1, 1)), steps.repeat(3, 1), low, high)
    of_first, of_second, together = feedback.unsorted(rounded).chunk(3)

    def noise(rounded: torch.Tensor, moments: Moments) -> torch.Tensor:
        errors = rounded * steps[..., None] - weights
        return (errors @ moments.covariance * errors).sum(-1)

    before = torch.stack([noise(nearest, second), noise(nearest, first)])
    after = torch.stack([noise(of_first, second), noise(of_second, first)])
    better = accepts(before, after)  # of two halves, both must gain
    if not better.any():
        return None
    gain = evidence(before.flatten(1).sum(1), torch.where(better, after, before).flatten(1).sum(1))
    return layer.whole(torch.where(better[..., None], together, nearest)).to(torch.int8), gain


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


_BLOCK = 32
#: Of the mean variance, what is added to each.
_DAMPING = 0.01
_SMALLEST = 1e-30


class Feedback:
    """The order in which the weights of a layer's channels are rounded, and how errors are handed on.

    Weights behind make up for the error of one, as far as their inputs go together: Hassibi and Stork, 1993 ("Optimal
    Brain Surgeon"); Frantar et al., 2022 ("GPTQ").

    Few observations say little of a covariance: it is shrunk towards its diagonal, and variances towards their mean.

    Args:
        covariance: of the inputs, [groups, inputs, inputs].
        observations: how many each was made of, [groups].
    """

    def __init__(self, covariance: torch.Tensor, observations: torch.Tensor) -> None:
        inputs = covariance.shape[-1]
        variances = covariance.diagonal(dim1=1, dim2=2)
        mean = variances.mean(-1, keepdim=True).clamp_min(_SMALLEST)
        share = (inputs / (inputs + observations.double()))[:, None]
        shrunk = (1 - share).float()[..., None] * covariance
        shrunk.diagonal(dim1=1, dim2=2).add_((share / 2).float() * (variances + mean) + _DAMPING * mean)
        order = shrunk.diagonal(dim1=1, dim2=2).argsort(dim=-1, descending=True, stable=True)
        shrunk = shrunk.gather(1, order[:, :, None].expand_as(shrunk)).gather(2, order[:, None, :].expand_as(shrunk))
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(shrunk.double()))
        self.order = order
        #: Upper Cholesky factor of the inverse covariance in that order, [groups, inputs, inputs].
        self.factor = torch.linalg.cholesky(inverse, upper=True).float()

    def sorted(self, weights: torch.Tensor) -> torch.Tensor:
        """Weights, [groups, channels, inputs], in the order in which they are rounded."""
        return weights.gather(2, self.order[:, None].expand_as(weights))

    def unsorted(self, rounded: torch.Tensor) -> torch.Tensor:
        """Their integers in the order of the layer."""
        return torch.empty_like(rounded).scatter_(2, self.order[:, None].expand_as(rounded), rounded)

    def round(self, weights: torch.Tensor, steps: torch.Tensor, low: int, high: int) -> torch.Tensor:
        """The integers of sorted weights, from ``low`` to ``high``.

        Args:
            steps: [groups, channels].
        """
        # Channels are the last axis here: what is read and written together then lies together.
        left, steps, factor = weights.mT.contiguous(), steps[:, None], self.factor
        rounded, count = torch.empty_like(left), left.shape[1]
        for first in range(0, count, _BLOCK):
            last = min(first + _BLOCK, count)
            block = left[:, first:last]
            errors = torch.empty_like(block)
            for j in range(last - first):
                row = factor[:, first + j, first:last, None]
                wanted = block[:, j, None] / steps
                chosen = torch.clamp(wanted.round(), low, high)
                rounded[:, first + j, None] = chosen
                errors[:, j, None] = error = (wanted - chosen) * steps / row[:, j, None]
                block[:, j + 1 :].baddbmm_(row[:, j + 1 :], error, alpha=-1)
            left[:, last:].baddbmm_(factor[:, first:last, last:].mT, errors, alpha=-1)
        return rounded.mT
