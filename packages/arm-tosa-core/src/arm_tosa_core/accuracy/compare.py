"""Float against quantized, operator by operator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule, Node

from ..compat.torch import tree_leaves
from ..lowering.exported_program import is_dequantize, is_quantize, module_path, mutable, source_line
from ..lowering.operator_names import canonical
from ..quantize.probe.calls import Sample
from ..quantize.probe.runner import Runner, run
from .task_metric import Calls, Metric

_BINS = 64


@dataclass
class OperatorError:
    """One operator's result, over all samples.

    Args:
        name: of the node in the exported graph.
        operator: as ATen names it.
        module: the module that it belongs to, as ``named_modules`` has it; "" if the exporter does not say.
        source: the line of the user's model.
        bits: of the integers that hold the result; None if it is not rounded
            by itself: in float, or merged into what follows.
        step: the scale of those integers, or None.
        range: least and greatest result in float.
        representable: the reals that the integers reach, or None.
        saturated: fraction of the results in float that lie beyond.
        sqnr_db: of the result in the quantized model against float, dB: the errors of all before it included.
        own_sqnr_db: of the float result rounded to its integers: its own error alone; None if it is not quantized.
        histogram: counts of the finite float results, all of them, in equal bins over ``histogram_range``.
        histogram_range: of those bins; holds ``range``.
    """

    name: str
    operator: str
    module: str
    source: str
    bits: int | None
    step: float | None
    range: tuple[float, float]
    representable: tuple[float, float] | None
    saturated: float
    sqnr_db: float
    own_sqnr_db: float | None
    histogram: list[int] = field(default_factory=list)
    histogram_range: tuple[float, float] = (0.0, 0.0)


@dataclass
class OutputError:
    """One output's result, over all samples.

    Args:
        name: its key in the dictionary that the model returns, else that of the node that gives it.
        sqnr_db: against float, dB; None for integers.
        equal: fraction of the integers, such as the classes of an ``argmax``, that are the same; None for real numbers.
    """

    name: str
    sqnr_db: float | None
    equal: float | None


@dataclass
class Comparison:
    """A quantized model against float.

    Args:
        outputs: one figure per output, in the order of the model.
        operators: in the order of the network.
        samples: how many calls were compared.
        errors: of each of them, the power of the error relative to the output's, of the output that has most.
        metric: of the user's function for the quantized model; None without one.
        float_metric: the same for the float model.
        calls: what the function was asked about.
    """

    outputs: list[OutputError]
    operators: list[OperatorError]
    samples: int
    errors: tuple[float, ...]
    metric: float | None = None
    float_metric: float | None = None
    calls: Calls | None = None

    @property
    def sqnr_db(self) -> float | None:
        """The least of all outputs that are real numbers; None if there is none."""
        return min((o.sqnr_db for o in self.outputs if o.sqnr_db is not None), default=None)

    @property
    def equal(self) -> float | None:
        """The least of all outputs that are integers; None if there is none."""
        return min((o.equal for o in self.outputs if o.equal is not None), default=None)

    def worst(self) -> list[OperatorError]:
        """The operators, the least SQNR first."""
        return sorted(self.operators, key=lambda row: (row.sqnr_db, row.name))


def decibels(signal: float, noise: float) -> float:
    """Ratio of two powers; infinity without noise, minus infinity where there is only noise."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf


def compare(
    prepared: GraphModule,
    converted: GraphModule,
    samples: Iterable[Sample],
    *,
    operators: bool = True,
    metric: Metric | None = None,
    known: list[list[Any]] | None = None,
) -> Comparison:
    """Runs both graphs on the same samples; buffers that they write have their numbers again after it.

    Args:
        prepared: what ``prepare_pt2e`` gave: the float model, its composites taken apart. Its observers do not observe.
        converted: what ``convert_pt2e`` made of a copy of it; equal operators have equal names.
        operators: also look at every operator, not only at the outputs.
        metric: also ask this about the outputs; they are kept for all samples.
        known: the float outputs of each sample, flat, of an earlier comparison without ``operators``: the float model
            does not run. An empty list is filled.
    """
    rows: dict[str, _Row] = {}
    calls = Calls()
    ends = [_Output(name) for name in output_names(prepared)]
    count = 0
    exact = {n.name: n for n in prepared.graph.nodes if operators and _computes(n)}
    seen = _results(converted, exact)
    floats, integers = _Results(), _Results()
    runners = [Runner(converted, dict.fromkeys(seen.values(), integers.see))]
    is_known = bool(known)
    if not is_known:
        runners.insert(0, Runner(prepared, dict.fromkeys(exact.values(), floats.see)))
    for (args, kwargs), outputs in run(samples, *runners):
        got = outputs[-1]
        wanted = known[count] if known is not None and is_known else outputs[0]
        if known is not None and not is_known:
            known.append(wanted)
        for name, node in seen.items():
            if name in floats.kept:
                row = rows.setdefault(name, _Row(exact[name], node))
                row.add(floats.kept[name], integers.kept[node.name])
        for end, a, b in zip(ends, wanted, got, strict=True):
            if isinstance(a, torch.Tensor):
                end.add(a, b)
        if metric is not None:
            structured = prepared.graph.process_outputs
            calls.add(structured(wanted), structured(got), args, kwargs)
        floats.kept, integers.kept = {}, {}
        count += 1
    reals = [end.errors() for end in ends if end.real]
    made = Comparison(
        [end.finish() for end in ends if end.count],
        [row.finish() for row in rows.values()],
        count,
        tuple(map(max, zip(*reals, strict=True))),
    )
    if metric is not None:
        made.metric, made.float_metric, made.calls = calls.score(metric), calls.score_of_float(metric), calls
    return made


def output_names(prepared: GraphModule) -> list[str]:
    """Of each output: its key, if the model returns a dictionary, else the node that gives it."""
    (output,) = prepared.graph.find_nodes(op="output")
    leaves = list(tree_leaves(output.args[0]))
    made = prepared.graph.process_outputs(leaves)
    if isinstance(made, Mapping) and len(made) == len(leaves):
        return [str(key) for key in made]
    return [_source(leaf).name if isinstance(leaf, Node) else str(leaf) for leaf in leaves]


def _source(node: Node) -> Node:
    """What an observer looks at; any other node itself."""
    while node.op == "call_module" and node.name.startswith("activation_post_process"):
        node = node.all_input_nodes[0]
    return node


class _Results:
    """The float results of nodes in one call, by their names."""

    def __init__(self) -> None:
        self.kept: dict[str, torch.Tensor] = {}

    def see(self, node: Node, _args: Sequence[Any], result: Any) -> None:
        if isinstance(result, torch.Tensor) and result.dtype == torch.float32:
            # an operator in place, after it, would change what is kept
            self.kept[node.name] = result.clone() if any(mutable(u) for u in node.users) else result


def _computes(node: Node) -> bool:
    return node.op == "call_function" and not is_quantize(node) and not is_dequantize(node)


def _results(converted: GraphModule, wanted: Mapping[str, Node]) -> dict[str, Node]:
    """For each operator the node whose value its users see: the dequantize node behind it, or itself."""
    found: dict[str, Node] = {}
    for node in converted.graph.nodes:
        if node.name not in wanted or not _computes(node):
            continue
        quantize = next((u for u in node.users if is_quantize(u)), None)
        dequantize = next((u for u in quantize.users if is_dequantize(u)), None) if quantize else None
        found[node.name] = dequantize or node
    return found


@dataclass
class _Power:
    signal: float = 0.0
    noise: float = 0.0

    def add(self, exact: torch.Tensor, noisy: torch.Tensor) -> None:
        exact = exact.double()
        finite = exact.isfinite()
        self.signal += float(exact[finite].square().sum())
        self.noise += float((exact - noisy.double())[finite].square().sum())

    @property
    def sqnr(self) -> float:
        return decibels(self.signal, self.noise)


class _Output:
    """Sums up one output."""

    def __init__(self, name: str) -> None:
        self.name, self.power = name, _Power()
        self.noises: list[float] = []
        self.real = False
        self.same = self.count = 0

    def add(self, exact: torch.Tensor, noisy: torch.Tensor) -> None:
        self.real = exact.is_floating_point()
        self.count += exact.numel()
        if self.real:
            before = self.power.noise
            self.power.add(exact, noisy)
            self.noises.append(self.power.noise - before)
        else:
            self.same += int((exact == noisy).sum())

    def errors(self) -> list[float]:
        """Of each call, in parts of the output's power."""
        return [noise / (self.power.signal or 1.0) for noise in self.noises]

    def finish(self) -> OutputError:
        if self.real:
            return OutputError(self.name, self.power.sqnr, None)
        return OutputError(self.name, None, self.same / self.count if self.count else None)


class _Histogram:
    """Counts in equal bins, over a range that doubles where numbers lie beyond it: then two bins become one."""

    def __init__(self) -> None:
        self.counts = np.zeros(_BINS, np.int64)
        self.range: tuple[float, float] | None = None

    def add(self, numbers: np.ndarray[Any, Any], low: float, high: float) -> None:
        """Counts numbers, of which these are the least and the greatest."""
        bottom, top = self.range or (low, high if high > low else low + 1.0)
        while low < bottom or high > top:
            joined, empty = self.counts.reshape(-1, 2).sum(1), np.zeros(_BINS // 2, np.int64)
            if low < bottom:
                bottom, self.counts = bottom - (top - bottom), np.concatenate([empty, joined])
            else:
                top, self.counts = top + (top - bottom), np.concatenate([joined, empty])
        self.range = bottom, top
        self.counts += np.histogram(numbers, _BINS, self.range)[0]


class _Row:
    """Sums up one operator."""

    def __init__(self, node: Node, seen: Node) -> None:
        self.node, self.seen = node, seen
        self.all, self.own = _Power(), _Power()
        self.low, self.high = math.inf, -math.inf
        self.outside = self.count = 0
        self.histogram = _Histogram()
        self.step: float | None = None
        self.bits: int | None = None
        self.reach: tuple[float, float] | None = None
        parameters: list[Any] = list(seen.args[1:5])
        if is_dequantize(seen) and all(isinstance(a, (int, float)) for a in parameters):
            scale, zero, low, high = parameters
            self.step, self.bits = scale, int(high - low).bit_length()
            self.reach = ((low - zero) * scale, (high - zero) * scale)

    def add(self, exact: torch.Tensor, noisy: torch.Tensor) -> None:
        exact = exact.detach()
        self.all.add(exact, noisy)
        finite = exact[exact.isfinite()]
        if not finite.numel():
            return
        low, high = float(finite.min()), float(finite.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.count += exact.numel()
        self.histogram.add(finite.double().numpy(), low, high)
        if self.reach is not None and self.step is not None:
            bottom, top = self.reach
            self.outside += int(((exact < bottom - self.step / 2) | (exact > top + self.step / 2)).sum())
            rounded = torch.round((exact - bottom) / self.step) * self.step + bottom
            self.own.add(exact, rounded.clamp(bottom, top))

    def finish(self) -> OperatorError:
        return OperatorError(
            name=self.node.name,
            operator=canonical(self.node.target),
            module=module_path(self.node),
            source=source_line(self.node),
            bits=self.bits,
            step=self.step,
            range=(self.low, self.high),
            representable=self.reach,
            saturated=self.outside / max(self.count, 1),
            sqnr_db=self.all.sqnr,
            own_sqnr_db=None if self.reach is None else self.own.sqnr,
            histogram=self.histogram.counts.tolist(),
            histogram_range=self.histogram.range or (0.0, 0.0),
        )
