"""Changes to a program at the edges of its delegates, before ExecuTorch takes it to the edge dialect."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..lowering.analysis_result import CONSTANT, Analysis
from ..lowering.exported_program import is_dequantize

Homes = dict[int | None, list[Node]]  #: the users of a node by region, None for the CPU


def needs_edits(program: ExportedProgram, analysis: Analysis) -> bool:
    """Whether ``copy_shared`` or ``narrow_int64`` would change anything."""
    return any(True for _ in _shared(analysis)) or any(True for _ in _crossings(program, analysis))


def copy_shared(program: ExportedProgram, analysis: Analysis) -> bool:
    """Gives each region its own copy of constants and dequantize nodes that several regions, or the CPU, use.

    Returns whether constants went back to the CPU, because nobody else uses them: then the analysis must be made again.
    """
    gone = False
    for node, homes in _shared(analysis):
        inside = [home for home in homes if home is not None]
        if not inside:
            del analysis.accepted[node]
            gone = True
            continue
        analysis.accepted[node] = inside[0]
        for home in [home for home in homes if home != inside[0]]:
            with program.graph.inserting_after(node):
                copy = program.graph.node_copy(node, lambda n: n)
            copy.meta = dict(node.meta)
            analysis.add_copy(node, copy)
            for user in homes[home]:
                user.replace_input_with(node, copy)
            if home is not None:
                analysis.accepted[copy] = home
            elif node in analysis.constant:
                analysis.rejected[copy] = CONSTANT
    return gone


def _shared(analysis: Analysis) -> Iterator[tuple[Node, Homes]]:
    """Constants and dequantize nodes that are used elsewhere than in their region; users come before what they use."""
    for node in reversed(list(analysis.accepted)):
        constant = node in analysis.constant
        if not (constant or is_dequantize(node)):
            continue
        homes = _homes(node, analysis)
        # A dequantize at the far edge of a region is part of it.
        if homes.keys() != {analysis.accepted[node]} and (constant or homes.keys() != {None}) and homes:
            yield node, homes


def _homes(node: Node, analysis: Analysis) -> Homes:
    homes: Homes = {}
    for user in node.users:
        homes.setdefault(analysis.accepted.get(user), []).append(user)
    return homes


def narrow_int64(program: ExportedProgram, analysis: Analysis) -> None:
    """Casts int64 tensors to int32 where they enter a region, and results back where they leave it.

    The lowering has made sure that the numbers fit; TOSA has no int64.
    """
    for node, crossing in _crossings(program, analysis):
        home = analysis.accepted.get(node)
        for there, users in crossing.items():
            place = node.next
            while place.op == "placeholder":  # these stay together
                place = place.next
            with program.graph.inserting_before(place):
                small = _cast(program, analysis, node, torch.int32, node, home)
                back = _cast(program, analysis, small, torch.int64, node, there)
            for user in users:
                user.replace_input_with(node, back)


def _crossings(program: ExportedProgram, analysis: Analysis) -> Iterator[tuple[Node, Homes]]:
    """int64 tensors that are used elsewhere than where they are made, and by whom."""
    if not analysis.wide:
        return
    constants = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name != "USER_INPUT"}
    for node in list(analysis.wide):
        if node in analysis.constant or node.name in constants:
            continue
        home = analysis.accepted.get(node)
        if crossing := {there: users for there, users in _homes(node, analysis).items() if there != home}:
            yield node, crossing


def _cast(
    program: ExportedProgram, analysis: Analysis, node: Node, dtype: torch.dtype, like: Node, region: int | None
) -> Node:
    new: Node = program.graph.call_function(torch.ops.aten._to_copy.default, (node,), {"dtype": dtype})
    new.meta = {k: v for k, v in like.meta.items() if k in ("stack_trace", "nn_module_stack")}
    new.meta["val"] = like.meta["val"].to(dtype)
    analysis.add_copy(node, new)
    if region is not None:
        analysis.accepted[new] = region
    return new
