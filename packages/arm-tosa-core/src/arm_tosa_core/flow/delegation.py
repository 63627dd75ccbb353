"""What of a program is delegated: the same as in ExecuTorch's own flow, with fewer walks over the program."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import Node

from ..aten.decompose import decompose
from ..aten.functionalize import functional
from ..compat.executorch import default_decompositions
from ..exir.partitioner import TOSAPartitioner
from ..lower.exported_program import is_dequantize, is_int64_cast, is_quantize
from ..lower.support_analysis import Analysis


def delegation(program: ExportedProgram, partitioner: TOSAPartitioner) -> tuple[ExportedProgram, Analysis]:
    """The program as it is to be cut, and where; the partitioner has the report.

    ExecuTorch decomposes operators that the partitioner does not ask it to keep, and shows it the parts: so do we, but
    only if there are any.
    """
    program, analysis = partitioner.edited(functional(program))
    outside = {node.target for node in program.graph.nodes if _is_outside(node, analysis)}
    if outside:
        kept = {node.target for node in analysis.accepted} - outside
        table = {target: made for target, made in default_decompositions().items() if target not in kept}
        if chosen := outside & table.keys():
            program = decompose(program, table, chosen)  # the parts in turn are decomposed by all of the table
            return program, partitioner.final(program)
    return program, partitioner.reported(program, analysis)


def _is_outside(node: Node, analysis: Analysis) -> bool:
    edge = is_quantize(node) or is_dequantize(node) or is_int64_cast(node)
    return node.op == "call_function" and node not in analysis.accepted and not edge
