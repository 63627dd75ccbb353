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
from ..probe.judge import Evidence, Judge, evidence
from ..probe.runner import look

#: An operand that reaches less far than this part of the whole would lose two bits and more to the common scale.
_NARROW = 0.25
_JUDGE = Judge(part=_NARROW**2)  # errors go with the square of the reach


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
    reach = dict.fromkeys((operand for node in joins for operand in node.args[0]), 0.0)

    def see(node: Node, _args: Sequence[Any], result: torch.Tensor) -> None:
        reach[node] = max(reach[node], _reach(result))

    look(samples[:FEW], module, reach, see)
    gains = {}
    for node, operands in joins.items():
        whole = max(reach[operand] for operand in node.args[0])
        for operand in operands:
            before, after = torch.tensor([[whole**2], [reach[operand] ** 2]], dtype=torch.float64)
            if _JUDGE.accepts(before, after):
                _copy(module, node, operand)
                gains[operand.name] = evidence(before, after)
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
