"""What of a program a target takes: a dry run of the rules, and the regions that follow from it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from .errors import Rejected
from .ir import Op
from .lowering import Lowering
from .program import is_dequantize, is_quantize
from .target import Target
from .values import Value

#: TOSA operators that by themselves are no reason for a delegate.
_IDLE = frozenset({"RESHAPE", "TRANSPOSE", "IDENTITY", "RESCALE"})

#: May a node be delegated, as far as the caller is concerned? A reason if not.
NodeCheck = Callable[[Node], "Rejected | None"]


@dataclass
class Analysis:
    """Which nodes go to the target.

    Args:
        accepted: nodes to delegate, with the number of the region that each belongs to.
        rejected: the others, and why.
        constant: nodes whose value is known at compile time.
    """

    accepted: dict[Node, int] = field(default_factory=dict)
    rejected: dict[Node, Rejected] = field(default_factory=dict)
    constant: set[Node] = field(default_factory=set)


def analyse(
    program: ExportedProgram,
    target: Target,
    checks: Sequence[NodeCheck] = (),
    *,
    known: Mapping[str, torch.Tensor] = {},
    wide_inputs: bool = True,
) -> Analysis:
    """Finds the nodes that the target takes, and the regions they form.

    A node may lower by itself and still have to stay out: an accumulator that is used in float, for example. Such
    nodes are refused and the dry run is repeated without them until nothing changes.

    Args:
        checks: reasons of the caller to keep a node out.
        known, wide_inputs: see ``Lowering``.
    """
    refused: dict[Node, Rejected] = {}
    while True:
        lowering = Lowering(program, target, dry=True, known=known, wide_inputs=wide_inputs)
        analysis, emitted = _dry_run(lowering, checks, refused)
        found = _leaks(program, analysis, lowering)
        if not found:
            _assign_regions(program, analysis)
            found = _idle_regions(analysis, emitted)
        if not found:
            return analysis
        refused.update(found)


def _dry_run(
    lowering: Lowering, checks: Sequence[NodeCheck], refused: dict[Node, Rejected]
) -> tuple[Analysis, dict[Node, list[Op]]]:
    analysis = Analysis()
    emitted: dict[Node, list[Op]] = {}
    program = lowering.program
    ops = lowering.graph.ops
    for node in program.graph.nodes:
        if node.op == "output":
            continue
        first = len(ops)
        try:
            if node in refused:
                raise refused[node]
            if node.op == "call_function" and node.target is not operator.getitem:
                for check in checks:
                    if refusal := check(node):
                        raise refusal
            if node.target is operator.getitem and node.args[0] not in analysis.accepted:
                raise _Outside
            value = lowering.values[node] = lowering.lower(node)
            if node.op == "call_function":
                analysis.accepted[node] = 0
                emitted[node] = ops[first:]
            if _known(value):
                analysis.constant.add(node)
        except (Rejected, _Outside) as why:
            if isinstance(why, Rejected):
                analysis.rejected[node] = why
            lowering.values[node] = _from_outside(lowering, node)
    return analysis, emitted


class _Outside(Exception):
    """A node that has no value here and is nobody's fault."""


def _known(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(_known(v) for v in value)
    return isinstance(value, Value) and value.is_const


def _from_outside(lowering: Lowering, node: Node) -> Any:
    """The values that a node outside hands to the graph."""
    meta = node.meta.get("val")
    metas = [meta] if isinstance(meta, torch.Tensor) else list(meta) if isinstance(meta, (list, tuple)) else []
    values: list[Any] = []
    for i, m in enumerate(metas):
        try:
            values.append(lowering.input(f"{node.name}_{i}", m) if isinstance(m, torch.Tensor) else m)
        except Rejected as why:
            values.append(_Unusable(why))
    if isinstance(meta, torch.Tensor):
        return values[0]
    return tuple(values) if metas else meta


class _Unusable:
    """Stands for a tensor that TOSA cannot hold; whoever computes with it is refused for the same reason."""

    def __init__(self, why: Rejected) -> None:
        self.__dict__["why"] = why

    def __getattr__(self, name: str) -> Any:
        raise Rejected(f"uses a tensor which {self.why.reason}", self.why.fix)


def _leaks(program: ExportedProgram, analysis: Analysis, lowering: Lowering) -> dict[Node, Rejected]:
    """Accepted nodes whose quantized result would have to leave as float, on a target that has no float."""
    has_float = lowering.target.tosa_spec.support_float()
    found: dict[Node, Rejected] = {}
    for node in analysis.accepted:
        value = lowering.values[node]
        if not isinstance(value, Value) or node in analysis.constant:
            continue
        floating = value.dtype.is_floating_point and not (has_float or is_quantize(node) or is_dequantize(node))
        wide = value.dtype == torch.int64 and not lowering.wide_inputs
        if not floating and not wide:
            continue
        for user in node.users:
            if user not in analysis.accepted:
                where = "an output of the model" if user.op == "output" else f"{user.name}, which stays on the CPU"
                if wide:
                    found[node] = Rejected(f"its int64 result is used by {where}", "cast it to int32 in the model")
                else:
                    found[node] = Rejected(
                        f"its result is used in float by {where}", "quantize its result, or what uses it"
                    )
    return found


def _assign_regions(program: ExportedProgram, analysis: Analysis) -> None:
    """Numbers the accepted nodes so that each region can be one delegate.

    A node's level counts how often a path to it returns from the CPU to the target: nodes of one level can run as
    one delegate without a cycle. Nodes with room to move go as late as they can, which joins constants and side
    branches to the region that uses them.
    """
    level: dict[Node, int] = {}
    for node in program.graph.nodes:
        inside = node in analysis.accepted
        before = [level[p] + (inside and p not in analysis.accepted) for p in node.all_input_nodes if p in level]
        if node.op in ("placeholder", "get_attr"):
            continue
        level[node] = max(before, default=0)
    for node in reversed(program.graph.nodes):
        if node not in analysis.accepted:
            continue
        users = [u for u in node.users if u in level and u.op != "output"]
        if users:
            level[node] = max(level[node], min(level[u] if u in analysis.accepted else level[u] for u in users))
    for node in program.graph.nodes:  # a dequantize at the far edge belongs to nobody
        if node in analysis.accepted and _is_edge(node, analysis):
            del analysis.accepted[node]
    for node in analysis.accepted:
        analysis.accepted[node] = level[node]


def _is_edge(node: Node, analysis: Analysis) -> bool:
    """A dequantize whose users are all outside."""
    return is_dequantize(node) and not any(u in analysis.accepted for u in node.users)


def _idle_regions(analysis: Analysis, emitted: dict[Node, list[Op]]) -> dict[Node, Rejected]:
    """Nodes of regions that would only reshape data."""
    busy = {
        region
        for node, region in analysis.accepted.items()
        if node not in analysis.constant and any(op.name not in _IDLE for op in emitted[node])
    }
    why = Rejected("is in a region with nothing to compute, only data to reshape")
    return {node: why for node, region in analysis.accepted.items() if region not in busy}
