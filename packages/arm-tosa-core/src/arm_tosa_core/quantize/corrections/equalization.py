"""Factors moved from layer to layer, exactly in float, so that the channels of an activation suit one scale better.

A channel that is divided by ``s`` where it is made, and multiplied by ``s`` in the weights that read it, changes no
result. Between layers this is cross-layer equalization (Nagel et al., 2019, 4.1), behind a norm it is activation
smoothing (Xiao et al., 2023, SmoothQuant). How much moves is tried out, on data that the factors tried do not come
from: channels that reach equally far in one picture leave their range together in the next. Of two samples each judges
what comes of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.exported_program import attribute
from ...lowering.rule_set import RuleSet
from ..probe.calls import FEW, Sample
from ..probe.judge import Evidence, accepts, evidence
from ..probe.runner import look
from ..schemes.config import SMALLEST_SCALE
from ..schemes.observers import MaskedHistogramObserver

#: Of the samples that say how far each channel reaches, those that factors are tried on.
_KEPT = 2

#: The factors tried are ``reach(activation) ** a / reach(weights) ** (1 - a)``, channel by channel, for these ``a``.
_EXPONENTS = (0.25, 0.5, 0.75)

#: Of the error as it is, what is left at most: factors that gain little stay where they are.
_PART = 0.8

#: Weights of a norm below this part of the largest are not divided by.
_SMALLEST = 2**-10


@dataclass(frozen=True)
class _Edge:
    """An activation whose channels may be scaled.

    Args:
        maker: the node that makes it from ``constants``, its weight and its bias if it has one.
        value: the activation as the readers see it.
        readers: layers; nothing else reads it.
        axis: of the channels.
        is_smoothed: whether the maker is a norm of rows.
    """

    maker: Node
    constants: tuple[Node, ...]
    value: Node
    readers: tuple[Node, ...]
    axis: int
    is_smoothed: bool


@dataclass(frozen=True)
class _Fold:
    """A norm's weight and bias, [channels], that can become part of the layers behind it."""

    weight: torch.Tensor
    bias: torch.Tensor

    def changes(self, factors: torch.Tensor) -> bool:
        """Whether a product is left if the weight is divided by factors."""
        return not torch.equal(self.weight / factors, torch.ones_like(factors))


def equalize(
    module: GraphModule, samples: Sequence[Sample], rules: RuleSet, *, layers: bool = True, norms: bool = True
) -> dict[str, Evidence]:
    """Rescales weights of a float module where that lowers the error that 8 bits make in the layers behind.

    Args:
        module: ``ExportedProgram.module()``, not prepared yet. It gets weights of its own; the program keeps its.
        samples: calls of the model; four at most are used.
        layers: between layers, through ReLUs and pools.
        norms: behind layer norms.

    Returns:
        Evidence by the names of the nodes that make the rescaled activations: squared errors of the layers behind.
    """
    edges = [edge for node in module.graph.nodes if (edge := _edge(node, rules)) is not None]
    edges = [edge for edge in edges if (norms if edge.is_smoothed else layers)]
    if not edges or not samples:
        return {}
    seen = _Activations(edges)
    look(samples[:FEW], module, seen.axes, seen.see)
    changed = {}
    for edge in edges:
        if edge.value not in seen.kept:  # no sample had an element
            continue
        choice, gain = _choose(edge, seen.kept[edge.value], seen.reach[edge.value])
        if choice is None:
            continue
        if isinstance(choice, _Fold):
            _fold(module, edge, choice)
        else:
            _move(module, edge, choice)
        changed[edge.maker.name] = gain
    module.recompile()
    return changed


def _edge(maker: Node, rules: RuleSet) -> _Edge | None:
    channels = rules.traits_of(maker).channels
    if channels is None:
        return None
    places = (channels.weight, channels.bias)
    constants = tuple(a for i in places if len(maker.args) > i and isinstance(a := maker.args[i], Node))
    if not constants or not all(_is_own(c) for c in constants) or constants[0] is not maker.args[channels.weight]:
        return None
    value = maker
    while len(value.users) == 1 and rules.traits_of(next(iter(value.users))).homogeneous:
        value = next(iter(value.users))
    readers = tuple(value.users)
    axes = {None if (read := rules.traits_of(r).channels) is None else read.read for r in readers}
    if len(axes) != 1 or (axis := axes.pop()) is None or (axis == -1) != channels.last:
        return None
    smoothed = channels.last and channels.read is None
    edge = _Edge(maker, constants, value, readers, axis, smoothed)
    return edge if all(_reads(r, value, axis) for r in readers) else None


def _is_own(node: Node) -> bool:
    """Whether a node is a constant that one operator reads."""
    return node.op == "get_attr" and len(node.users) == 1


def _reads(node: Node, value: Node, axis: int) -> bool:
    """Whether the weights of a layer can take a factor per channel of what it reads."""
    if node.args[0] is not value:
        return False
    weight = node.args[1]
    if not isinstance(weight, Node) or not _is_own(weight):
        return False
    groups = _groups(node)
    return groups == 1 or bool(groups == value.meta["val"].shape[axis])


def _groups(node: Node) -> Any:
    return node.args[6] if len(node.args) > 6 else 1


def _data(node: Any) -> torch.Tensor:
    data: torch.Tensor = attribute(node).detach()
    return data


def _by_channel(weight: torch.Tensor, reader: Node) -> torch.Tensor:
    """The reader's weights, a row for each channel that it reads."""
    groups = _groups(reader)
    return weight.reshape(groups, -1) if groups > 1 else weight.transpose(0, 1).flatten(1)


def _scaled(weight: torch.Tensor, reader: Node, factors: torch.Tensor) -> torch.Tensor:
    groups = _groups(reader)
    each = factors.repeat_interleave(len(weight) // groups) if groups > 1 else factors[None]
    return weight * each.reshape(*each.shape, *[1] * (weight.dim() - each.dim()))


def _choose(
    edge: _Edge, samples: Sequence[torch.Tensor], reach: torch.Tensor
) -> tuple[torch.Tensor | _Fold | None, Evidence]:
    """Factors that activations at an edge are divided by, [channels], or folding; None if neither gains."""
    weights = {reader: _data(reader.args[1]) for reader in edge.readers}
    if not all(w.dtype == torch.float32 for w in weights.values()):
        return None, Evidence(0.0, 0.0)
    norm = _norm(edge)
    trials = [_Trial(edge, *parts, weights, norm) for parts in _parted(samples, edge.axis)]

    ones = torch.ones_like(reach)
    least = before = _errors(trial.error(ones) for trial in trials)
    choice: torch.Tensor | _Fold | None = None
    if norm is not None and (norm.changes(ones) or norm.bias.any()) and _takes_bias(edge):
        folded = _errors(trial.folded() for trial in trials)
        if not accepts(folded, least, _PART):  # fewer operators: it need not be better
            least, choice = folded, norm
    limit = least
    rows = torch.cat([_by_channel(w, reader).abs() for reader, w in weights.items()], 1).amax(1)
    for exponent in _EXPONENTS:
        error = _errors(trial.error(_factors(_reach(trial.seen, edge.axis), rows, exponent)) for trial in trials)
        if error.mean() < least.mean() and accepts(limit, error, _PART):
            least, choice = error, _factors(reach, rows, exponent)
    return choice, evidence(before, least)


def _errors(of_trials: Iterable[float]) -> torch.Tensor:
    return torch.tensor(list(of_trials), dtype=torch.float64)


def _factors(reach: torch.Tensor, rows: torch.Tensor, exponent: float) -> torch.Tensor:
    usable = (reach > 0) & (rows > 0)
    raw = reach**exponent / rows ** (1 - exponent)
    return torch.where(usable, raw / raw[usable].log().mean().exp(), 1.0)


def _reach(x: torch.Tensor, axis: int) -> torch.Tensor:
    """How far each channel reaches, [channels]."""
    return x.abs().amax([i for i in range(x.dim()) if i != axis % x.dim()])


def _parted(samples: Sequence[torch.Tensor], axis: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """What factors and scales are made of, and what they are judged on: each of two samples, or half of one and all."""
    first, *others = samples
    if others:
        return [(first, others[0]), (others[0], first)]
    positions = -2 if axis == -1 else -1
    half = first.shape[positions] // 2 if first.dim() > 1 else 0
    return [(first.narrow(positions, 0, half) if half else first, first)]


def _norm(edge: _Edge) -> _Fold | None:
    """Weight and bias of a norm that has them, if the weight can be divided by."""
    if not edge.is_smoothed:
        return None
    weight, *bias = (_data(constant) for constant in edge.constants)
    if weight.dim() != 1 or not (weight.abs() > _SMALLEST * weight.abs().max()).all():
        return None
    return _Fold(weight, bias[0] if bias else torch.zeros_like(weight))


@dataclass
class _Trial:
    """Squared errors of what the readers compute with 8 bits, activations per tensor and weights per channel.

    Args:
        seen: activations that scales come from.
        judged: those that are computed with.
        weights: of each reader.
        norm: what the quantized model will multiply by and add, each with a rounding of its own.
    """

    edge: _Edge
    seen: torch.Tensor
    judged: torch.Tensor
    weights: Mapping[Node, torch.Tensor]
    norm: _Fold | None

    def __post_init__(self) -> None:
        self.exact = {reader: _layer(reader, self.judged, weight) for reader, weight in self.weights.items()}

    def error(self, factors: torch.Tensor) -> float:
        """With activations divided by factors, [channels]."""
        norm, seen, x = self.norm, self.seen, self.judged
        if norm is None:
            divided = _rounded(self._by(x, 1 / factors), self._by(seen, 1 / factors))
        else:
            seen, x = (seen - norm.bias) / norm.weight, (x - norm.bias) / norm.weight
            divided = _rounded(x, seen)
            if norm.changes(factors):
                seen = seen * (norm.weight / factors)
                divided = _rounded(divided * (norm.weight / factors), seen)
            if norm.bias.any():
                divided = _rounded(divided + norm.bias / factors, seen + norm.bias / factors)
        return self._of(self.exact, divided, factors)

    def folded(self) -> float:
        """With the norm's weight and bias in the readers."""
        assert self.norm is not None
        weight, bias = self.norm.weight, self.norm.bias
        exact = {reader: y - _layer(reader, bias, self.weights[reader]) for reader, y in self.exact.items()}
        return self._of(exact, _rounded((self.judged - bias) / weight, (self.seen - bias) / weight), weight)

    def _by(self, x: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
        shape = [1] * x.dim()
        shape[self.edge.axis] = -1
        return x * factors.reshape(shape)

    def _of(self, exact: Mapping[Node, torch.Tensor], divided: torch.Tensor, factors: torch.Tensor) -> float:
        total = 0.0
        for reader, weight in self.weights.items():
            got = _layer(reader, divided, _rounded_weight(_scaled(weight, reader, factors)))
            total += float((exact[reader] - got).double().square().sum())
        return total


def _layer(reader: Node, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """What a reader computes of an input with other weights, and without its bias."""
    layer: Any = reader.target
    result: torch.Tensor = layer(x, weight, None, *reader.args[3:])
    return result


def _rounded(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """With the scale that calibration would choose, had it seen that."""
    observer = MaskedHistogramObserver(
        dtype=torch.int8, quant_min=-128, quant_max=127, qscheme=torch.per_tensor_affine, eps=SMALLEST_SCALE
    )
    observer(seen)
    scale, zero = observer.calculate_qparams()
    return torch.fake_quantize_per_tensor_affine(x, float(scale), int(zero), -128, 127)


def _rounded_weight(weight: torch.Tensor) -> torch.Tensor:
    scales = (weight.flatten(1).abs().amax(1) / 127).clamp(min=2**-60)
    zeros = torch.zeros(len(weight), dtype=torch.int32)
    return torch.fake_quantize_per_channel_affine(weight, scales, zeros, 0, -127, 127)


def _move(module: GraphModule, edge: _Edge, factors: torch.Tensor) -> None:
    for constant in edge.constants:
        data = _data(constant)
        _replace(module, constant, data / factors.reshape(-1, *[1] * (data.dim() - 1)))
    for reader in edge.readers:
        weight: Any = reader.args[1]
        _replace(module, weight, _scaled(_data(weight), reader, factors))


def _replace(module: GraphModule, constant: Node, data: torch.Tensor) -> None:
    name = f"_equalized_{constant.name}"
    module.register_parameter(name, torch.nn.Parameter(data, requires_grad=False))
    constant.target = name


def _takes_bias(edge: _Edge) -> bool:
    return all(old is None or old.op == "get_attr" for old in map(_bias, edge.readers))


def _fold(module: GraphModule, edge: _Edge, norm: _Fold) -> None:
    for reader in edge.readers:
        if norm.bias.any():
            _add_bias(module, reader, _data(reader.args[1]) @ norm.bias)
    for constant in edge.constants[1:]:
        _replace(module, constant, torch.zeros_like(norm.bias))
    _move(module, edge, norm.weight)


def _bias(reader: Node) -> Any:
    return reader.args[2] if len(reader.args) > 2 else None


def _add_bias(module: GraphModule, reader: Node, more: torch.Tensor) -> None:
    old = _bias(reader)
    data = more if old is None else _data(old) + more
    with module.graph.inserting_before(reader):
        new = module.graph.get_attr(str(old.target if old is not None else reader.args[1].target))  # type: ignore[union-attr]
    new.meta["val"] = data.to("meta") if old is None else old.meta["val"]
    reader.args = (*reader.args[:2], new, *reader.args[3:])
    _replace(module, new, data)


class _Activations:
    """How far each channel of chosen activations reaches, and the first of them."""

    def __init__(self, edges: Sequence[_Edge]) -> None:
        self.axes = {edge.value: edge.axis for edge in edges}
        self.kept: dict[Node, list[torch.Tensor]] = {}
        self.reach: dict[Node, torch.Tensor] = {}

    def see(self, node: Node, _args: Sequence[Any], result: torch.Tensor) -> None:
        if result.numel():
            reach = _reach(result, self.axes[node])
            self.reach[node] = torch.maximum(reach, self.reach.get(node, reach))
            values = self.kept.setdefault(node, [])
            if len(values) < _KEPT:
                values.append(result.clone())
