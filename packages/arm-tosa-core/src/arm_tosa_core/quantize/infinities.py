"""Truth values that infinity decides: integers have none, and saturate at the end of the range of the other numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import ObserverBase

from ..lowering.exported_program import source_line
from ..lowering.node_facts import facts
from ..lowering.operator_names import canonical
from ..lowering.rule_set import RuleSet
from ..lowering.values import unbounded
from ..support.errors import UsageError
from .probe.calls import SAMPLES, Sample
from .probe.runner import Look, Runner, run

_ASK = ("aten.isinf", "aten.isfinite", "aten.isneginf", "aten.isposinf")


class Infinities:
    """The comparisons of a prepared model, and its like, of numbers that mean "infinite" (``unbounded``)."""

    def __init__(self, prepared: GraphModule, rules: RuleSet) -> None:
        self._prepared = prepared
        #: What looks at these operators in calibration.
        self.looks: Mapping[Node, Look] = {node: self._see for node in prepared.graph.nodes if _asks(node, rules)}
        #: Choices (``where``) by such a truth value, and the truth value.
        self._choices: dict[Node, Node] = {}
        for node in prepared.graph.nodes:
            if (places := rules.traits_of(node).chooses) is not None and node.args[places[0]] in self.looks:
                self._choices[node] = node.args[places[0]]
        self._shown = False
        self._samples: list[Sample] = []

    def kept(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """The samples; keeps the first ones that lead to such numbers there."""
        for sample in samples:
            self._shown = False
            yield sample
            if self._shown and len(self._samples) < SAMPLES:
                self._samples.append(sample)

    def _see(self, node: Node, args: Sequence[Any], _result: Any) -> None:
        self._shown = self._shown or bool(_infinite(node, args).any())

    def refuse(self) -> None:
        """Runs the calibrated model again on these samples, as it is and with all numbers clipped to their ranges.

        A truth value may differ that only chooses between numbers which are then clipped to the same, as in
        ``nan_to_num``.

        Raises:
            UsageError: where a number means "infinite", an operator has another result; names it, and says what to do.
        """
        looked_at = self.looks.keys() | self._choices.keys()
        seen: list[tuple[torch.Tensor, torch.Tensor]] = []
        wrong: dict[Node, torch.Tensor] = {}

        def keep(node: Node, args: Sequence[Any], result: torch.Tensor) -> None:
            seen.append((_infinite(node, args), result.clone()))

        def compare(node: Node, _args: Sequence[Any], result: torch.Tensor) -> None:
            infinite, wanted = floats.pop()
            asking = self._choices.get(node, node)
            if result.shape != wanted.shape:  # a size is computed from such numbers
                raise UsageError(_refusal(asking))
            if asking is node:
                bad = wrong[node] = infinite & (result != wanted)
            else:
                bad = wrong[asking] & (clipping.clipped(node, result) != clipping.clipped(node, wanted))
            chooses = asking is node and all(self._choices.get(user) is node for user in node.users)
            if bad.any() and not chooses:
                raise UsageError(_refusal(asking))

        clipping = _Clipping(self._prepared, dict.fromkeys(looked_at, compare), observe=True)
        self._run(Runner(self._prepared, dict.fromkeys(looked_at, keep)))
        floats = seen[::-1]
        self._run(clipping)

    def _run(self, runner: Runner) -> None:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            for _ in run(self._samples, runner):
                pass


class _Clipping(Runner):
    """Runs a calibrated module in float, with numbers clipped to the ranges of their observers."""

    def observed(self, observer: Node) -> Any:
        return self._clipped(observer, self.fetch_args_kwargs_from_env(observer)[0][0])

    def clipped(self, node: Node, result: torch.Tensor) -> torch.Tensor:
        """A result as its readers have it."""
        return next((self._clipped(user, result) for user in node.users if user.op == "call_module"), result)

    def _clipped(self, node: Node, x: torch.Tensor) -> torch.Tensor:
        observer = getattr(self.program, str(node.target))
        if not isinstance(observer, ObserverBase) or not x.numel():
            return x
        scale, zero = (each.double() for each in observer.calculate_qparams())
        if scale.numel() != 1:  # of weights
            return x
        low, high = (float((end - zero) * scale) for end in (observer.quant_min, observer.quant_max))
        return x.clamp(low, high)


def _asks(node: Node, rules: RuleSet) -> bool:
    """Whether an operator reads a quantized tensor, and its result for infinity may differ from any other's."""
    if node.op != "call_function" or not any(n.op == "call_module" for n in node.all_input_nodes):
        return False
    rule = rules.of_node(node)
    return canonical(node.target).startswith(_ASK) or (rule is not None and rule.traits.compares)


def _infinite(node: Node, args: Sequence[Any]) -> torch.Tensor:
    """Where an observed operand means "infinite"."""
    infinite = torch.tensor(False)
    for read, x in zip(node.args, args, strict=True):
        if isinstance(read, Node) and read.op == "call_module":
            infinite = infinite | unbounded(x)
    return infinite


def _refusal(node: Node) -> str:
    line = source_line(node)
    return (
        f"{facts(node).whole or node.name!r}{f' ({line})' if line else ''} asks for infinity, or for a number that "
        "stands for it: the calibration data lead to such numbers there, integers clip them to the range of the "
        "others, and its result would be another: compute these truth values before the model and give it those, or "
        "keep this operator and those before it in float"
    )
