"""Copies of tensors with far numbers for readers that do not see how far: each copy has a scale of its own."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.fx import Graph, GraphModule, Node

from ...lowering.node_facts import note
from ...lowering.rule import Q
from ...lowering.rule_set import RuleSet
from ...lowering.values import UNBOUNDED
from .far_numbers import is_blind, put_numbers, whole_of
from .node_roles import float_inputs


def copy_for_blind(module: GraphModule, rules: RuleSet, wanted: Callable[[Node], bool]) -> None:
    """Computes a tensor twice that somebody reads far numbers of, and somebody else does not: with them, and without.

    ``s = scores.masked_fill(mask, -1e4)`` that is returned, and that a softmax reads, costs a second ``masked_fill``.

    Args:
        wanted: which nodes will be quantized.
    """
    graph = module.graph
    numbers = put_numbers(graph, rules)
    unread: set[Node] = set()
    for node in reversed(list(graph.nodes)):
        if node not in numbers:
            continue
        blind = [user for user in node.users if is_blind(user, numbers[node], unread, rules)]
        counts = wanted(node) and min(map(abs, numbers[node])) < UNBOUNDED and not _is_random(whole_of(node))
        if len(blind) == len(node.users):
            unread.add(node)
        elif blind and counts and not is_blind(whole_of(node), numbers[node], unread, rules):
            copy = _computed_again(graph, node)
            for user in blind:
                user.replace_input_with(node, copy)
            numbers[copy] = numbers[node]
            unread.add(copy)
            rule = rules.of_node(whole_of(node))
            for operand in float_inputs(whole_of(node)) if rule is not None and rule.quant is Q.SHARED else ():
                if operand not in numbers:
                    rescale(graph, whole_of(node), operand)
    module.recompile()


def _is_random(node: Node) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def rescale(graph: Graph, node: Node, operand: Node) -> None:
    """Gives a node a copy of an operand, which has a scale of its own."""
    with graph.inserting_before(node):
        copy = graph.call_function(torch.ops.aten.clone.default, (operand,))
    copy.meta = {**node.meta, "val": operand.meta["val"]}
    note(copy, rescales=True)
    node.replace_input_with(operand, copy)


def _computed_again(graph: Graph, node: Node) -> Node:
    whole = whole_of(node)
    with graph.inserting_after(node):
        copy = graph.node_copy(node)
    if whole is not node:
        with graph.inserting_before(copy):
            copy.replace_input_with(whole, graph.node_copy(whole))
    return copy
