"""Weights that take fewer bytes as a device stores them, for a loss of accuracy that the user allows.

One number decides for the whole network, the slope: the relative noise of the outputs that one bit may cost. Where all
layers have the same slope, no other choice of their bits gives less noise in the same size. The steps of each layer,
and which weights are rounded to 0, follow from it (``rate_distortion``). The slope is the largest whose loss, measured
on samples, is allowed; what a layer then takes is asked of the target's own encoder.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch.fx import GraphModule, Interpreter, Node

from ..compat.torch import tree_leaves
from ..lowering.exported_program import attribute
from ..lowering.rule_set import RuleSet
from ..plugin.target import LayerWeights
from ..support.errors import UsageError
from .bias_correction import Floating, Sample
from .rate_distortion import LayerRounding
from .weight_statistics import find_layers, gather, real

#: Samples that are kept for it: every other one tells of the inputs of layers, the others of the loss.
SAMPLES = 64
_JUDGES = 16
#: From here on those that tell of the loss are others than those that tell of the inputs.
_ENOUGH = 4
#: A loss of nothing is looked for as if it were this many dB.
_LEAST_DB = 0.02
_FACTOR = 4.0
_WIDENED = 8
_HALVED = 3

#: Bytes of each of several layers' weights as the target stores them.
Encoder = Callable[[Sequence[LayerWeights]], Sequence[int]]
Integers = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Compression:
    """How weights are compressed.

    Args:
        loss_db: how much lower the SQNR of any output may become, dB, on the samples.
        slope: in its place: relative noise of the outputs per bit, as a search has found it.
        keep: names of layers (of the exported graph) whose weights stay as they are.
    """

    loss_db: float = 0.5
    slope: float | None = None
    keep: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, number in (("loss_db", self.loss_db), ("slope", self.slope)):
            if number is not None and not (number >= 0 and math.isfinite(number)):
                raise UsageError(f"compression: {name} is a number that is not negative, not {number}")

    @staticmethod
    def of(given: float | Compression) -> Compression:
        """A loss in dB, or all of it."""
        return given if isinstance(given, Compression) else Compression(float(given))


@dataclass(frozen=True)
class CompressedLayer:
    """What became of one layer.

    Args:
        name: of the node in the exported graph.
        before, after: bytes as the target stores it.
    """

    name: str
    before: int
    after: int


@dataclass(frozen=True)
class Compressed:
    """What became of the weights.

    Args:
        layers: those that a target's encoder was asked about.
        slope: that was found.
        loss_db: of the worst output, measured on samples; negative where accuracy was gained.
    """

    layers: Sequence[CompressedLayer]
    slope: float
    loss_db: float

    @property
    def before(self) -> int:
        """Bytes of all layers as they were."""
        return sum(layer.before for layer in self.layers)

    @property
    def after(self) -> int:
        """Bytes of all layers."""
        return sum(layer.after for layer in self.layers)

    def __str__(self) -> str:
        share = 100 * (self.after / max(self.before, 1) - 1)
        return (
            f"weights take {self.after:,} bytes as the target stores them, {self.before:,} without compression "
            f"({share:+.1f} %), for {self.loss_db:.2f} dB on the samples"
        )


def compress(
    exact: GraphModule,
    converted: GraphModule,
    samples: Sequence[Sample],
    rules: RuleSet,
    encoder: Encoder,
    wanted: Compression,
    correct: Callable[[GraphModule], object],
) -> Compressed:
    """Gives a converted model other weights; its biases are left as they are.

    Args:
        exact: the prepared model; its observers do not observe here.
        converted: what ``convert_pt2e`` made of a copy of it.
        samples: calls of the model.
        rules: those of the target.
        encoder: that of the target.
        correct: corrects the biases of a converted model, before its loss is measured.

    Raises:
        UsageError: the model gives no real numbers, or computes something that has no gradient.
    """
    search = _Search(exact, converted, samples, rules, wanted, correct)
    slope = search.largest() if wanted.slope is None else wanted.slope
    chosen = search.integers(slope)
    sizes = list(encoder([*map(search.weights, chosen), *(search.weights(n, made) for n, made in chosen.items())]))
    rows = [CompressedLayer(*row) for row in zip(chosen, sizes, sizes[len(chosen) :], strict=False)]
    smaller = {row.name: chosen[row.name] for row in rows if row.after < row.before}
    loss = search.loss(smaller)
    if wanted.slope is None and loss > wanted.loss_db:  # roundings make up for one another: all together were allowed
        smaller, loss = chosen, search.loss(chosen)
    layers = [row if row.name in smaller else replace(row, after=row.before) for row in rows]
    chosen = smaller
    for name, made in chosen.items():
        _set(converted, search.layers[name].dequantize, *made)
    return Compressed(layers, slope, loss)


class _Search:
    """The layers of one model, and what a slope makes of it."""

    def __init__(
        self,
        exact: GraphModule,
        converted: GraphModule,
        samples: Sequence[Sample],
        rules: RuleSet,
        wanted: Compression,
        correct: Callable[[GraphModule], object],
    ) -> None:
        self.converted, self.correct, self.allowed = converted, correct, wanted.loss_db
        found = find_layers(exact, converted, rules)
        if unknown := set(wanted.keep) - {layer.name for layer in found}:
            names = ", ".join(layer.name for layer in found)
            raise UsageError(f"compression: keep names {', '.join(sorted(unknown))}; layers with weights are {names}")
        found = [layer for layer in found if layer.name not in wanted.keep]
        self.layers = {layer.name: layer for layer in found}
        split = len(samples) >= _ENOUGH
        seen = samples[::2] if split else samples
        judges = samples[1::2] if split else samples
        self.judges = judges[:: max(len(judges) // _JUDGES, 1)][:_JUDGES]
        with unchanged_buffers(exact):
            self.wanted = [self._call(Floating(exact), sample) for sample in self.judges]
        self.powers = [sum(float(y.double().square().sum()) for y in row) for row in zip(*self.wanted, strict=True)]
        if not self.powers:
            raise UsageError("compression weighs the noise of real outputs, and the model gives integers only")
        self.roundings = self._roundings(exact, seen)
        self.noise = self._noise({})

    def _roundings(self, exact: GraphModule, samples: Sequence[Sample]) -> dict[str, LayerRounding]:
        try:
            statistics = gather(copy.deepcopy(exact), list(self.layers.values()), samples, self.powers)
        except (RuntimeError, NotImplementedError) as error:
            reason = str(error).splitlines()[0]
            raise UsageError(f"compression follows noise by gradients, and the model has none: {reason}") from error
        made = {}
        for name, seen in statistics.items():
            scale, low, high = _parameters(self.layers[name].dequantize)
            made[name] = LayerRounding(self.layers[name], seen, scale, low, high)
        return made

    def largest(self) -> float:
        """The largest slope, to a fifth, whose loss is allowed; 0 if none is."""
        if not self.roundings:
            return 0.0
        weights = sum(self.layers[name].weight.numel() for name in self.roundings)
        more = 10 ** (max(self.allowed, _LEAST_DB) / 10) - 1
        relative = min(n / p for n, p in zip(self.noise, self.powers, strict=True) if p) or 1e-6
        slope = 2 * math.log(2) * more * relative / weights  # as if all bits had one slope, and rounding no noise yet
        below, above = 0.0, math.inf
        for _ in range(_WIDENED):
            if self.is_allowed(slope):
                below, slope = slope, slope * _FACTOR
            else:
                above, slope = slope, slope / _FACTOR
            if below and above < math.inf:
                break
        else:
            return below
        for _ in range(_HALVED):
            middle = math.sqrt(below * above)
            below, above = (middle, above) if self.is_allowed(middle) else (below, middle)
        return below

    def is_allowed(self, slope: float) -> bool:
        """Whether no output loses more than it may."""
        return self.loss(self.integers(slope)) <= self.allowed

    def integers(self, slope: float) -> dict[str, Integers]:
        """Of each layer its integers and scales."""
        return {name: rounding.at(slope) for name, rounding in self.roundings.items()} if slope else {}

    def weights(self, name: str, made: Integers | None = None) -> LayerWeights:
        """What a layer was rounded to, or is to be."""
        layer = self.layers[name]
        values = attribute(_node(layer.dequantize.args[0])).detach() if made is None else made[0]
        return LayerWeights(values.numpy(), layer.groups)

    def loss(self, chosen: Mapping[str, Integers]) -> float:
        """How much lower the SQNR of any output is, dB."""
        pairs = zip(self._noise(chosen), self.noise, strict=True)
        return max((10 * math.log10(new / old) for new, old in pairs if old > 0 and new > 0), default=0.0)

    def _noise(self, chosen: Mapping[str, Integers]) -> list[float]:
        """Of each output that is real numbers, the power of its error over all judges."""
        module = copy.deepcopy(self.converted)
        nodes = {node.name: node for node in module.graph.nodes}
        for name, made in chosen.items():
            _set(module, nodes[self.layers[name].dequantize.name], *made)
        with unchanged_buffers(module):
            self.correct(module)
        run = Interpreter(module)
        total = [0.0] * len(self.powers)
        for sample, wanted in zip(self.judges, self.wanted, strict=True):
            for i, (a, b) in enumerate(zip(wanted, self._call(run, sample), strict=True)):
                total[i] += float((a.double() - b.double()).square().sum())
        return total

    def _call(self, run: Interpreter, sample: Sample) -> list[torch.Tensor]:
        args, kwargs = sample
        with torch.no_grad():
            return real(run.run(*tree_leaves((args, dict(kwargs))), enable_io_processing=False))


@contextmanager
def unchanged_buffers(module: GraphModule) -> Iterator[None]:
    """Gives buffers that calls write to their numbers again."""
    saved = [(buffer, buffer.clone()) for buffer in module.buffers()]
    yield
    with torch.no_grad():
        for buffer, before in saved:
            buffer.copy_(before)


def _node(argument: object) -> Node:
    assert isinstance(argument, Node)
    return argument


def _parameters(dequantize: Node) -> tuple[torch.Tensor, int, int]:
    """Scales of a rounded weight, [channels] or [1], and the range of its integers."""
    scale = dequantize.args[1]
    found = attribute(scale).detach().reshape(-1) if isinstance(scale, Node) else torch.tensor([float(str(scale))])
    low, high = (int(str(a)) for a in dequantize.args[-3:-1])
    return found, low, high


def _set(module: GraphModule, dequantize: Node, integers: torch.Tensor, scales: torch.Tensor) -> None:
    """Gives a rounded weight other integers and scales."""
    stored = attribute(_node(dequantize.args[0]))
    with torch.no_grad():
        stored.copy_(integers)
    scale = dequantize.args[1]
    if isinstance(scale, Node):
        with torch.no_grad():
            attribute(scale).copy_(scales.reshape(attribute(scale).shape))
    else:
        dequantize.args = (dequantize.args[0], float(scales), *dequantize.args[2:])
