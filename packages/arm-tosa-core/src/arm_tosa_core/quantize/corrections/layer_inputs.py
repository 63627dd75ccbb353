"""The layers of a prepared model, and what calibration shows of what each multiplies with its weights."""

from __future__ import annotations

import math
from collections import Counter
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
    """What calls of a prepared model show of the inputs of its layers.

    Args:
        moments: whether to collect those of two halves of the calls, for rounding.
        means: whether to collect the mean of what each weight is multiplied with, for biases.
    """

    def __init__(self, prepared: GraphModule, rules: RuleSet, *, moments: bool, means: bool) -> None:
        self.layers = find_layers(prepared, rules) if moments or means else []
        #: By the name of a layer.
        self.moments = {x.name: (Moments(), Moments()) for x in self.layers if moments and not x.is_transposed}
        self._sums: dict[str, torch.Tensor] = {}
        self._calls: Counter[str] = Counter()
        self.nodes = {node: layer for layer in self.layers for node in layer.nodes}
        self._means, self._half = means, 0

    def next_call(self) -> None:
        """Says that what comes belongs to another call."""
        self._half = 1 - self._half

    def see(self, node: Node, args: Sequence[Any], result: torch.Tensor) -> None:
        """Looks at a layer, as ``Runner`` asks."""
        layer, arguments = self.nodes[node], arguments_of(node)
        if layer.name in self.moments:
            self.moments[layer.name][self._half].see(layer, args[0], arguments)
        if self._means and result.numel():
            mean = _mean(layer, node, args, result, arguments)
            self._sums[node.name] = self._sums.get(node.name, 0.0) + mean
            self._calls[node.name] += 1

    def mean(self, name: str) -> torch.Tensor | None:
        """Of what each weight is multiplied with at a node: in the weight's shape, or that of a channel of a group."""
        return self._sums[name] / self._calls[name] if name in self._sums else None


def _mean(
    layer: Layer, node: Node, args: Sequence[Any], result: torch.Tensor, arguments: Mapping[str, Any]
) -> torch.Tensor:
    """The mean of what each weight is multiplied with, over the positions of a channel of the result."""
    x: torch.Tensor = args[0]
    weight = layer.weight
    if layer.is_transposed:
        with torch.enable_grad():
            own, target = weight.clone().requires_grad_(), node.target
            assert callable(target)
            total: torch.Tensor
            (total,) = torch.autograd.grad(target(x, own, None, *args[3:], **node.kwargs).sum(), own)
        channels = weight.shape[1] * layer.groups
        return total * channels / result.numel()
    if weight.dim() == 2:
        return x.reshape(-1, x.shape[-1]).mean(0)
    axes = weight.dim() - 2
    x, views = _unfolded(x, layer, arguments)
    for i in range(axes):  # the axis of the positions goes, that of the kernel is the last one then
        x = views[i](x).mean(2)
    return x.mean(0).reshape(layer.groups, 1, *weight.shape[1:])


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

    def see(self, layer: Layer, x: torch.Tensor, arguments: Mapping[str, Any]) -> None:
        """Takes the input of a layer at one of its nodes, which has these arguments."""
        if not x.numel():
            return
        rows = windows(x, layer, arguments)
        rows = rows.reshape(*rows.shape[:2], layer.parts, -1).transpose(1, 2).flatten(0, 1)
        mean = rows.mean(1, dtype=torch.float64)
        rows = rows - mean[:, None].to(rows.dtype)
        self._join(rows.shape[1], mean, rows.transpose(1, 2) @ rows)

    def __add__(self, other: Moments) -> Moments:
        total = Moments()
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
        """Whether something was seen, and all of it within what float32 holds."""
        return self.observations > 0 and bool(self.spread.isfinite().all())


def windows(x: torch.Tensor, layer: Layer, arguments: Mapping[str, Any]) -> torch.Tensor:
    """What a layer multiplies with the weights of a channel, [groups, positions, weights of a channel]."""
    if layer.weight.dim() == 2:
        rows = x.reshape(1, -1, x.shape[-1])
        return rows[:, :: max(rows.shape[1] // _POSITIONS, 1)]
    axes = layer.weight.dim() - 2
    x, views = _unfolded(x, layer, arguments)
    for i in range(axes):
        x = views[i](x, 2 + i)
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
) -> tuple[torch.Tensor, list[Callable[..., torch.Tensor]]]:
    """A padded image with a batch, and for each of its axes the view that has the kernel's positions as a last axis."""
    kernel = layer.weight.shape[2:]
    axes = len(kernel)
    stride, dilation = (_each(arguments[name], axes) for name in ("stride", "dilation"))
    x = x if x.dim() == axes + 2 else x[None]
    x = torch.nn.functional.pad(x, _padding(arguments["padding"], kernel, dilation))

    def view(i: int, x: torch.Tensor, axis: int = 2) -> torch.Tensor:
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
