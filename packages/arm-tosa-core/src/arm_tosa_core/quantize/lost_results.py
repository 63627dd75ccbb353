"""Results of a quantized model that have little in common with those in float, whatever the reason is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..aten.wrapped_graphs import graphs_of
from ..compat.torch import tree_leaves
from ..lowering.exported_program import source_line
from ..lowering.node_facts import facts
from ..lowering.operator_names import canonical
from ..lowering.values import unbounded
from ..support.errors import LostResultWarning, UsageError
from .probe.calls import Sample, is_empty
from .probe.runner import Runner, run
from .schemes.observers import MaskedHistogramObserver

#: Signal to noise, in dB, below which a warning is due: of a model with tensors of 8 bits, and of one without.
_LEAST, _LEAST_OF_16_BITS = 10.0, 20.0
_BYTE = 255
#: Samples on which the quantized model is run.
_COMPARED = 2
#: What gives the same numbers, in another type or place.
_COPIES = ("aten._to_copy", "aten.to.", "aten.clone", "aten.contiguous")


class Results:
    """What the float model gives in calibration: the results of two samples, and how far those of all spread."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.outputs: list[list[Any]] = []
        #: By the place of a result: how many numbers, their sum, and that of their squares.
        self._sums: dict[int, torch.Tensor] = {}

    def add(self, sample: Sample, outputs: Sequence[Any]) -> None:
        """Takes a call; one without elements counts for nothing."""
        if is_empty(sample):
            return
        if len(self.samples) < _COMPARED:
            self.samples.append(sample)
            self.outputs.append(_kept(outputs))
        for place, x in enumerate(outputs):
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                numbers = x[_known(x)].double()
                sums = torch.stack([torch.ones_like(numbers), numbers, numbers.square()]).flatten(1).sum(1)
                self._sums[place] = self._sums.get(place, 0) + sums

    def variance(self, place: int) -> float:
        """Of the numbers of a result in all calls."""
        count, total, squares = self._sums[place].tolist()
        return max(squares - total * total / count, 0.0) / count if count else 0.0


def warn_of_lost_results(prepared: GraphModule, converted: GraphModule, floats: Results) -> None:
    """Warns of results that differ grossly from those in float, on samples of the calibration.

    The signal of a result is what it differs by from the mean of all its numbers, in these samples or in all of the
    calibration. Not judged are integers, truth values, signs and what is cast from them, complex numbers, masks,
    results of one number alone or of other sizes than in float, and models with random numbers.

    Args:
        prepared: calibrated.
        floats: its results.

    Raises:
        UsageError: the quantized model does not run, as where an index leaves its axis.

    Warns:
        LostResultWarning: names the results, their signal to noise, and what to do.
    """
    nodes = (node for part in graphs_of(prepared) for node in part.graph.nodes)
    if any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in nodes):
        return
    try:
        calls = [_kept(outputs) for _, (outputs,) in run(floats.samples, Runner(converted))]
    except (RuntimeError, IndexError) as error:
        raise UsageError(_does_not_run(error)) from error
    narrow = _has_bytes(prepared)
    least = _LEAST if narrow else _LEAST_OF_16_BITS
    lost: dict[str, float] = {}
    for place, leaf in enumerate(tree_leaves(prepared.graph.output_node().args[0])):
        pairs = [(exact[place], noisy[place]) for exact, noisy in zip(floats.outputs, calls, strict=True)]
        if not isinstance(leaf, Node) or not _is_judged(leaf):
            continue
        if (ratio := _decibels(pairs, floats.variance(place))) < least:
            name = _named(leaf)
            lost[name] = min(ratio, lost.get(name, math.inf))
    if lost:
        said = ", ".join(f"{name}: {ratio:.1f} dB" for name, ratio in lost.items())
        warnings.warn(
            f"signal to noise of results on calibration samples is below {least:.0f} dB: {said}. Find the layer with "
            f"`arm-tosa accuracy`, and keep it in float{' or give it 16 bits' * narrow}; numbers that are put together "
            "into one tensor, or are normed, need sizes that are alike",
            LostResultWarning,
            stacklevel=3,
        )


def _kept(outputs: Sequence[Any]) -> list[Any]:
    """Results as they are now: one may be a buffer to which the next call writes."""
    return [x.clone() if isinstance(x, torch.Tensor) else x for x in outputs]


def _has_bytes(prepared: GraphModule) -> bool:
    """Whether a tensor of activations has 8 bits."""
    observers = (m for m in prepared.modules() if isinstance(m, MaskedHistogramObserver))
    return any(observer.quant_max - observer.quant_min <= _BYTE for observer in observers)


def _does_not_run(error: Exception) -> str:
    reason = str(error).strip().splitlines()[0].rstrip(".")
    text = f"the quantized model does not run on a sample of the calibration data, and the float one does: {reason}. "
    if isinstance(error, IndexError) or "out of bounds" in reason:
        text += "Quantization rounds the numbers of which an index is made: bound it (clamp), or keep"
    else:
        text += "Keep"
    return f"{text} what computes it in float or in 16 bits"


def _is_judged(leaf: Node) -> bool:
    """Whether a result is of real numbers that are more than decisions."""
    node = _behind_observer(leaf)
    if not _is_real(node):
        return False
    while node.op == "call_function" and canonical(node.target).startswith(_COPIES):
        node = _behind_observer(node.all_input_nodes[0])
    signs = node.op == "call_function" and canonical(node.target) == "aten.sign.default"
    return _is_real(node) and not signs


def _is_real(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _behind_observer(node: Node) -> Node:
    while node.op == "call_module":
        (node,) = node.all_input_nodes
    return node


def _named(leaf: Node) -> str:
    node = _behind_observer(leaf)
    line = source_line(node)
    return f"{facts(node).whole or node.name!r}" + (f" ({line})" if line else "")


def _known(x: torch.Tensor) -> torch.Tensor:
    """Which numbers count: those that are finite, and no masks."""
    return x.isfinite() & ~unbounded(x)


def _decibels(pairs: Sequence[tuple[Any, Any]], variance: float) -> float:
    """Signal to noise of a result in all calls, float and quantized; infinite if it is not judged."""
    known = [_known(a) for a, _ in pairs]
    if any(a.shape != b.shape for a, b in pairs) or all(a.numel() == 1 for a, _ in pairs):
        return math.inf
    floats = torch.cat([a[each].double() for (a, _), each in zip(pairs, known, strict=True)])
    if not floats.numel():
        return math.inf
    noise = torch.cat([(b - a)[each].double() for (a, b), each in zip(pairs, known, strict=True)])
    signal = max(float((floats - floats.mean()).square().mean()), variance)
    error = float(noise.square().mean())
    if not signal > 1e-12 * float(floats.square().mean()) or error == 0:
        return math.inf
    return 10 * math.log10(signal / error) if math.isfinite(error) else -math.inf
