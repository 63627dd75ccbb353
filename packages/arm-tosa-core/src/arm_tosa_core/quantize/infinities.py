"""Decisions by infinity: integers have none, and saturate at the end of the range of the other numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..compat.torch import HigherOrderOperator, tree_leaves
from ..lowering.exported_program import mutable, source_line
from ..lowering.node_facts import facts
from ..lowering.operator_names import canonical
from ..lowering.rule_set import RuleSet
from ..support.errors import UsageError
from .probe.calls import SAMPLES, Sample, inputs_of
from .probe.runner import Look, Runner, Saved, restore, saved, unwritten
from .schemes.observers import MaskedHistogramObserver

#: Operators that decide and give other numbers than truth values.
_DECIDE = ("aten.bucketize", "aten.sign.")


class Infinities:
    """Decisions of a prepared model behind numbers that mean "infinite" to observers.

    They are the truth values that an operator gives, and all that branches and loops give besides real numbers.
    """

    def __init__(self, prepared: GraphModule, rules: RuleSet) -> None:
        self._prepared = prepared
        self._asking = {node for node in prepared.graph.nodes if _asks(node)}
        #: Choices (``where``) by such a truth value, and the truth value.
        self._choices: dict[Node, Node] = {}
        for node in prepared.graph.nodes:
            if (places := rules.traits_of(node).chooses) is not None and node.args[places[0]] in self._asking:
                self._choices[node] = node.args[places[0]]
        behind = {user for choice in self._choices for user in choice.users}
        observed = [node for node in _with_all_before(self._asking) | behind if node.op == "call_module"]
        every = ((str(node.target), getattr(prepared, str(node.target))) for node in observed)
        self._observers = {name: each for name, each in every if isinstance(each, MaskedHistogramObserver)}
        self._writes = any(mutable(node) for node in prepared.graph.nodes)
        #: The first samples with such numbers, and buffers as they were before.
        self._samples: list[tuple[Sample, Saved]] = []

    def kept(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """The samples; keeps the first ones that lead to such numbers before a truth value."""
        for sample in samples:
            if not self._observers or len(self._samples) == SAMPLES:
                yield sample
                continue
            state, before = saved(self._prepared) if self._writes else [], self._count()
            yield sample
            if self._count() > before:
                self._samples.append((sample, state))

    def _count(self) -> int:
        return sum(observer.masked for observer in self._observers.values())

    def refuse(self) -> None:
        """Runs the calibrated model on these samples, as it is and with such numbers clipped to the observers' ranges.

        A truth value may differ that only chooses between numbers which are then clipped to the same, as in
        ``nan_to_num``, or that differs no longer if the numbers compared are rounded to integers.

        Raises:
            UsageError: an operator has another result; names it, and says what to do.
        """
        if not self._samples:
            return
        wanted: dict[Node, list[torch.Tensor]] = {}
        wrong: dict[Node, torch.Tensor] = {}

        def keep(node: Node, _args: Any, results: Any) -> None:
            wanted[node] = [result.clone() for result in _decisions(node, results)]

        def compare(node: Node, args: Any, results: Any) -> None:
            asking = self._choices.get(node, node)
            chooses = (
                asking is node and bool(node.users) and all(self._choices.get(user) is node for user in node.users)
            )
            for result, exact in zip(_decisions(node, results), wanted[node], strict=True):
                if result.shape != exact.shape:  # a size is computed from such numbers
                    raise UsageError(_refusal(asking))
                if asking is not node:
                    bad = wrong[asking] & ranges.differ(node, result, exact)
                else:
                    bad = result != exact
                    if bad.any() and not _has_graphs(node):
                        bad = bad & (node.target(*ranges.rounded(node, args), **node.kwargs) != exact)  # type: ignore[operator]
                    wrong[node] = bad
                if bad.any() and not chooses:
                    raise UsageError(_refusal(asking))

        looked_at = self._asking | self._choices.keys()
        ranges = _Ranges({name: _Range.of(observer) for name, observer in self._observers.items()})
        as_it_is = Runner(self._prepared, dict.fromkeys(looked_at, keep))
        clipping = _Clipping(self._prepared, dict.fromkeys(looked_at, compare), ranges)
        with unwritten(self._prepared), torch.random.fork_rng(devices=()):
            for sample, state in self._samples:
                for runner in (as_it_is, clipping):
                    restore(state)
                    torch.manual_seed(0)
                    runner.outputs(inputs_of(self._prepared, sample))


@dataclass(frozen=True)
class _Range:
    """What the integers of an observer stand for."""

    observer: MaskedHistogramObserver
    scale: float
    zero_point: int

    @classmethod
    def of(cls, observer: MaskedHistogramObserver) -> _Range:
        scale, zero_point = observer.calculate_qparams()
        return cls(observer, float(scale), int(zero_point))

    def clipped(self, x: torch.Tensor) -> torch.Tensor:
        """With the numbers that mean "infinite" at the ends of the range."""
        least, greatest = (
            (end - self.zero_point) * self.scale for end in (self.observer.quant_min, self.observer.quant_max)
        )
        return torch.where(self.observer.infinite(x), x.clamp(least, greatest), x)

    def rounded(self, x: torch.Tensor) -> torch.Tensor:
        """As the integers have it."""
        return torch.fake_quantize_per_tensor_affine(
            x, self.scale, self.zero_point, int(self.observer.quant_min), int(self.observer.quant_max)
        )


class _Ranges(dict[str, _Range]):
    """By the names of observers."""

    def rounded(self, node: Node, args: Any) -> list[Any]:
        """The arguments of an operator, those that are observed rounded to integers."""
        pairs = zip(node.args, args, strict=True)
        found = (self.get(str(read.target)) if isinstance(read, Node) else None for read in node.args)
        return [x if each is None else each.rounded(x) for (_, x), each in zip(pairs, found, strict=True)]

    def differ(self, node: Node, result: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
        """Where two results of an operator are other integers to its readers, by more than rounding."""
        for user in node.users:
            if (each := self.get(str(user.target))) is not None:
                return (each.rounded(result) - each.rounded(exact)).abs() > 1.5 * each.scale
        return result != exact


class _Clipping(Runner):
    """Runs a calibrated module in float, with numbers that mean "infinite" clipped to the ranges of their observers."""

    def __init__(self, module: GraphModule, looks: dict[Node, Look], ranges: _Ranges) -> None:
        super().__init__(module, looks)
        self._ranges = ranges

    def at_observer(self, observer: Node, x: Any) -> Any:
        each = self._ranges.get(str(observer.target))
        return x if each is None or not x.numel() else each.clipped(x)


def _asks(node: Node) -> bool:
    """Whether an operator reads a quantized tensor, and decides something."""
    if node.op != "call_function" or not any(n.op == "call_module" for n in node.all_input_nodes):
        return False
    decisions = _decisions(node, node.meta.get("val"))
    if _has_graphs(node) or canonical(node.target).startswith(_DECIDE):
        return bool(decisions)
    return any(x.dtype == torch.bool for x in decisions)


def _has_graphs(node: Node) -> bool:
    """Whether it is a branch or a loop."""
    return isinstance(node.target, HigherOrderOperator)


def _decisions(node: Node, results: Any) -> list[torch.Tensor]:
    """What an operator decides, of its results; of one that decides nothing its result."""
    tensors = [x for x in tree_leaves(results) if isinstance(x, torch.Tensor)]
    if _has_graphs(node):
        return [x for x in tensors if not x.is_floating_point()]
    return [x for x in tensors if x.dtype == torch.bool] or tensors[:1]


def _with_all_before(nodes: Iterable[Node]) -> set[Node]:
    found: set[Node] = set()
    todo = list(nodes)
    while todo:
        if (node := todo.pop()) not in found:
            found.add(node)
            todo += node.all_input_nodes
    return found


def _refusal(node: Node) -> str:
    line = source_line(node)
    return (
        f"{facts(node).whole or node.name!r}{f' ({line})' if line else ''} asks for infinity, or for a number that "
        "stands for it, which the calibration data lead to. Integers clip such numbers to the range of the others, and "
        "its result would be another. Compute these truth values before the model and give it those, or keep this "
        "operator and those before it in float"
    )
