"""Changes to a program at the edges of its delegates, before ExecuTorch takes it to the edge dialect."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from .analysis import CONSTANT, Analysis
from .program import is_dequantize


def copy_shared(program: ExportedProgram, analysis: Analysis) -> bool:
    """Gives each region its own copy of constants and dequantize nodes that several regions, or the CPU, use.

    Returns whether constants went back to the CPU, because nobody else uses them: then the analysis must be made again.
    """
    gone = False
    for node in reversed(list(analysis.accepted)):
        if not (node in analysis.constant or is_dequantize(node)):
            continue
        homes: dict[int | None, list[Node]] = {}
        for user in node.users:
            homes.setdefault(analysis.accepted.get(user), []).append(user)
        inside = [home for home in homes if home is not None]
        if not inside:
            if node in analysis.constant:
                del analysis.accepted[node]
                gone = True
            continue
        analysis.accepted[node] = inside[0]
        for home in [home for home in homes if home != inside[0]]:
            with program.graph.inserting_after(node):
                copy = program.graph.node_copy(node, lambda n: n)
            copy.meta = dict(node.meta)
            for user in homes[home]:
                user.replace_input_with(node, copy)
            if home is not None:
                analysis.accepted[copy] = home
            if node in analysis.constant:
                analysis.constant.add(copy)
                if home is None:
                    analysis.rejected[copy] = CONSTANT
    return gone


def narrow_int64(program: ExportedProgram, analysis: Analysis) -> None:
    """Casts int64 tensors to int32 where they enter a region, and results back where they leave it.

    The dry run has made sure that the numbers fit; TOSA has no int64.
    """
    cast = torch.ops.aten._to_copy.default

    def convert(node: Node, dtype: torch.dtype, like: Node, region: int | None) -> Node:
        new: Node = program.graph.call_function(cast, (node,), {"dtype": dtype})
        new.meta = {k: v for k, v in like.meta.items() if k in ("stack_trace", "nn_module_stack")}
        new.meta["val"] = like.meta["val"].to(dtype)
        if region is not None:
            analysis.accepted[new] = region
        return new

    def wide(node: Node) -> bool:
        meta = node.meta.get("val")
        return isinstance(meta, torch.Tensor) and meta.dtype == torch.int64

    constants = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name != "USER_INPUT"}
    for node in [n for n in program.graph.nodes if wide(n)]:
        if node in analysis.constant or node.name in constants:
            continue
        home = analysis.accepted.get(node)
        crossing: dict[int | None, list[Node]] = {}
        for user in node.users:
            there = analysis.accepted.get(user)
            if there != home:
                crossing.setdefault(there, []).append(user)
        for there, users in crossing.items():
            place = node.next
            while place.op == "placeholder":  # these stay together
                place = place.next
            with program.graph.inserting_before(place):
                small = convert(node, torch.int32, node, home)
                back = convert(small, torch.int64, node, there)
            for user in users:
                user.replace_input_with(node, back)
