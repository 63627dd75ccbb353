"""Operands of concatenations that keep a scale of their own, because others read them and they reach far less far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.node_facts import note
from ...lowering.rule_set import RuleSet
from ...lowering.values import unbounded
from ..probe.calls import FEW, Sample
from ..probe.judge import Evidence, accepts, evidence
from ..probe.runner import look

#: An operand that reaches less far than this part of the whole would lose two bits and more to the common scale.
_NARROW = 0.25


def keep_narrow(module: GraphModule, samples: Sequence[Sample], rules: RuleSet) -> dict[str, Evidence]:
    """Gives narrow operands of ``cat`` that something else reads as well a copy, whose scale is that of the result.

    What is concatenated has one scale. An operand that only ``cat`` reads loses nothing by it that the result has not
    lost, but other readers would get the few integers that the widest operand leaves. A copy costs one RESCALE.

    Args:
        module: ``ExportedProgram.module()``, not prepared yet.
        samples: calls of the model; four at most are used.

    Returns:
        Evidence by the names of the operands: squares of how far the scale reaches.
    """
    joins = {node: _candidates(node) for node in module.graph.nodes if rules.traits_of(node).joins}
    joins = {node: operands for node, operands in joins.items() if operands}
    if not joins or not samples:
        return {}
    reaches: dict[Node, list[float]] = {operand: [] for node in joins for operand in node.args[0]}

    def see(node: Node, _args: Sequence[Any], result: torch.Tensor) -> None:
        reaches[node].append(_reach(result))

    look(samples[:FEW], module, reaches, see)
    squares = {node: torch.tensor(each, dtype=torch.float64) ** 2 for node, each in reaches.items()}
    gains = {}
    for node, operands in joins.items():
        whole = torch.stack([squares[operand] for operand in node.args[0]]).amax(0)
        for operand in operands:
            if accepts(whole, squares[operand], _NARROW**2):
                _copy(module, node, operand)
                gains[operand.name] = evidence(whole, squares[operand])
    module.recompile()
    return gains


def _candidates(node: Node) -> list[Node]:
    """Computed operands in float that something else reads as well."""
    operands: Any = node.args[0]
    if not all(isinstance(n.meta.get("val"), torch.Tensor) and n.meta["val"].is_floating_point() for n in operands):
        return []
    return [n for n in dict.fromkeys(operands) if n.op != "get_attr" and len(n.users) > 1]


def _copy(module: GraphModule, node: Node, operand: Node) -> None:
    with module.graph.inserting_before(node):
        copy = module.graph.call_function(torch.ops.aten.clone.default, (operand,))
    copy.meta = {**node.meta, "val": operand.meta["val"]}
    note(copy, rescales=True)
    node.replace_input_with(operand, copy)


def _reach(result: torch.Tensor) -> float:
    """The largest magnitude, of masks apart, which saturate at any scale."""
    bounded = result[~unbounded(result)]
    return float(bounded.abs().amax()) if bounded.numel() else 0.0
