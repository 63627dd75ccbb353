"""What of a program a target takes: a dry run of the rules, and the regions that follow from it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..plugin.target import Target
from ..support.errors import Rejected
from ..tosa.ir import Op
from .exported_program import NOTHING, Known, is_dequantize, is_quantize
from .lowering import Lowering
from .rule import Q
from .rule_set import RuleSet
from .unary_functions import Part
from .values import Complex, Value

#: TOSA operators that by themselves are no reason for a delegate.
_IDLE = frozenset({"RESHAPE", "TRANSPOSE", "IDENTITY"})

#: Policies of operators that may emit nothing: they only change bounds or the scale.
_IMPLICIT = frozenset({Q.BOUNDS, Q.PRODUCT})

#: Why what is known at compile time stays on the CPU.
CONSTANT = Rejected("is computed from constants, and used on the CPU only")

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

    def of_copy(self, twins: Mapping[Node, Node]) -> Analysis:
        """The same of a copy of the program, given the copy of each node."""
        return Analysis(
            {twins[n]: region for n, region in self.accepted.items()},
            {twins[n]: why for n, why in self.rejected.items()},
            {twins[n] for n in self.constant},
        )


def analyse(
    program: ExportedProgram,
    target: Target,
    checks: Sequence[NodeCheck] = (),
    *,
    known: Known = NOTHING,
    editable: bool = True,
) -> Analysis:
    """Finds the nodes that the target takes, and the regions they form.

    A node may lower by itself and still have to stay out: an accumulator that is used in float, for example. Such
    nodes are refused and the dry run is repeated without them until nothing changes.

    Args:
        checks: reasons of the caller to keep a node out.
        known: see ``Lowering``.
        editable: the edges of regions will still be edited (``edges``): int64 is no obstacle there, nor is sharing.
    """
    has_float = target.tosa_spec.support_float()
    refused: dict[Node, Rejected] = {}
    first: dict[Node, Rejected] | None = None
    while True:
        lowering = Lowering(program, target, dry=True, known=known, wide_inputs=editable)
        analysis, emitted = _dry_run(lowering, checks, refused)
        first = analysis.rejected.copy() if first is None else first
        _assign_regions(program, analysis, has_float)
        found = _torn(analysis) or _leaks(analysis, lowering) or _handed_on(program, analysis, lowering)
        found = found or _idle_regions(program, analysis, emitted, lowering.rules)
        if not found and not editable:
            found = _shared(analysis, has_float)
        if not found:
            # What a node was refused for at first is its own fault, not that of others.
            analysis.rejected.update((n, first[n]) for n in analysis.rejected.keys() & first.keys())
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
            for n in node.all_input_nodes:
                if isinstance(unusable := lowering.values[n], Rejected):
                    raise unusable
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
        return bool(value) and all(_known(v) for v in value)
    return isinstance(value, Value) and value.is_const


def _from_outside(lowering: Lowering, node: Node) -> Any:
    """The values that a node outside hands to the graph; for a tensor that TOSA cannot hold, why not."""

    def value(name: str, meta: Any) -> Any:
        if not isinstance(meta, torch.Tensor):
            return meta
        try:
            return lowering.input(name, meta)
        except Rejected as why:
            return why

    meta = node.meta.get("val")
    if isinstance(meta, (list, tuple)):
        return tuple(value(f"{node.name}_{i}", m) for i, m in enumerate(meta))
    return value(node.name, meta)


def _torn(analysis: Analysis) -> dict[Node, Rejected]:
    """Accepted nodes with a result that is refused: a node cannot be on both sides."""
    results = ((n.args[0], why) for n, why in analysis.rejected.items() if n.target is operator.getitem)
    return {n: why for n, why in results if isinstance(n, Node) and n in analysis.accepted}


def _leaks(analysis: Analysis, lowering: Lowering) -> dict[Node, Rejected]:
    """Accepted nodes whose result cannot leave their region: it would be float, on a target that has none, or int64."""
    has_float = lowering.target.tosa_spec.support_float()
    found: dict[Node, Rejected] = {}
    for node, region in analysis.accepted.items():
        value = lowering.values[node]
        if isinstance(value, Part) and analysis.accepted.get(value.last) != region:
            found[node] = Rejected(f"is part of a function that ends in {value.last.name}, which is not with it")
        if not isinstance(value, (Value, Complex)) or node in analysis.constant:
            continue
        floating = value.dtype.is_floating_point and not (has_float or is_quantize(node) or is_dequantize(node))
        wide = value.dtype == torch.int64 and not lowering.wide_inputs
        user = next((u for u in node.users if analysis.accepted.get(u) != region), None)
        if user is None or not (floating or wide or isinstance(value, Complex)):
            continue
        home = "is part of another delegate" if user in analysis.accepted else "stays on the CPU"
        where = "an output of the model" if user.op == "output" else f"{user.name}, which {home}"
        if isinstance(value, Complex):
            found[node] = Rejected(f"its complex result is used by {where}", "use view_as_real before that")
        elif wide:
            found[node] = Rejected(f"its int64 result is used by {where}", "cast it to int32 in the model")
        else:
            found[node] = Rejected(f"its result is used in float by {where}", "quantize its result, or what uses it")
    return found


def _handed_on(program: ExportedProgram, analysis: Analysis, lowering: Lowering) -> dict[Node, Rejected]:
    """Accepted nodes that hand on what comes from outside of their region as it is; none if that is all there is to do.

    A target may not even have the type, such as a mask's.
    """
    same: set[Node] = set()
    found: dict[Node, Rejected] = {}
    for node, region in analysis.accepted.items():
        value = lowering.values[node]
        if not isinstance(value, Value) or node in analysis.constant or is_quantize(node) or is_dequantize(node):
            continue
        given = [p for p in node.all_input_nodes if p in same or analysis.accepted.get(p) != region]
        if any(_is_same(value, lowering.values[p]) for p in given):
            same.add(node)
            if any(analysis.accepted.get(user) != region for user in node.users):
                found[node] = Rejected("hands on what it is given as it is")
    return {} if found and _is_whole(program, analysis) else found


def _is_same(value: Value, given: Any) -> bool:
    return isinstance(given, Value) and value.tensor is given.tensor is not None and value.perm == given.perm


def _assign_regions(program: ExportedProgram, analysis: Analysis, has_float: bool) -> None:
    """Numbers the accepted nodes so that each region can be one delegate.

    A node's level counts how often a path to it returns from the CPU to the target: nodes of one level can run as
    one delegate without a cycle. What a region begins with goes as late as its readers can, and the rest goes with
    what it reads; constants and dequantize nodes go to the region that uses them.
    """
    level = _levels(program, analysis, {})
    level = _levels(program, analysis, _latest(program, analysis, level))
    wanted = _wanted(program, analysis)
    for node in reversed(program.graph.nodes):
        if node in analysis.accepted and (_is_free(node, analysis) or is_dequantize(node)):
            users = [u for u in node.users if u in level and u.users]  # an assertion, which nobody uses, goes along
            if node in wanted:  # the others get copies of their own
                users = [u for u in users if u in wanted]
            if any(u in analysis.accepted for u in users):
                level[node] = max(level[node], min(level[u] for u in users))
    for node in analysis.accepted:
        homes = [level[p] for p in node.all_input_nodes if p in analysis.accepted]
        if homes and not node.users:
            level[node] = max(homes)
    if not has_float:  # a dequantize at the far edge belongs to nobody
        for node in [n for n in analysis.accepted if _is_edge(n, analysis)]:
            del analysis.accepted[node]
            for assertion in node.users:
                analysis.accepted.pop(assertion, None)
    for node in analysis.accepted:
        analysis.accepted[node] = level[node]


def _levels(program: ExportedProgram, analysis: Analysis, latest: dict[Node, int]) -> dict[Node, int]:
    """The least level of each node, if accepted nodes that read no other have at least the level given for them."""
    level: dict[Node, int] = {}
    for node in program.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            continue
        inside = node in analysis.accepted
        before = [level[p] + (inside and p not in analysis.accepted) for p in node.all_input_nodes if p in level]
        level[node] = max(before, default=0)
        follows = any(p in analysis.accepted and not _is_free(p, analysis) for p in node.all_input_nodes)
        if inside and not follows and not _is_free(node, analysis):
            level[node] = max(level[node], latest.get(node, 0))
    return level


def _latest(program: ExportedProgram, analysis: Analysis, level: dict[Node, int]) -> dict[Node, int]:
    """The level at which the first of its readers needs a node, but for those that only hand it to the caller."""
    latest: dict[Node, int] = {}
    handed: set[Node] = set()
    for node in reversed(program.graph.nodes):
        users = [u for u in node.users if u not in handed]
        inside = node in analysis.accepted
        if not node.users or (not users and (not inside or is_dequantize(node))):
            handed.add(node)
        if node in level:
            needed = [latest[u] - (not inside and u in analysis.accepted) for u in users]
            moves = not inside or any(u in analysis.accepted for u in users)
            latest[node] = min(needed) if needed and moves else level[node]
    return latest


def _is_free(node: Node, analysis: Analysis) -> bool:
    """Whether a node can be in any region, or be copied to several: a constant, or a dequantize of what comes in."""
    incoming = is_quantize(node) or is_dequantize(node)
    return node in analysis.constant or (incoming and not any(p in analysis.accepted for p in node.all_input_nodes))


def _is_edge(node: Node, analysis: Analysis) -> bool:
    """A dequantize whose users are all outside, but for assertions, which nobody uses."""
    return is_dequantize(node) and not any(u in analysis.accepted and u.users for u in node.users)


def _wanted(program: ExportedProgram, analysis: Analysis) -> set[Node]:
    """What the target computes with: accepted nodes, of constants only those that one of these uses."""
    wanted: set[Node] = set()
    for node in reversed(program.graph.nodes):
        useful = node not in analysis.constant or not wanted.isdisjoint(node.users)
        if useful and node in analysis.accepted and node.users:  # an assertion, which nobody uses, computes nothing
            wanted.add(node)
    return wanted


def _idle_regions(
    program: ExportedProgram, analysis: Analysis, emitted: dict[Node, list[Op]], rules: RuleSet
) -> dict[Node, Rejected]:
    """Nodes of regions that would only reshape, quantize or dequantize data; none where the program does only that."""

    def works(node: Node) -> bool:
        if node in analysis.constant or is_quantize(node) or is_dequantize(node):
            return False
        rule = rules.of_node(node)
        # A clamp may emit nothing itself: the requantization that follows does its work.
        return any(op.name not in _IDLE for op in emitted[node]) or (rule is not None and rule.quant in _IMPLICIT)

    busy = {region for node, region in analysis.accepted.items() if works(node)}
    if not busy and _is_whole(program, analysis):
        return {}
    wanted = _wanted(program, analysis)
    idle = Rejected("is in a region with nothing to compute, only data to reshape")
    return {
        node: CONSTANT if node in analysis.constant else idle
        for node, region in analysis.accepted.items()
        if region not in busy and not (node in analysis.constant and node in wanted)
    }


def _is_whole(program: ExportedProgram, analysis: Analysis) -> bool:
    """Whether one region has all that the program does with its inputs, and that is something."""
    homes = {
        analysis.accepted.get(node)
        for node in program.graph.nodes
        if node.op == "call_function" and node.users and node not in analysis.constant
        if not (is_quantize(node) or is_dequantize(node))
    }
    return len(homes) == 1 and None not in homes


def _shared(analysis: Analysis, has_float: bool) -> dict[Node, Rejected]:
    """Constants and dequantize nodes that are used by several regions, or by one and the CPU.

    ``edges.copy_shared`` gives each its own; this is for programs that nobody may edit any more.
    """
    found: dict[Node, Rejected] = {}
    for node in reversed(list(analysis.accepted)):
        if not (node in analysis.constant or is_dequantize(node)):
            continue
        home = analysis.accepted[node]
        homes = {analysis.accepted.get(user) for user in node.users}
        if node in analysis.constant and homes == {None}:
            del analysis.accepted[node]
            analysis.rejected[node] = CONSTANT
        elif homes != {home} and (node in analysis.constant or not has_float or not homes <= {home, None}):
            found[node] = Rejected(
                "is shared between a delegate and the CPU, or between delegates",
                "lower with to_edge_transform_and_lower, which gives each its own copy",
            )
    return found
