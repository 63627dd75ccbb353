"""Numbers the nodes that a target takes, so that those of one number can be one delegate."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import Node

from .analysis_result import Analysis
from .exported_program import is_dequantize, is_quantize


def assign_regions(program: ExportedProgram, analysis: Analysis, level: dict[Node, int], has_float: bool) -> None:
    """Numbers the accepted nodes so that each region can be one delegate.

    A node's level counts how often a path to it returns from the CPU to the target: nodes of one level can run as
    one delegate without a cycle. What a region begins with goes as late as its readers can, and the rest goes with
    what it reads; constants and dequantize nodes go to the region that uses them.

    Args:
        level: the least level of each node (``level_of``).
    """
    level = _raised(program, analysis, level)
    computed_with = wanted(analysis)
    for node in reversed(analysis.accepted):
        if is_free(node, analysis) or is_dequantize(node):
            users = [u for u in node.users if u in level and u.users]  # an assertion, which nobody uses, goes along
            if node in computed_with:  # the others get copies of their own
                users = [u for u in users if u in computed_with]
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


def level_of(node: Node, analysis: Analysis, level: dict[Node, int]) -> int:
    """The least level of a node, given those of the nodes that it reads; placeholders and attributes have none."""
    inside = node in analysis.accepted
    before = [level[p] + (inside and p not in analysis.accepted) for p in node.all_input_nodes if p in level]
    return max(before, default=0)


def _raised(program: ExportedProgram, analysis: Analysis, level: dict[Node, int]) -> dict[Node, int]:
    """The levels, if accepted nodes that read no other are as late as their readers can take them."""
    latest = _latest(program, analysis, level)
    begins = {node for node in analysis.accepted if latest.get(node, 0) > level[node] and _begins(node, analysis)}
    if not begins:
        return level
    raised: dict[Node, int] = {}
    for node in program.graph.nodes:
        if node in level:
            raised[node] = level_of(node, analysis, raised)
            if node in begins:
                raised[node] = max(raised[node], latest[node])
    return raised


def _begins(node: Node, analysis: Analysis) -> bool:
    """Whether an accepted node reads no other, but for those that can be in any region."""
    follows = any(p in analysis.accepted and not is_free(p, analysis) for p in node.all_input_nodes)
    return not follows and not is_free(node, analysis)


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


def is_free(node: Node, analysis: Analysis) -> bool:
    """Whether a node can be in any region, or be copied to several: a constant, or a dequantize of what comes in."""
    incoming = is_quantize(node) or is_dequantize(node)
    return node in analysis.constant or (incoming and not any(p in analysis.accepted for p in node.all_input_nodes))


def _is_edge(node: Node, analysis: Analysis) -> bool:
    """A dequantize whose users are all outside, but for assertions, which nobody uses."""
    return is_dequantize(node) and not any(u in analysis.accepted and u.users for u in node.users)


def wanted(analysis: Analysis) -> set[Node]:
    """What the target computes with: accepted nodes, of constants only those that one of these uses."""
    found: set[Node] = set()
    for node in reversed(analysis.accepted):
        useful = node not in analysis.constant or not found.isdisjoint(node.users)
        if useful and node.users:  # an assertion, which nobody uses, computes nothing
            found.add(node)
    return found
