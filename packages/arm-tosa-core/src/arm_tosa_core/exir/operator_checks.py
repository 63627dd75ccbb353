"""ExecuTorch's operator supports, such as ``DontPartition``, as reasons to keep a node on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from ..compat.executorch import aten_overload, edge_overload
from ..compat.torch import OpOverload
from ..lowering.analysis_result import NodeCheck
from ..support.errors import Rejected


def node_checks(supports: Sequence[OperatorSupportBase]) -> Callable[[ExportedProgram], list[NodeCheck]]:
    """Makes the checks of a program out of operator supports; a node that one does not support stays on the CPU."""

    def checks(program: ExportedProgram) -> list[NodeCheck]:
        submodules = dict(program.graph_module.named_modules()) if supports else {}

        def ask(check: OperatorSupportBase) -> NodeCheck:
            def asked(node: Node) -> Rejected | None:
                for target in {aten_overload(node.target), node.meta.get("original_aten", aten_overload(node.target))}:
                    with _as_edge(node, target):
                        supported = check.is_node_supported(submodules, node)
                    if not supported:
                        return Rejected(f"is kept on the CPU by {type(check).__name__}")
                return None

            return asked

        return [ask(check) for check in supports]

    return checks


@contextmanager
def _as_edge(node: Node, target: Any) -> Iterator[None]:
    """Shows a node as ``target`` of the edge dialect, for which checks are written."""
    own = node.target, node.meta
    if isinstance(target, OpOverload):
        node.target = edge_overload(target)
        node.meta = {"original_aten": target, **node.meta}
    try:
        yield
    finally:
        node.target, node.meta = own
