"""Sums of squares below a function that is steep at 0, such as the root of an energy: one unit, in more bits.

In an int8 scheme it has 16, in one of int16 the 32 in which it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node

from ...lowering.node_facts import facts
from ...lowering.rule import Q, Rule
from ...lowering.rule_set import RuleSet
from ..probe.calls import FEW, Sample
from ..probe.runner import look
from ..schemes.config import QuantizationConfig
from ..schemes.factors import Factors
from .node_roles import ACCUMULATES, float_inputs, is_float_result, is_sum
from .norm_factors import is_norm_factor

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
    chosen = worth_more_bits(module, readers, samples, 8, rules) if samples else readers
    return {node for reader in chosen for node in units[reader]}


def unrounded_sums(
    module: GraphModule, rules: RuleSet, config_of: ConfigOf, computed: set[Node], samples: Sequence[Sample]
) -> set[Node]:
    """Of a scheme of int16, the results that keep 32 bits, for a function reads their sums.

    Its tables have several ranges then, the finest around 0 (``lowering.builder.wide_tables``).

    Args:
        samples: calls of the model, which tell whether a unit gains by it.
    """
    units = {}
    for node in module.graph.nodes:
        if _is_steep(node, rules) and has_16_bits(node, config_of):
            units[node] = _Unrounded(rules, config_of, computed).of(node)
    readers = [node for node, unit in units.items() if unit]
    return {node for reader in worth_more_bits(module, readers, samples, 16, rules) for node in units[reader]}


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


class _Unrounded(_SumOfSquares):
    """The unit in an int16 scheme: arithmetic, its bounds and views of it, which nobody else reads."""

    def _is_able(self, node: Node) -> bool:
        rule = self._rules.of_node(node)
        if rule is None or node not in self._computed or not has_16_bits(node, self._config_of):
            return False
        if rule.traits.arithmetic == "mul" and not self._is_product(node) and not _is_scaled(node):
            return False  # a product with constants takes 16 bits of each
        return rule.traits.arithmetic is not None or rule.quant is Q.BOUNDS or hands_on(node, rule)

    def _fits(self, node: Node, unit: set[Node]) -> bool:
        return all(user in unit or self._reads_wide(user) for user in node.users)

    def _reads_wide(self, user: Node) -> bool:
        return _is_steep(user, self._rules) and has_16_bits(user, self._config_of)


def _is_scaled(node: Node) -> bool:
    """Whether a product is with a number, which changes the scale and at most the sign."""
    factor = node.args[1]
    return isinstance(factor, (int, float)) and factor != 0


def hands_on(node: Node, rule: Rule) -> bool:
    """Whether a result has the numbers of the one operand, each once, in any order."""
    inputs = float_inputs(node)
    moves = rule.quant is Q.SHARED and bool(rule.traits.moves) and not facts(node).rescales and len(inputs) == 1
    return moves and inputs[0].meta["val"].numel() == node.meta["val"].numel()


def _is_steep(node: Node, rules: RuleSet) -> bool:
    traits = rules.traits_of(node)
    return traits.steep or traits.pole


def has_16_bits(node: Node, config_of: ConfigOf) -> bool:
    """Whether a float result has 16 bits by its scheme, from calibration."""
    config = config_of(node) if node.op == "call_function" and is_float_result(node) else None
    spec = None if config is None or config.is_qat else config.output_activation
    return spec is not None and spec.dtype == torch.int16


def _can_be_wide(node: Node, config_of: ConfigOf) -> bool:
    """Whether the scheme of a float result has 16 bits to offer."""
    if node.op != "call_function" or not is_float_result(node):
        return False
    config = config_of(node)
    return config is not None and config.wide is not None


#: 16 bits of the operand are worth their cycles where its 8 bits make ten times the error of rounding the result. Of
#: the networks in docs/notes/2026-11-25-energies.md those that gain 4 dB or more have 17 times as much at least.
_PART = 1 / 10


def worth_more_bits(
    module: GraphModule, functions: Iterable[Node], samples: Sequence[Sample], bits: int, rules: RuleSet
) -> set[Node]:
    """The functions whose results are far worse by what 8 or 16 bits round off their operand than by their own bits.

    Far from 0 a root is flat, and 8 bits of its operand do it no harm; 16 would cost cycles for nothing.

    Args:
        module: in float, not annotated yet.
        functions: of one operand, steep at 0.
        samples: calls of the model; four at most are used.
        bits: of an operand and of a result, 8 or 16.
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
        node
        for node, operand in operands.items()
        if values[node] and _is_worth(node, values[operand], values[node], bits, is_norm_factor(node, rules))
    }


def _is_worth(
    node: Node, operands: list[torch.Tensor], results: list[torch.Tensor], bits: int, is_relative: bool
) -> bool:
    """Whether the mean square error behind the function is many times that of rounding its result.

    One sample may have all of it: more bits make none worse.
    """
    if bits == 16 and min(float(x.min()) for x in operands) < 0:  # on both sides of a pole
        return False
    step, target = _step(operands, bits), cast(Any, node.target)
    most = max(float(y.max()) for y in results)  # at a pole
    own = _step(results, bits)
    if is_relative:
        factors = Factors(2**bits - 1)
        for y in results:
            factors.add(y)
        most = factors.reach()
        own = most / (2**bits - 1)
    error = rounding = 0.0
    for x, y in zip(operands, results, strict=True):
        exact = y.double().clamp(max=most)
        rounded = target((x / step).round() * step, *node.args[1:], **node.kwargs).nan_to_num(most, most)
        unit = torch.where(exact == 0, math.inf, exact) if is_relative else torch.ones_like(exact)
        error += float(((rounded.double().clamp(max=most) - exact) / unit).square().mean())
        rounding += float((own / unit).square().mean() / 12)
    return math.isfinite(most) and error * _PART > rounding


def _step(values: list[torch.Tensor], bits: int) -> float:
    """Of 8 bits that reach from the least to the most, and to 0, or of 16 that reach as far to both sides of it."""
    low, high = (min(0.0, *(float(v.min()) for v in values)), max(0.0, *(float(v.max()) for v in values)))
    reach = 2 * max(high, -low) if bits == 16 else high - low
    return reach / (2**bits - 1) or 1.0
