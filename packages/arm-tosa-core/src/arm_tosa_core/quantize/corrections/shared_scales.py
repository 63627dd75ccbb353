"""Operands that keep a scale of their own where several have one, because others read them and they reach less far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.rule import Q
from ...lowering.rule_set import RuleSet
from ...lowering.values import unbounded
from ..annotate.far_copies import rescale
from ..annotate.far_numbers import far_numbers
from ..annotate.node_roles import float_inputs
from ..probe.calls import FEW, Sample
from ..probe.judge import Evidence, accepts, evidence
from ..probe.runner import look

#: An operand that reaches less far than this part of the whole would lose two bits and more to the common scale.
_NARROW = 0.25


def keep_narrow(module: GraphModule, samples: Sequence[Sample], rules: RuleSet) -> dict[str, Evidence]:
    """Gives narrow operands of ``cat``, ``where`` and their like, if something else reads them as well, a copy.

    What is put together has one scale, which is the copy's. An operand that nothing else reads loses nothing by it that
    the result has not lost, but other readers would get the few integers that the widest operand leaves. A copy costs
    one RESCALE.

    Args:
        module: ``ExportedProgram.module()``, not prepared yet.
        samples: calls of the model; four at most are used.

    Returns:
        Evidence by the names of the operands: squares of how far the scale reaches.
    """
    far = far_numbers(module.graph, rules)
    operands = {node: _operands(node, rules) for node in module.graph.nodes}
    narrow = {node: [n for n in each if _is_read_elsewhere(n, rules)] for node, each in operands.items()}
    narrow = {node: each for node, each in narrow.items() if each}
    if not narrow or not samples:
        return {}
    reaches: dict[Node, list[float]] = {operand: [] for node in narrow for operand in operands[node]}

    def see(node: Node, _args: Sequence[Any], result: torch.Tensor) -> None:
        reaches[node].append(_reach(result))

    look(samples[:FEW], module, reaches, see)
    squares = {node: torch.tensor(each, dtype=torch.float64) ** 2 for node, each in reaches.items()}
    gains = {}
    for node, candidates in narrow.items():
        whole = torch.stack([squares[operand] * (not far.get(operand)) for operand in operands[node]]).amax(0)
        for operand in candidates:
            if accepts(whole, squares[operand], _NARROW**2):
                rescale(module.graph, node, operand)
                gains[operand.name] = evidence(whole, squares[operand])
    module.recompile()
    return gains


def _operands(node: Node, rules: RuleSet) -> list[Node]:
    """The operands in float that have one scale with the result; none if it is one alone."""
    rule = rules.of_node(node)
    operands = float_inputs(node) if rule is not None and rule.quant is Q.SHARED else []
    return operands if len(operands) > 1 else []


def _is_read_elsewhere(operand: Node, rules: RuleSet) -> bool:
    """Whether it is computed, and read by several: as it is, or as it was before it was moved."""
    while len(operand.users) == 1 and rules.traits_of(operand).moves and len(before := float_inputs(operand)) == 1:
        (operand,) = before
    return operand.op != "get_attr" and len(operand.users) > 1


def _reach(result: torch.Tensor) -> float:
    """The largest magnitude, of masks apart, which saturate at any scale."""
    bounded = result[~unbounded(result)]
    return float(bounded.abs().amax()) if bounded.numel() else 0.0
