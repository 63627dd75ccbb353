"""Where a quantized model rounds to 8 bits, which units must be in 16 bits for it not to, and what each costs.

A number that one operator makes and another reads stays in 16 bits only if both are in 16 bits: that is why layers gain
together, and seldom alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.fx import GraphModule, Node

from ..lowering.exported_program import is_dequantize, is_quantize, mutable
from ..quantize.probe.calls import Sample, inputs_of
from ..quantize.probe.runner import Runner, run, unwritten
from .units import Units

Array = npt.NDArray[np.float64]
#: Scale, zero point, least and greatest integer.
Parameters = tuple[float, int, int, int]


@dataclass(frozen=True)
class Rounding:
    """A rounding to 8 bits of what one operator makes and others read.

    Args:
        source: the node that makes it.
        needs: positions of the units that must be in 16 bits; None if that does not help.
        edges: pairs of a dequantize node and its reader.
    """

    source: Node
    needs: frozenset[int] | None
    edges: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True)
class Noise:
    """Power of the errors in the outputs that are real numbers, relative to the output's.

    The powers add, about: errors are independent, about, though a number that is rounded already is rounded otherwise.

    Args:
        powers: [outputs, 1 + roundings]. The first is the rest: weights, 16 bits, and roundings without a unit.
        needs: [roundings, units], whether a rounding needs a unit.
        elements: [roundings], how many numbers each rounds.
    """

    powers: Array
    needs: npt.NDArray[np.bool_]
    elements: Array


def find_roundings(converted: GraphModule, units: Units) -> list[Rounding]:
    """The roundings of a converted model, in the order of their first readers."""
    found: dict[tuple[Node, frozenset[int] | None], list[tuple[Node, Node]]] = {}
    for reader in converted.graph.nodes:
        if is_quantize(reader) or is_dequantize(reader):
            continue
        for read in reader.all_input_nodes:
            if is_dequantize(read) and (path := _path(read)) is not None:
                source, quantizers = path
                if any(_is_narrow(q) for q in quantizers):
                    key = (source, _needs(source, quantizers, reader, units))
                    found.setdefault(key, []).append((read, reader))
    return [Rounding(source, needs, tuple(edges)) for (source, needs), edges in found.items()]


def wide_parameters(converted: GraphModule) -> dict[str, Parameters]:
    """Scale, zero point and range of the widest integers that each node's result is rounded to, by its name."""
    found: dict[str, Parameters] = {}
    for node in converted.graph.nodes:
        if not is_dequantize(node) or (path := _path(node)) is None:
            continue
        source, quantizers = path
        parameters: Any = quantizers[0].args[1:5]
        if all(isinstance(number, (int, float)) for number in parameters) and not _is_narrow(quantizers[0]):
            found.setdefault(source.name, parameters)
    return found


def measure(
    prepared: GraphModule,
    converted: GraphModule,
    wide: Mapping[str, Parameters],
    roundings: Sequence[Rounding],
    units: Units,
    samples: Sequence[Sample],
    progress: Callable[[int, int], None],
) -> Noise:
    """The noise of each rounding to 8 bits: the model with 16 in all places, beside the model with 8 in this one.

    Args:
        prepared: the float model.
        converted: the model in 8 bits.
        wide: how results are rounded to 16 bits: what 8 bits saturate, they may as well.
        progress: called with the number of roundings that were measured and their number.

    Returns: the error of each rounding, summed over the samples.
    """
    helped = [r for r in roundings if r.needs is not None]
    widened = Widened(converted, helped, wide)
    signal, powers = np.zeros(1), np.zeros(1)
    elements = np.zeros(len(helped))
    with unwritten(converted):
        for count, (sample, (outputs,)) in enumerate(run(samples, Runner(prepared))):
            inputs, wanted = inputs_of(converted, sample), _reals(outputs)
            base, values = widened.base(inputs)
            errors = [_powers(base, wanted)]
            for i, rounding in enumerate(helped):
                progress(count * len(helped) + i, len(samples) * len(helped))
                errors.append(_powers(widened.with_narrow([rounding], inputs, values), base))
                elements[i] = values[rounding.source].numel()
            powers = powers + np.array(errors).T
            signal = signal + np.array([_square(t) for t in wanted])
    needs = np.zeros((len(helped), len(units.all)), bool)
    for i, rounding in enumerate(helped):
        needs[i, list(rounding.needs or ())] = True
    return Noise(powers / np.maximum(signal, np.finfo(float).tiny)[:, None], needs, elements)


def _powers(noisy: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> list[float]:
    """Of the error of each output, where it is finite."""
    return [_square(a - b) for a, b in zip(noisy, exact, strict=True)]


def _square(tensor: torch.Tensor) -> float:
    return float(tensor.nan_to_num(0, 0, 0).square().sum())


def _reals(outputs: Iterable[Any]) -> list[torch.Tensor]:
    return [t.double() for t in outputs if isinstance(t, torch.Tensor) and t.is_floating_point()]


def _path(node: Node) -> tuple[Node, list[Node]] | None:
    """From a dequantize node back: what was quantized, and its quantize nodes in order; None for constants."""
    quantizers: list[Node] = []
    while is_dequantize(node):
        quantize = node.args[0]
        if not isinstance(quantize, Node) or not is_quantize(quantize) or not isinstance(quantize.args[0], Node):
            return None
        quantizers.insert(0, quantize)
        node = quantize.args[0]
    return None if node.op == "get_attr" else (node, quantizers)


def _is_narrow(quantize: Node) -> bool:
    low, high = quantize.args[3:5] if len(quantize.args) >= 5 else (None, None)
    return isinstance(low, int) and isinstance(high, int) and (high - low).bit_length() <= 8


def _needs(source: Node, quantizers: Sequence[Node], reader: Node, units: Units) -> frozenset[int] | None:
    """The first quantize node has the bits of what makes the number, the last those of what reads it."""
    needs: set[int] = set()
    for end, quantize in ((source, quantizers[0]), (reader, quantizers[-1])):
        if not _is_narrow(quantize) or end.op in ("placeholder", "output"):
            continue
        if end.name not in units.of:
            return None
        needs.add(units.of[end.name])
    return frozenset(needs)


def _reached(readers: Iterable[Node]) -> set[Node]:
    """Some nodes and all that follow them."""
    pending, seen = list(readers), set[Node]()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending += node.users
    return seen


class Widened:
    """A converted model whose readers are given 16 bits in place of 8."""

    def __init__(self, module: GraphModule, roundings: Sequence[Rounding], wide: Mapping[str, Parameters]) -> None:
        self._runner = Runner(module, keep=True)
        self._edges = {edge: r.source for r in roundings for edge in r.edges}
        self._is_reused = not any(mutable(node) for node in module.graph.nodes)
        self._wide = wide

    def base(self, inputs: Sequence[Any]) -> tuple[list[torch.Tensor], dict[Node, Any]]:
        """The outputs that are real numbers with 16 bits everywhere, and the value of each node."""
        self._runner.replaced = {edge: partial(self._widened, source) for edge, source in self._edges.items()}
        return _reals(self._runner.outputs(inputs)), dict(self._runner.env)

    def with_narrow(
        self, roundings: Sequence[Rounding], inputs: Sequence[Any], values: Mapping[Node, Any]
    ) -> list[torch.Tensor]:
        """The outputs with some roundings to 8 bits; of ``values`` what they do not reach is taken over."""
        narrow = {edge for rounding in roundings for edge in rounding.edges}
        self._runner.replaced = {
            edge: partial(self._widened, source) for edge, source in self._edges.items() if edge not in narrow
        }
        known = None
        if self._is_reused:
            reached = _reached(reader for _, reader in narrow)
            known = {node: value for node, value in values.items() if node not in reached and node.op != "output"}
        return _reals(self._runner.outputs(inputs, known))

    def _widened(self, source: Node, values: Mapping[Node, Any]) -> torch.Tensor:
        exact: torch.Tensor = values[source]
        if source.name not in self._wide:
            return exact.clone()  # an operator in place may write to it
        scale, zero, low, high = self._wide[source.name]
        return ((torch.round(exact / scale) + zero).clamp(low, high) - zero) * scale
