"""ExecuTorch's operator supports, such as ``DontPartition``, as reasons to keep a node on the CPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from ..compat.executorch import aten_overload, edge_overload
from ..compat.torch import OpOverload
from ..lowering.analysis_result import NodeCheck
from ..support.errors import Rejected


def node_checks(supports: Sequence[OperatorSupportBase]) -> Callable[[ExportedProgram], list[NodeCheck]]:
    """Makes the checks of a program out of operator supports; a node that one does not support stays on the CPU.

    A node of the ATen dialect is shown under its own name, and under the one that the edge dialect would give it.
    """

    def checks(program: ExportedProgram) -> list[NodeCheck]:
        submodules = dict(program.graph_module.named_modules()) if supports else {}
        names = _edge_names(program) if supports else {}

        def ask(check: OperatorSupportBase) -> NodeCheck:
            def asked(node: Node) -> Rejected | None:
                targets = {aten_overload(node.target), node.meta.get("original_aten", aten_overload(node.target))}
                for target, name in product(targets, {node.name, names.get(node, node.name)}):
                    with _as_edge(node, target, name):
                        supported = check.is_node_supported(submodules, node)
                    if not supported:
                        return Rejected(f"is kept on the CPU by {type(check).__name__}")
                return None

            return asked

        return [ask(check) for check in supports]

    return checks


def _edge_names(program: ExportedProgram) -> dict[Node, str]:
    """What the edge dialect would call nodes of the ATen dialect: the operator's name, counted."""
    names: dict[Node, str] = {}
    counts: Counter[str] = Counter()
    for node in program.graph.nodes:
        if isinstance(node.target, OpOverload):
            base = str(node.target).replace(".", "_").lower()
            names[node] = f"{base}_{counts[base]}" if counts[base] else base
            counts[base] += 1
    return names


@contextmanager
def _as_edge(node: Node, target: Any, name: str) -> Iterator[None]:
    """Shows a node as ``target`` of the edge dialect, for which checks are written."""
    own = node.target, node.meta, node.name
    node.name = name
    if isinstance(target, OpOverload):
        node.target = edge_overload(target)
        node.meta = {"original_aten": target, **node.meta}
    try:
        yield
    finally:
        node.target, node.meta, node.name = own
