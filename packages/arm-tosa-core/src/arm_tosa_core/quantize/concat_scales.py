"""Operands of concatenations that keep a scale of their own, because others read them and they reach far less far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from ..compat.torch import tree_leaves
from ..lowering.rule_set import RuleSet
from ..lowering.values import unbounded
from .bias_correction import Sample
from .node_facts import RESCALES

#: An operand that reaches less far than this part of the whole would lose two bits and more to the common scale.
_NARROW = 0.25

#: Samples that say how far an operand reaches.
_SAMPLES = 4


def keep_narrow(module: GraphModule, samples: Sequence[Sample], rules: RuleSet) -> list[str]:
    """Gives narrow operands of ``cat`` that something else reads as well a copy, whose scale is that of the result.

    What is concatenated has one scale. An operand that only ``cat`` reads loses nothing by it that the result has not
    lost, but other readers would get the few integers that the widest operand leaves. A copy costs one RESCALE.

    Args:
        module: ``ExportedProgram.module()``, not prepared yet.
        samples: calls of the model; four at most are used.
        rules: those of the target.

    Returns:
        The names of the operands.
    """
    joins = {node: _candidates(node) for node in module.graph.nodes if rules.traits_of(node).joins}
    joins = {node: operands for node, operands in joins.items() if operands}
    if not joins or not samples:
        return []
    seen = _Reach(module, {operand for node in joins for operand in node.args[0]})
    for args, kwargs in samples[:_SAMPLES]:
        with torch.no_grad():
            seen.run(*tree_leaves((args, dict(kwargs))), enable_io_processing=False)
    found = []
    for node, operands in joins.items():
        whole = max(seen.reach[operand] for operand in node.args[0])
        for operand in operands:
            if seen.reach[operand] < _NARROW * whole:
                _copy(module, node, operand)
                found.append(operand.name)
    module.recompile()
    return found


def _candidates(node: Node) -> list[Node]:
    """Computed operands in float that something else reads as well."""
    operands: Any = node.args[0]
    if not all(isinstance(n.meta.get("val"), torch.Tensor) and n.meta["val"].is_floating_point() for n in operands):
        return []
    return [n for n in dict.fromkeys(operands) if n.op != "get_attr" and len(n.users) > 1]


def _copy(module: GraphModule, node: Node, operand: Node) -> None:
    with module.graph.inserting_before(node):
        copy = module.graph.call_function(torch.ops.aten.clone.default, (operand,))
    copy.meta = {**node.meta, "val": operand.meta["val"], RESCALES: True}
    node.replace_input_with(operand, copy)


class _Reach(Interpreter):
    """Runs the module; notes the largest magnitude of chosen results."""

    def __init__(self, module: GraphModule, nodes: set[Node]) -> None:
        super().__init__(module)
        self.nodes = nodes
        self.reach: dict[Node, float] = {}

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n in self.nodes:
            bounded = result[~unbounded(result)]  # masks saturate at any scale
            reach = float(bounded.abs().amax()) if bounded.numel() else 0.0
            self.reach[n] = max(reach, self.reach.get(n, 0.0))
        return result
