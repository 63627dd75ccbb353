"""What of a program a target takes: the rules are run over all of it, and regions follow from what they did."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..plugin.target import Target
from ..support.errors import Rejected
from .analysis_result import CONSTANT, Analysis, NodeCheck
from .builder.casts import NARROW
from .exported_program import NOTHING, Known, is_dequantize, is_quantize, is_size
from .lowering import Lowering
from .program_facts import Facts
from .region_levels import assign_regions, wanted
from .rule import Q
from .unary_functions import Part
from .values import Complex, Value
from .walk import Walk

#: TOSA operators that by themselves are no reason for a delegate.
_IDLE = frozenset({"RESHAPE", "TRANSPOSE", "IDENTITY"})

#: Policies of operators that may emit nothing: they only change bounds or the scale.
_IMPLICIT = frozenset({Q.BOUNDS, Q.PRODUCT})


def analyse(
    program: ExportedProgram,
    target: Target,
    checks: Sequence[NodeCheck] = (),
    *,
    known: Known = NOTHING,
    editable: bool = True,
    earlier: Analysis | None = None,
) -> Analysis:
    """Finds the nodes that the target takes, and the regions they form.

    A node may lower by itself and still have to stay out: an accumulator that is used in float, for example. Such
    nodes are refused, and the walk is repeated for the nodes that depended on them, until nothing changes. The result
    keeps what the last walk emitted: ``regions`` cuts it.

    Args:
        checks: reasons of the caller to keep a node out.
        known: see ``Facts``.
        editable: the edges of regions will still be edited (``delegate_boundary``): int64 is no obstacle there, nor is
            sharing.
        earlier: an analysis of this program, or of the one that it was edited from; not to be used any more. Only
            nodes that the edit touched, and nodes that depend on these, are lowered again.

    Raises:
        UsageError: the program is not on the CPU.
    """
    has_float = target.tosa_spec.support_float()
    facts = Facts(program, target, known)
    refused: dict[Node, Rejected] = {}
    first: dict[Node, Rejected] | None = None
    while True:
        walk = Walk(Lowering(program, target, facts, wide_inputs=editable), checks, refused, earlier)
        analysis = earlier = walk.analysis
        first = analysis.rejected.copy() if first is None else first
        assign_regions(program, analysis, walk.level, has_float)
        found = _split_composites(analysis) or _escaping(analysis) or _in_other_axes(analysis)
        found = found or _copies(analysis) or _idle_regions(analysis)
        if not found and not editable:
            found = _shared(analysis, has_float)
        if not found:
            # What a node was refused for at first is its own fault, not that of others.
            analysis.rejected.update((n, first[n]) for n in analysis.rejected.keys() & first.keys())
            return analysis
        refused.update(found)


def _split_composites(analysis: Analysis) -> dict[Node, Rejected]:
    """Accepted nodes with a result that is refused: a node cannot be on both sides."""
    results = ((n.args[0], why) for n, why in analysis.rejected.items() if n.target is operator.getitem)
    return {n: why for n, why in results if isinstance(n, Node) and n in analysis.accepted}


def _escaping(analysis: Analysis) -> dict[Node, Rejected]:
    """Accepted nodes whose result cannot leave their region: it would be float, on a target that has none, or int64."""
    lowering = analysis.lowering
    has_float = lowering.target.tosa_spec.support_float()
    homes = {node.name: region for node, region in analysis.accepted.items()}
    found: dict[Node, Rejected] = {}
    for node, region in analysis.accepted.items():
        value = lowering.values[node]
        if isinstance(value, Part) and homes.get(value.last) != region:
            found[node] = Rejected(f"is part of a function that ends in {value.last}, which is not with it")
        if not isinstance(value, (Value, Complex)) or node in analysis.constant:
            continue
        floating = value.dtype.is_floating_point and not (has_float or is_quantize(node) or is_dequantize(node))
        wide = value.dtype == torch.int64 and not lowering.wide_inputs
        unknown = value.dtype == torch.int64 and isinstance(value, Value) and not value.is_narrow
        user = next((u for u in node.users if analysis.accepted.get(u) != region), None)
        if user is None or not (floating or wide or unknown or isinstance(value, Complex)):
            continue
        home = "is part of another delegate" if user in analysis.accepted else "stays on the CPU"
        where = "an output of the model" if user.op == "output" else f"{user.name}, which {home}"
        if isinstance(value, Complex):
            found[node] = Rejected(f"its complex result is used by {where}", "use view_as_real before that")
        elif wide:
            found[node] = Rejected(f"its int64 result is used by {where}", "cast it to int32 in the model")
        elif unknown:
            why = f"gives int64 numbers whose range is not known to fit int32 to {where}"
            found[node] = Rejected(why, NARROW)
        else:
            found[node] = Rejected(f"its result is used in float by {where}", "quantize its result, or what uses it")
    return found


def _in_other_axes(analysis: Analysis) -> dict[Node, Rejected]:
    """Accepted nodes whose result the target cannot bring to PyTorch's order of axes, which a reader outside expects.

    A rule may leave axes in another order than PyTorch's (ADR 1), so that this shows where the result leaves only.
    """
    lowering = analysis.lowering
    found: dict[Node, Rejected] = {}
    for node, region in analysis.accepted.items():
        leaves = any(analysis.accepted.get(user) != region and not is_size(user) for user in node.users)
        inside = any(user in analysis.accepted for user in node.users)
        copied = node in analysis.constant or (is_dequantize(node) and inside)  # for each reader, by who may edit
        if not leaves or copied or not isinstance(lowering.values[node], Value):
            continue
        mark = lowering.builder.mark()
        try:
            lowering.output(node)
        except Rejected as why:
            found[node] = why
        lowering.builder.undo(mark)
    return found


def _copies(analysis: Analysis) -> dict[Node, Rejected]:
    """Accepted nodes that hand on what comes from outside of their region as it is.

    Nothing is computed there, and a target may not even have the type, such as a mask's.
    """
    values = analysis.lowering.values
    given: dict[Node, list[Node]] = {}  # what comes from outside in the tensor that holds a node's result
    found: dict[Node, Rejected] = {}
    for node, region in analysis.accepted.items():
        value = values[node]
        if not isinstance(value, Value) or node in analysis.constant or is_quantize(node) or is_dequantize(node):
            continue
        read = (given.get(p, []) if analysis.accepted.get(p) == region else [p] for p in node.all_input_nodes)
        given[node] = [n for nodes in read for n in nodes if _holds(values[n], value)]
        same = any(values[n].axes == value.axes and values[n].shape == value.shape for n in given[node])
        if same and any(analysis.accepted.get(user) != region for user in node.users):
            found[node] = Rejected("hands on what it is given as it is")
    return found


def _holds(given: Any, value: Value) -> bool:
    return isinstance(given, Value) and value.tensor is given.tensor is not None


def _idle_regions(analysis: Analysis) -> dict[Node, Rejected]:
    """Nodes of regions that would only reshape, quantize or dequantize data; none where the program does only that."""

    lowering = analysis.lowering

    def works(node: Node) -> bool:
        if node in analysis.constant or is_quantize(node) or is_dequantize(node):
            return False
        if any(op.name not in _IDLE for op in lowering.emitted[node]):
            return True
        rule = lowering.rules.of_node(node)
        # A clamp may emit nothing itself: the requantization that follows does its work.
        return rule is not None and rule.quant in _IMPLICIT

    busy = {region for node, region in analysis.accepted.items() if works(node)}
    resting = [node for node, region in analysis.accepted.items() if region not in busy]
    if not resting or (not busy and _is_whole(analysis)):
        return {}
    computed_with = wanted(analysis)
    idle = Rejected("is in a region with nothing to compute, only data to reshape")
    return {
        node: CONSTANT if node in analysis.constant else idle
        for node in resting
        if not (node in analysis.constant and node in computed_with)
    }


def _is_whole(analysis: Analysis) -> bool:
    """Whether one region has all that the program does with its inputs, and that is something."""
    homes = {
        analysis.accepted.get(node)
        for node in analysis.lowering.program.graph.nodes
        if node.op == "call_function" and node.users and node not in analysis.constant
        if not (is_quantize(node) or is_dequantize(node))
    }
    return len(homes) == 1 and None not in homes


def _shared(analysis: Analysis, has_float: bool) -> dict[Node, Rejected]:
    """Constants and dequantize nodes that are used by several regions, or by one and the CPU.

    ``delegate_boundary.copy_shared`` gives each its own; this is for programs that nobody may edit any more.
    """
    found: dict[Node, Rejected] = {}
    for node in reversed(list(analysis.accepted)):
        if not (node in analysis.constant or is_dequantize(node)):
            continue
        home = analysis.accepted[node]
        homes = {analysis.accepted.get(user) for user in node.users}
        if node in analysis.constant and homes == {None}:
            if any(n in analysis.accepted and n not in analysis.constant for n in node.all_input_nodes):
                found[node] = CONSTANT  # what it names without reading it has a reader outside now
                continue
            del analysis.accepted[node]
            analysis.rejected[node] = CONSTANT
        elif homes != {home} and (node in analysis.constant or not has_float or not homes <= {home, None}):
            found[node] = Rejected(
                "is shared between a delegate and the CPU, or between delegates",
                "lower with to_edge_transform_and_lower, which gives each its own copy",
            )
    return found
