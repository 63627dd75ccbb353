"""What cannot run on the CPU: operators that stay there and that ExecuTorch has no variant of, or cannot write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from executorch.exir import EdgeProgramManager
from torch.fx import GraphModule, Node

from ..compat.executorch import has_out_variant, is_written
from ..exir.report import Report, Row
from ..lowering.exported_program import source_line
from ..lowering.operator_names import canonical
from ..lowering.tosa_operators import NAMESPACE


def without_out_variant(edge: EdgeProgramManager, report: Report) -> str | None:
    """Which operators ExecuTorch cannot run, where they are and why they were not delegated; None if it can run all.

    Args:
        report: what became of the operators of the program that ``edge`` was made of.
    """
    tosa = _said(edge, report, lambda target: not canonical(target).startswith(f"{NAMESPACE}."), _OF_TOSA)
    return tosa or _said(edge, report, is_written, _NOT_WRITTEN) or _said(edge, report, has_out_variant, _NO_VARIANT)


#: Why ExecuTorch does not run some operators, and what to do.
_NOT_WRITTEN = (
    "ExecuTorch has no such control flow",
    "Use torch.cond, or export with a fixed number of steps: a loop of Python over a range of numbers. with_effects is "
    "an operator that checks its operands, as torch.linalg.inv does: do without it in the model",
)
_NO_VARIANT = (
    "ExecuTorch needs an out variant, and there is none",
    "Have the target take it (above is why it does not), or declare the variant that writes its result to an "
    'argument `out`: torch.library.define("NAMESPACE::OPERATOR.out", ...), with a kernel of that name on the device',
)

_OF_TOSA = (
    "no runtime has kernels of TOSA's operators, whatever --allow-missing-kernels says",
    "Have the target take it (above is why it does not): change it in the model that the .tosa was made from, or take "
    "another target",
)


def _said(
    edge: EdgeProgramManager, report: Report, runs: Callable[[Any], bool], why_and_fix: tuple[str, str]
) -> str | None:
    places: dict[str, list[str]] = {}
    for node in _calls(edge):
        if not runs(node.target):
            places.setdefault(canonical(node.target), []).extend(_explained(node, report))
    if not places:
        return None
    why, fix = why_and_fix
    lines = [line for rows in places.values() for line in dict.fromkeys(rows)]
    return "\n".join([f"{', '.join(places)} cannot run on the CPU: {why}", *lines, fix])


def _calls(edge: EdgeProgramManager) -> Iterator[Node]:
    for method in edge.methods:
        for module in edge.exported_program(method).graph_module.modules():
            if isinstance(module, GraphModule):
                yield from (node for node in module.graph.nodes if node.op == "call_function")


def _explained(node: Node, report: Report) -> list[str]:
    """Where a node is, and why it or the operator that it is a part of was not delegated."""
    name, where = canonical(node.target), source_line(node)
    rows = [row for row in report.rejected if row.source == where]
    rows = [row for row in rows if row.target == name] or rows
    return [f"    at {where}" if where else f"    {node.name}", *map(_reason, rows)]


def _reason(row: Row) -> str:
    return f"    {row.target} was not delegated: {row.reason}" + (f" ({row.fix})" if row.fix else "")
