"""Results of a quantized model that have little in common with those in float, whatever the reason is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..compat.torch import tree_leaves
from ..lowering.exported_program import source_line
from ..lowering.node_facts import facts
from ..lowering.values import unbounded
from ..support.errors import LostResultWarning, UsageError
from .probe.calls import Sample
from .probe.runner import Runner, run
from .schemes.observers import MaskedHistogramObserver

#: Signal to noise, in dB, below which a warning is due: of a model with tensors of 8 bits, and of one without.
_LEAST, _LEAST_OF_16_BITS = 10.0, 20.0
_BYTE = 255


def warn_of_lost_results(
    prepared: GraphModule, converted: GraphModule, samples: Sequence[Sample], floats: Sequence[Sequence[Any]]
) -> None:
    """Warns of results that differ grossly from those in float, on the first samples of the calibration.

    The signal of a result is what it differs by from the mean of all its numbers. Integers, truth values, results of
    one number alone and results of models with random numbers are not judged, nor are masks in results.

    Args:
        prepared: calibrated.
        floats: its results of the first samples; of the others nothing is compared.

    Raises:
        UsageError: the quantized model does not run, as an index leaves its axis there.

    Warns:
        LostResultWarning: names the results, their signal to noise, and what to do.
    """
    if any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in prepared.graph.nodes):
        return
    try:
        calls = [outputs for _, (outputs,) in run(samples[: len(floats)], Runner(converted))]
    except (RuntimeError, IndexError) as error:
        raise UsageError(
            f"the quantized model does not run on a sample of the calibration data, and the float one does: "
            f"{str(error).strip().splitlines()[0]}. Quantization rounds the numbers of which an index or a size is "
            "made: bound it (clamp), or keep what computes it in float or in 16 bits"
        ) from error
    narrow = _has_bytes(prepared)
    least = _LEAST if narrow else _LEAST_OF_16_BITS
    names = [_named(leaf) for leaf in tree_leaves(prepared.graph.output_node().args[0])]
    lost: dict[str, float] = {}
    for place, name in enumerate(names):
        ratio = _decibels([(exact[place], noisy[place]) for exact, noisy in zip(floats, calls, strict=True)])
        if ratio < least:
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


def _has_bytes(prepared: GraphModule) -> bool:
    """Whether a tensor of activations has 8 bits."""
    observers = (m for m in prepared.modules() if isinstance(m, MaskedHistogramObserver))
    return any(observer.quant_max - observer.quant_min <= _BYTE for observer in observers)


def _named(leaf: Any) -> str:
    node = leaf.args[0] if isinstance(leaf, Node) and leaf.op == "call_module" else leaf
    if not isinstance(node, Node):
        return str(leaf)
    line = source_line(node)
    return f"{facts(node).whole or node.name!r}" + (f" ({line})" if line else "")


def _decibels(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Signal to noise of a result in all calls, float and quantized; infinite if it is not judged."""
    found = [(a, b) for a, b in pairs if isinstance(a, torch.Tensor) and a.is_floating_point() and a.numel()]
    known = [a.isfinite() & ~unbounded(a) for a, _ in found]
    if not any(bool(each.any()) for each in known):
        return math.inf
    floats = torch.cat([a[each].double() for (a, _), each in zip(found, known, strict=True)])
    noise = torch.cat([(b - a)[each].double() for (a, b), each in zip(found, known, strict=True)])
    signal, error = float((floats - floats.mean()).square().sum()), float(noise.square().sum())
    if not signal > 1e-12 * float(floats.square().sum()) or error == 0:
        return math.inf
    return 10 * math.log10(signal / error) if math.isfinite(error) else -math.inf
