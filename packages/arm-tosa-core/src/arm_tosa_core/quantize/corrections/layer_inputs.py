"""The layers of a prepared model, and what calibration shows of what each multiplies with its weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.exported_program import attribute
from ...lowering.rule_set import RuleSet
from ..annotate.node_roles import arguments_of, is_layer

#: Positions of an image whose covariances are looked at, about; neighbours say nearly the same.
_POSITIONS = 2048
#: Inputs of a channel whose covariances are looked at together; of more the cost grows with the third power.
_TOGETHER = 512


@dataclass(frozen=True)
class Layer:
    """A weight, and the layers of a prepared model that read it.

    Args:
        nodes: several where they share the weight.
        weight: in float, [channels, inputs / groups, *kernel]; of a transposed convolution the first two are exchanged.
        groups: of a convolution; 1 for a linear layer.
        is_transposed: whether the channels of the result are not the weight's first axis.
        most_inputs: of a channel whose covariances are looked at; between parts of a longer list they are left out.
    """

    nodes: tuple[Node, ...]
    weight: torch.Tensor
    groups: int
    is_transposed: bool = False
    most_inputs: int = _TOGETHER

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


def find_layers(prepared: GraphModule, rules: RuleSet) -> list[Layer]:
    """The layers whose weights are constants that are observed; those that share an observer are one."""
    users: dict[Node, list[Node]] = {}
    for node in prepared.graph.nodes:
        if is_layer(node, rules) and isinstance(observer := node.args[1], Node) and observer.op == "call_module":
            users.setdefault(observer, []).append(node)
    layers = []
    for observer, nodes in users.items():
        weight: Any = observer
        while weight.op == "call_module":
            weight = weight.args[0]
        if weight.op == "get_attr":
            axis = rules.traits_of(nodes[0]).weight_axis(nodes[0].args)
            groups = arguments_of(nodes[0]).get("groups", 1)
            layers.append(Layer(tuple(nodes), attribute(weight).detach(), groups, axis != 0))
    return layers


class LayerInputs:
    """What calls of a prepared model show of the inputs of its layers, in two halves of the calls.

    Args:
        spreads: whether to collect how inputs go together, for rounding; without, only their means, for biases.
    """

    def __init__(self, prepared: GraphModule, rules: RuleSet, *, spreads: bool) -> None:
        self.layers = find_layers(prepared, rules)
        #: By the name of a layer.
        self.moments = {x.name: (Moments(x, spreads), Moments(x, spreads)) for x in self.layers}
        self.nodes = {node: layer for layer in self.layers for node in layer.nodes}
        self._half = 0

    def next_call(self) -> None:
        """Says that what comes belongs to another call."""
        self._half = 1 - self._half

    def see(self, node: Node, args: Sequence[Any], result: torch.Tensor) -> None:
        """Looks at a layer, as ``Runner`` asks."""
        if result.numel():
            self.moments[self.nodes[node].name][self._half].see(node, args, result)


class Moments:
    """What a layer multiplies with its weights: the mean, and around it the spread of some positions.

    Parts of the data are joined by their means (Chan, Golub and LeVeque, 1983, "Algorithms for computing the sample
    variance"), so that a mean that is large beside the spread does not drown it.

    Args:
        spreads: whether to collect the spread; of a transposed convolution it is not.
    """

    def __init__(self, layer: Layer, spreads: bool = True) -> None:
        self.layer = layer
        self.calls = 0
        self._sum: torch.Tensor | float = 0.0
        self._has_spread = spreads and not layer.is_transposed
        self.observations = 0
        #: Of the positions looked at, [groups * parts, weights of a part], float64.
        self.mean = torch.zeros(0)
        #: Sums of products without the mean, [groups * parts, weights of a part, weights of a part].
        self.spread = torch.zeros(0)

    def see(self, node: Node, args: Sequence[Any], result: torch.Tensor) -> None:
        """Takes the input of the layer at one of its nodes."""
        layer, arguments = self.layer, arguments_of(node)
        self.calls += 1
        if layer.is_transposed:
            self._sum = self._sum + _mean_of_transposed(layer, node, args, result)
        else:
            self._sum = self._sum + _mean(args[0], layer, arguments)
        if self._has_spread:
            rows = windows(args[0], layer, arguments)
            rows = rows.reshape(*rows.shape[:2], layer.parts, -1).transpose(1, 2).flatten(0, 1)
            mean = rows.mean(1, dtype=torch.float64)
            rows = rows - mean[:, None].to(rows.dtype)
            self._join(rows.shape[1], mean, rows.transpose(1, 2) @ rows)

    def __add__(self, other: Moments) -> Moments:
        total = Moments(self.layer)
        for each in (self, other):
            if each.observations:
                total._join(each.observations, each.mean, each.spread)
        return total

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
        """Whether a spread was seen, and all of it within what float32 holds."""
        return self.observations > 0 and bool(self.spread.isfinite().all())

    def mean_errors(self, lost: torch.Tensor) -> torch.Tensor:
        """What the mean of each channel of the result lacks, [channels], if the weights lack ``lost``."""
        groups, mean = self.layer.groups, self._sum / self.calls
        assert isinstance(mean, torch.Tensor)
        if self.layer.is_transposed:
            products = (lost * mean).double().flatten(2).sum(2)  # [inputs, channels of a group]
            return products.reshape(groups, -1, products.shape[1]).sum(1).reshape(-1)
        return (lost.reshape(groups, len(lost) // groups, -1) * mean.reshape(groups, 1, -1)).double().sum(2).reshape(-1)


def _mean_of_transposed(layer: Layer, node: Node, args: Sequence[Any], result: torch.Tensor) -> torch.Tensor:
    """The mean of what each weight is multiplied with, over the positions of a channel of the result."""
    target = node.target
    assert callable(target)
    with torch.enable_grad():
        weight = layer.weight.clone().requires_grad_()
        total: torch.Tensor
        (total,) = torch.autograd.grad(target(args[0], weight, None, *args[3:], **node.kwargs).sum(), weight)
    return total * weight.shape[1] * layer.groups / result.numel()


def _mean(x: torch.Tensor, layer: Layer, arguments: Mapping[str, Any]) -> torch.Tensor:
    """Of what a layer multiplies with each weight, over all positions, [groups, weights of a channel]."""
    if layer.weight.dim() == 2:
        return x.reshape(-1, x.shape[-1]).mean(0)
    x, views = _unfolded(x, layer, arguments)
    for view in views:
        x = view(x, 2).mean(2)  # the axis of the positions goes, that of the kernel is the last one then
    return x.mean(0)


def windows(x: torch.Tensor, layer: Layer, arguments: Mapping[str, Any]) -> torch.Tensor:
    """What a layer multiplies with the weights of a channel, [groups, positions, weights of a channel]."""
    if layer.weight.dim() == 2:
        rows = x.reshape(1, -1, x.shape[-1])
        return rows[:, :: max(rows.shape[1] // _POSITIONS, 1)]
    x, views = _unfolded(x, layer, arguments)
    axes = len(views)
    for axis, view in enumerate(views, 2):
        x = view(x, axis)
    positions = x.shape[0] * math.prod(x.shape[2 : 2 + axes])
    every = max(int((positions / _POSITIONS) ** (1 / axes)), 1)
    x = x[(slice(None), slice(None), *[slice(None, None, every)] * axes)]
    x = x.reshape(x.shape[0], layer.groups, -1, *x.shape[2:])
    spatial = range(3, 3 + axes)
    return x.permute(1, 0, *spatial, 2, *range(3 + axes, 3 + 2 * axes)).reshape(
        layer.groups, -1, layer.weight[0].numel()
    )


def _unfolded(
    x: torch.Tensor, layer: Layer, arguments: Mapping[str, Any]
) -> tuple[torch.Tensor, list[Callable[[torch.Tensor, int], torch.Tensor]]]:
    """A padded image with a batch, and for each of its axes the view that has the kernel's positions as a last axis."""
    kernel = layer.weight.shape[2:]
    axes = len(kernel)
    stride, dilation = (_each(arguments[name], axes) for name in ("stride", "dilation"))
    x = x if x.dim() == axes + 2 else x[None]
    x = torch.nn.functional.pad(x, _padding(arguments["padding"], kernel, dilation))

    def view(i: int, x: torch.Tensor, axis: int) -> torch.Tensor:
        return x.unfold(axis, dilation[i] * (kernel[i] - 1) + 1, stride[i])[..., :: dilation[i]]

    return x, [partial(view, i) for i in range(axes)]


def _each(value: Any, axes: int) -> list[int]:
    numbers = [value] if isinstance(value, int) else list(value)
    return numbers * axes if len(numbers) == 1 else numbers


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
