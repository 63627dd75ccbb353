"""Sums of squares below a function that is steep at 0, such as the root of an energy: one unit, in 16 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.node_facts import facts
from ...lowering.rule import Q
from ...lowering.rule_set import RuleSet
from ..probe.calls import FEW, Sample
from ..probe.judge import accepts
from ..probe.runner import look
from ..schemes.config import QuantizationConfig
from .node_roles import ACCUMULATES, float_inputs, is_float_result, is_sum

ConfigOf = Callable[[Node], QuantizationConfig | None]


def sums_of_squares(
    module: GraphModule,
    rules: RuleSet,
    config_of: ConfigOf,
    computed: set[Node],
    samples: Sequence[Sample] = (),
) -> set[Node]:
    """The results to keep in 16 bits: products, what adds them up, and so on to what a steep function reads.

    A square has twice the range of its operand in dB, and the function makes the small ones large again. In 8 bits
    squares below half a step are 0, and behind a root the first step is a sixteenth of the range. In 16 bits the
    root has what the 8 bits of the operand had; but only if each tensor between them has 16.

    Args:
        samples: calls of the model, which tell whether a unit gains by it; without any, all units are taken.
    """
    units: dict[Node, set[Node]] = {}
    for node in module.graph.nodes:
        if rules.traits_of(node).steep and _can_be_wide(node, config_of):
            units[node] = _SumOfSquares(rules, config_of, computed).of(node)
    readers = [node for node, unit in units.items() if unit]
    chosen = worth_16_bits(module, readers, samples) if samples else readers
    return {node for reader in chosen for node in units[reader]}


class _SumOfSquares:
    """The unit that ends in one steep function."""

    def __init__(self, rules: RuleSet, config_of: ConfigOf, computed: set[Node]) -> None:
        self._rules, self._config_of, self._computed = rules, config_of, computed

    def of(self, reader: Node) -> set[Node]:
        """The results to keep in 16 bits; none where what the function reads has no product, or cannot have 16 bits."""
        sources = float_inputs(reader)
        if len(sources) != 1:  # it computes in another type than float32
            return set()
        (source,) = sources
        able = self._made_of(source, self._is_able)
        while lost := {node for node in able if not self._fits(node, able)}:
            able -= lost
        unit = self._made_of(source, able.__contains__)
        return unit if any(self._is_product(node) for node in unit) else set()

    def _made_of(self, source: Node, wanted: Callable[[Node], bool]) -> set[Node]:
        """A result and what it is computed from, as far as that is wanted and no further than to products."""
        makers: set[Node] = set()
        waiting = [source]
        while waiting:
            node = waiting.pop()
            if node in makers or not wanted(node):
                continue
            makers.add(node)
            if not self._is_product(node) and not self._is_layer(node):
                waiting += float_inputs(node)
        return makers

    def _is_able(self, node: Node) -> bool:
        rule = self._rules.of_node(node)
        if rule is None or node not in self._computed or not _can_be_wide(node, self._config_of):
            return False
        return rule.quant in ACCUMULATES or (rule.quant in (Q.BOUNDS, Q.SHARED) and not facts(node).rescales)

    def _fits(self, node: Node, unit: set[Node]) -> bool:
        """Whether all that reads a result reads 16 bits of it, and whether what it has its scale from has 16 bits."""
        rule = self._rules.of_node(node)
        own = rule is not None and rule.quant in ACCUMULATES
        return all(user in unit or self._reads_wide(user) for user in node.users) and (
            own or unit.issuperset(float_inputs(node))
        )

    def _reads_wide(self, user: Node) -> bool:
        rule = self._rules.of_node(user)
        return rule is not None and _can_be_wide(user, self._config_of) and (rule.traits.steep or is_sum(user, rule))

    def _is_product(self, node: Node) -> bool:
        """A product of two results, such as a square."""
        operands = node.args[:2]
        product = self._rules.traits_of(node).arithmetic == "mul"
        return product and all(isinstance(a, Node) and a in self._computed for a in operands)

    def _is_layer(self, node: Node) -> bool:
        rule = self._rules.of_node(node)
        return rule is not None and rule.quant in (Q.CONV, Q.NORM)


def _can_be_wide(node: Node, config_of: ConfigOf) -> bool:
    """Whether the scheme of a float result has 16 bits to offer."""
    if node.op != "call_function" or not is_float_result(node):
        return False
    config = config_of(node)
    return config is not None and config.wide is not None


_STEPS = 255  # of 8 bits

#: 16 bits of the operand are worth their cycles where its 8 bits make ten times the error of rounding the result. Of
#: the networks in docs/notes/2026-11-25-energies.md those that gain 4 dB or more have 17 times as much at least.
_PART = 1 / 10


def worth_16_bits(module: GraphModule, functions: Iterable[Node], samples: Sequence[Sample]) -> set[Node]:
    """The functions whose results are far worse by what 8 bits round off their operand than by their own 8 bits.

    Far from 0 a root is flat, and 8 bits of its operand do it no harm; 16 would cost cycles for nothing.

    Args:
        module: in float, not annotated yet.
        functions: of one operand, steep at 0.
        samples: calls of the model; four at most are used.
    """
    operands = {node: float_inputs(node)[0] for node in functions}
    if not operands:
        return set()
    values: dict[Node, list[torch.Tensor]] = {node: [] for node in (*operands, *operands.values())}

    def see(node: Node, _args: Sequence[Any], result: torch.Tensor) -> None:
        if result.numel():
            values[node].append(result.clone())

    look(samples[:FEW], module, values, see)
    return {
        node for node, operand in operands.items() if values[node] and _is_worth(node, values[operand], values[node])
    }


def _is_worth(node: Node, operands: list[torch.Tensor], results: list[torch.Tensor]) -> bool:
    """Whether the mean square error behind the function is many times that of rounding its result."""
    step = _step(operands)
    target: Any = node.target
    errors = [
        (target((x / step).round() * step, *node.args[1:], **node.kwargs) - y).double().square().mean()
        for x, y in zip(operands, results, strict=True)
    ]
    own = torch.full((len(errors),), _step(results) ** 2 / 12)
    return bool(accepts(torch.stack(errors), own, _PART))


def _step(values: list[torch.Tensor]) -> float:
    """Of 8 bits that reach from the least to the most, and to 0."""
    low, high = (min(0.0, *(float(v.min()) for v in values)), max(0.0, *(float(v.max()) for v in values)))
    return (high - low) / _STEPS or 1.0
