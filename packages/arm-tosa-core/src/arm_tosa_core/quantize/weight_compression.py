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
from torch.fx import GraphModule, Interpreter

from ..compat.torch import tree_leaves
from ..lowering.rule_set import RuleSet
from ..plugin.target import LayerWeights
from ..support.errors import UsageError
from . import rounded_weights
from .bias_correction import Floating, Sample
from .rate_distortion import LayerRounding
from .weight_statistics import find_layers, gather, real
from .written_buffers import restore, saved

#: Samples that are kept for it.
SAMPLES = 64
#: From here on the loss is measured on samples to which nothing is fitted.
ENOUGH = 8
_JUDGES = 16
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
        loss_db: how much lower the SQNR of any output may become, dB, on samples to which no weight is fitted. What
            is measured on few samples is not sure: one standard error is added to it, so that other data mostly lose
            no more.
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
        error_db: standard error of ``loss_db``, by leaving out each sample in turn (jackknife); 0 of one sample.
        held_out: whether nothing was fitted to these samples; False where there were fewer than ``ENOUGH``.
    """

    layers: Sequence[CompressedLayer]
    slope: float
    loss_db: float
    error_db: float
    held_out: bool

    @property
    def before(self) -> int:
        """Bytes of all layers as they were."""
        return sum(layer.before for layer in self.layers)

    @property
    def after(self) -> int:
        """Bytes of all layers."""
        return sum(layer.after for layer in self.layers)

    def __str__(self) -> str:
        if self.after == self.before:
            return (
                "weights stay as they are: no rounding takes fewer bytes and loses, with the error of measuring it, no "
                "more than is allowed; give more samples, or allow more"
            )
        share = 100 * (self.after / max(self.before, 1) - 1)
        where = (
            "samples that were held out"
            if self.held_out
            else f"samples to which weights were fitted (give {ENOUGH} or more, and some are held out)"
        )
        return (
            f"weights take {self.after:,} bytes as the target stores them, {self.before:,} without compression "
            f"({share:+.1f} %), for {self.loss_db:.2f} +- {self.error_db:.2f} dB on {where}"
        )


def held_out(samples: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """Those that weights and biases are fitted to, and those that tell of the loss.

    The latter are the second half: neighbours in a list are often alike, such as crops of one picture. Fewer than
    ``ENOUGH`` samples do both.
    """
    if len(samples) < ENOUGH:
        return samples, samples
    half = (len(samples) + 1) // 2
    judges = samples[half:]
    return samples[:half], judges[:: max(len(judges) // _JUDGES, 1)][:_JUDGES]


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
        samples: calls of the model; see ``held_out``.
        rules: those of the target.
        encoder: that of the target.
        correct: corrects the biases of a converted model, before its loss is measured; not by samples held out.

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
    if wanted.slope is None and sum(loss) > wanted.loss_db:  # roundings make up for one another: all were allowed
        smaller, loss = chosen, search.loss(chosen)
    layers = [row if row.name in smaller else replace(row, after=row.before) for row in rows]
    chosen = smaller
    for name, made in chosen.items():
        rounded_weights.replace(converted, search.layers[name].dequantize, *made)
    return Compressed(layers, slope, *loss, held_out=len(samples) >= ENOUGH)


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
        seen, self.judges = held_out(samples)
        with unchanged_buffers(exact):
            self.wanted = [self._call(Floating(exact), sample) for sample in self.judges]
        self.powers = [sum(map(_power, row)) for row in zip(*self.wanted, strict=True)]
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
            scale, low, high = rounded_weights.parameters(self.layers[name].dequantize)
            made[name] = LayerRounding(self.layers[name], seen, scale, low, high)
        return made

    def largest(self) -> float:
        """The largest slope, to a fifth, whose loss is allowed; 0 if none is."""
        if not self.roundings:
            return 0.0
        weights = sum(self.layers[name].weight.numel() for name in self.roundings)
        more = 10 ** (max(self.allowed, _LEAST_DB) / 10) - 1
        noise = self.noise.sum(0).tolist()
        relative = min((n / p for n, p in zip(noise, self.powers, strict=True) if p), default=0.0) or 1e-6
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
        """Whether no output loses more than it may, were the loss one standard error more than is measured."""
        return sum(self.loss(self.integers(slope))) <= self.allowed

    def integers(self, slope: float) -> dict[str, Integers]:
        """Of each layer its integers and scales."""
        return {name: rounding.at(slope) for name, rounding in self.roundings.items()} if slope else {}

    def weights(self, name: str, made: Integers | None = None) -> LayerWeights:
        """What a layer was rounded to, or is to be."""
        layer = self.layers[name]
        values = rounded_weights.stored(layer.dequantize) if made is None else made[0]
        return LayerWeights(values.numpy(), layer.groups)

    def loss(self, chosen: Mapping[str, Integers]) -> tuple[float, float]:
        """How much lower the SQNR of the worst output is, and its standard error, dB."""
        noise = self._noise(chosen)
        count = len(noise)
        losses = _losses(noise.sum(0), self.noise.sum(0))
        if count == 1:
            return float(losses.max()), 0.0
        without = _losses(noise.sum(0) - noise, self.noise.sum(0) - self.noise)  # [judges, outputs]
        errors = ((count - 1) / count * (without - without.mean(0)).square().sum(0)).sqrt()
        worst = int((losses + errors).argmax())
        return float(losses[worst]), float(errors[worst])

    def _noise(self, chosen: Mapping[str, Integers]) -> torch.Tensor:
        """The power of the error of each output that is real numbers, [judges, outputs], float64."""
        module = copy.deepcopy(self.converted)
        nodes = {node.name: node for node in module.graph.nodes}
        for name, made in chosen.items():
            rounded_weights.replace(module, nodes[self.layers[name].dequantize.name], *made)
        with unchanged_buffers(module):
            self.correct(module)
        run = Interpreter(module)
        made_of = ((wanted, self._call(run, sample)) for sample, wanted in zip(self.judges, self.wanted, strict=True))
        rows = [[_power(a.double() - b.double()) for a, b in zip(*pair, strict=True)] for pair in made_of]
        return torch.tensor(rows, dtype=torch.float64)

    def _call(self, run: Interpreter, sample: Sample) -> list[torch.Tensor]:
        args, kwargs = sample
        with torch.no_grad():
            return real(run.run(*tree_leaves((args, dict(kwargs))), enable_io_processing=False))


@contextmanager
def unchanged_buffers(module: GraphModule) -> Iterator[None]:
    """Gives buffers that calls write to their numbers again."""
    state = saved(module)
    yield
    restore(state)


def _power(values: torch.Tensor) -> float:
    return float(values.double().square().sum())


def _losses(new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    """By how many dB errors of some power are more than others; 0 where either is nothing."""
    return torch.where((new > 0) & (old > 0), 10 * (new / old).log10(), torch.zeros_like(new))
