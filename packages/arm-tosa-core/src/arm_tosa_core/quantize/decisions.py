"""What quantization decided by itself, for people: which operators have 16 bits, which weights were rescaled, why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..compat.torchao import ANNOTATION
from ..lowering.exported_program import source_line
from ..lowering.node_facts import facts
from ..lowering.operator_names import canonical
from .probe.judge import Evidence

#: Kinds of decisions, in the order in which they are told.
WIDE_RESULT = "kept in 16 bits"
EQUALIZED = "equalized with the layers that read it"
OWN_SCALE = "kept a scale of its own"
ROUNDED = "with weights rounded together"
CORRECTED = "bias corrected"


@dataclass(frozen=True)
class Decision:
    """One decision.

    Args:
        kind: ``kept in 16 bits``, ``bias corrected`` and the like.
        node: the operator's name in the exported graph; a part of a composite has a name of its own.
        operator: the ATen overload, or ``input``.
        source: the user's source line, if known.
        why: the reason, where there is more than one.
        evidence: errors without it and with it; None: it was not judged by errors.
    """

    kind: str
    node: str
    operator: str
    source: str
    why: str = ""
    evidence: Evidence | None = None


def wide_decisions(prepared: GraphModule) -> list[Decision]:
    """Results of a prepared model that have 16 bits although layers around them have 8."""
    return [
        _decision(node, WIDE_RESULT, why)
        for node in prepared.graph.nodes
        if (why := facts(node).wide) and _has_16_bits(node)
    ]


def decisions(module: GraphModule, evidences: Mapping[str, Evidence | None], kind: str) -> list[Decision]:
    """The same decision for nodes of a module: evidence by their names."""
    nodes = {node.name: node for node in module.graph.nodes}
    return [_decision(nodes[name], kind, evidence=evidence) for name, evidence in evidences.items()]


def summary(decisions: Sequence[Decision]) -> str:
    """One line: how often each decision was made; empty where none was."""
    counts = Counter(row.kind for row in decisions)
    reasons = Counter(row.why for row in decisions if row.kind == WIDE_RESULT)
    parts = [_counted(counts, kind, reasons if kind == WIDE_RESULT else {}) for kind in counts]
    return "; ".join(parts)


def _counted(counts: Mapping[str, int], kind: str, reasons: Mapping[str, int]) -> str:
    because = ", ".join(f"{count} {why}" for why, count in reasons.items())
    return f"{counts[kind]} {kind}{f' ({because})' if because else ''}"


def _decision(node: Node, kind: str, why: str = "", evidence: Evidence | None = None) -> Decision:
    operator = "input" if node.op == "placeholder" else canonical(node.target)
    return Decision(kind, node.name, operator, source_line(node), why, evidence)


def _has_16_bits(node: Node) -> bool:
    """Whether a result is observed with 16 bits, or shares the scale of one that is; False for a fused result."""
    spec: Any = node.meta[ANNOTATION].output_qspec if ANNOTATION in node.meta else None
    return spec is not None and getattr(spec, "dtype", torch.int16) == torch.int16
