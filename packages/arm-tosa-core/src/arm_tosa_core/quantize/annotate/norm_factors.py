"""Factors of norms: reciprocals that are multiplied with what they were computed from."""

from __future__ import annotations

from torch.fx import Node

from ...lowering.rule import Q
from ...lowering.rule_set import RuleSet
from .node_roles import ACCUMULATES, float_inputs, origin


def is_norm_factor(node: Node, rules: RuleSet) -> bool:
    """Whether all products with a reciprocal are with what it was computed from, and nothing else reads it.

    Where it is large the other operand is small, so that its relative error is the error of the product.
    """
    if not rules.traits_of(node).pole:
        return False
    sources = _made_of(node, rules)
    products, waiting = 0, [node]
    while waiting:
        factor = waiting.pop()
        for user in factor.users:
            if origin(user, rules) is node:
                waiting.append(user)
                continue
            others = [n for n in float_inputs(user) if n is not factor]
            if rules.traits_of(user).arithmetic != "mul" or len(others) != 1:
                return False
            if not sources & {origin(n, rules) for n in (others[0], *float_inputs(others[0]))}:
                return False
            products += 1
    return products > 0


def _made_of(node: Node, rules: RuleSet) -> set[Node]:
    """The tensors that a result was computed from, as far as they are arithmetic, bounds, roots and views."""
    found: set[Node] = set()
    waiting = float_inputs(node)
    while waiting:
        source = waiting.pop()
        if source in found:
            continue
        found.add(source)
        rule = rules.of_node(source)
        if rule is not None and (rule.quant in ACCUMULATES | {Q.BOUNDS, Q.SHARED} or rule.traits.steep):
            waiting += float_inputs(source)
    return found
