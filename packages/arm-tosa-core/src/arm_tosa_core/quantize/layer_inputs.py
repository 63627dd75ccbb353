"""The layers of a converted model, and the mean and covariance of what each multiplies with its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..compat.torch import schema_of
from ..lowering.exported_program import attribute, is_dequantize
from ..lowering.rule_set import RuleSet
from .bias_correction import is_layer

#: Positions of an image that are looked at, about; neighbours say nearly the same.
_POSITIONS = 2048


@dataclass(frozen=True)
class Layer:
    """A weight, and the layers of a converted model that read it.

    Args:
        nodes: of the converted model; several where they share the weight.
        weight: in float, [channels, inputs / groups, *kernel].
        groups: of a convolution; 1 for a linear layer.
        most_inputs: of a channel whose covariances are looked at; between parts of a longer list they are left out.
    """

    nodes: tuple[Node, ...]
    weight: torch.Tensor
    groups: int
    most_inputs: int

    @property
    def name(self) -> str:
        """That of the first node."""
        return self.nodes[0].name

    @property
    def parts(self) -> int:
        """Into how many parts of one length the weights of a channel are cut."""
        count = self.weight[0].numel()
        return next(parts for parts in range(1, count + 1) if count % parts == 0 and count // parts <= self.most_inputs)

    def cut(self, weights: torch.Tensor) -> torch.Tensor:
        """[groups * parts, channels of a group, weights of a part], of weights in the layer's shape."""
        channels = len(self.weight) // self.groups
        return weights.reshape(self.groups, channels, self.parts, -1).transpose(1, 2).flatten(0, 1)

    def whole(self, cut: torch.Tensor) -> torch.Tensor:
        """What ``cut`` cuts, in the layer's shape."""
        parts = cut.reshape(self.groups, self.parts, *cut.shape[1:])
        return parts.transpose(1, 2).reshape(self.weight.shape)

    @property
    def dequantize(self) -> Node:
        """The node that gives the rounded weight."""
        node = self.nodes[0].args[1]
        assert isinstance(node, Node)
        return node


def find_layers(exact: GraphModule, converted: GraphModule, rules: RuleSet, most_inputs: int) -> list[Layer]:
    """The layers of a converted model whose weights are rounded constants, channels along their first axis."""
    floats = {node.name: node for node in exact.graph.nodes}
    found: dict[str, list[Node]] = {}
    for node in converted.graph.nodes:
        if not is_layer(node, rules) or rules.traits_of(node).weight_axis(node.args) != 0:
            continue
        rounded = node.args[1]
        stored = rounded.args[0] if isinstance(rounded, Node) and is_dequantize(rounded) else None
        if isinstance(stored, Node) and stored.op == "get_attr":
            found.setdefault(str(stored.target), []).append(node)
    layers = []
    for nodes in found.values():
        if all(node.name in floats for node in nodes):
            weight = attribute(_observed(floats[nodes[0].name].args[1])).detach()
            layers.append(Layer(tuple(nodes), weight, arguments_of(nodes[0]).get("groups", 1), most_inputs))
    return layers


def _observed(node: Any) -> Node:
    while node.op == "call_module":  # an observer
        node = node.args[0]
    assert isinstance(node, Node)
    return node


def arguments_of(node: Node) -> dict[str, Any]:
    """Those of a call of an operator by their names, with defaults."""
    defaults = {each.name: each.default_value for each in schema_of(node.target).arguments}
    return {**defaults, **dict(zip(defaults, node.args, strict=False)), **node.kwargs}


class Moments:
    """The mean and the spread around it of what a layer multiplies with its weights.

    Parts of the data are joined by their means (Chan, Golub and LeVeque, 1983, "Algorithms for computing the sample
    variance"), so that a mean that is large beside the spread does not drown it.
    """

    def __init__(self) -> None:
        self.observations = 0
        #: [groups * parts, weights of a part], float64.
        self.mean = torch.zeros(0)
        #: Sums of products without the mean, [groups * parts, weights of a part, weights of a part].
        self.spread = torch.zeros(0)

    def see(self, layer: Layer, x: torch.Tensor, node: Node) -> None:
        """Takes the input of a layer at one of its nodes."""
        if not x.numel():
            return
        rows = windows(x, layer, arguments_of(node))
        rows = rows.reshape(*rows.shape[:2], layer.parts, -1).transpose(1, 2).flatten(0, 1)
        mean = rows.mean(1, dtype=torch.float64)
        rows = rows - mean[:, None].to(rows.dtype)
        self._join(rows.shape[1], mean, rows.transpose(1, 2) @ rows)

    def __add__(self, other: Moments) -> Moments:
        made = Moments()
        for each in (self, other):
            if each.observations:
                made._join(each.observations, each.mean, each.spread)
        return made

    def _join(self, count: int, mean: torch.Tensor, spread: torch.Tensor) -> None:
        if not self.observations:
            self.observations, self.mean, self.spread = count, mean, spread
            return
        total, apart = self.observations + count, mean - self.mean
        weighted = apart * (self.observations * count / total)
        self.spread = self.spread + spread + (weighted[:, :, None] * apart[:, None, :]).to(spread.dtype)
        self.mean = self.mean + apart * (count / total)
        self.observations = total

    @property
    def covariance(self) -> torch.Tensor:
        """[groups * parts, weights of a part, weights of a part]."""
        return self.spread / self.observations

    @property
    def is_known(self) -> bool:
        """Whether something was seen, and all of it within what float32 holds."""
        return self.observations > 0 and bool(self.spread.isfinite().all())


def windows(x: torch.Tensor, layer: Layer, arguments: Mapping[str, Any]) -> torch.Tensor:
    """What a layer multiplies with the weights of a channel, [groups, positions, weights of a channel]."""
    if layer.weight.dim() == 2:
        rows = x.reshape(1, -1, x.shape[-1])
        return rows[:, :: max(rows.shape[1] // _POSITIONS, 1)]
    kernel = layer.weight.shape[2:]
    axes = len(kernel)
    stride, dilation = (_each(arguments[name], axes) for name in ("stride", "dilation"))
    x = x if x.dim() == axes + 2 else x[None]
    x = torch.nn.functional.pad(x, _padding(arguments["padding"], kernel, dilation))
    for i in range(axes):
        x = x.unfold(2 + i, dilation[i] * (kernel[i] - 1) + 1, stride[i])[..., :: dilation[i]]
    positions = x.shape[0] * math.prod(x.shape[2 : 2 + axes])
    every = max(int((positions / _POSITIONS) ** (1 / axes)), 1)
    x = x[(slice(None), slice(None), *[slice(None, None, every)] * axes)]
    x = x.reshape(x.shape[0], layer.groups, -1, *x.shape[2:])
    spatial = range(3, 3 + axes)
    return x.permute(1, 0, *spatial, 2, *range(3 + axes, 3 + 2 * axes)).reshape(
        layer.groups, -1, layer.weight[0].numel()
    )


def _each(value: Any, axes: int) -> list[int]:
    found = [value] if isinstance(value, int) else list(value)
    return found * axes if len(found) == 1 else found


def _padding(value: Any, kernel: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """As ``torch.nn.functional.pad`` takes it: the last axis first."""
    if value == "valid":
        pairs = [(0, 0)] * len(kernel)
    elif value == "same":
        whole = [step * (size - 1) for size, step in zip(kernel, dilation, strict=True)]
        pairs = [(each // 2, each - each // 2) for each in whole]
    else:
        pairs = [(each, each) for each in _each(value, len(kernel))]
    return [amount for pair in reversed(pairs) for amount in pair]
