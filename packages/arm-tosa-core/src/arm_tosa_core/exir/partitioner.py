"""The ExecuTorch partitioner: tags what the target takes, and says why it does not take the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import executorch.kernels.quantized  # noqa: F401  # to_executorch needs its operators for q and dq at the edges
import torch
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from ..aten.control_flow import with_choices
from ..aten.decompose import without_composites
from ..aten.delegate_boundary import copy_shared, narrow_int64, needs_edits
from ..aten.functionalize import out_of_place
from ..compat.executorch import aten_overload, edge_overload
from ..compat.torch import OpOverload
from ..lower.exported_program import copy_program, is_graph, mutable, real_constants
from ..lower.rule_set import RuleSet
from ..lower.support_analysis import Analysis, NodeCheck, analyse
from ..support.errors import NothingDelegatedWarning as NothingDelegatedWarning
from ..support.errors import Rejected, UsageError
from .backend import backend_class
from .compile_spec import ArmCompileSpec
from .report import Report


class TOSAPartitioner(Partitioner):  # type: ignore[misc]  # ExecuTorch is untyped
    """Partitions a program for a target.

    Args:
        compile_spec: what to compile for.
        additional_checks: ExecuTorch operator supports, such as ``DontPartition``; a node that one of them does
            not support stays on the CPU.

    After ``partition``, ``report`` lists what was delegated and, for each operator that was not, why.
    """

    def __init__(
        self, compile_spec: ArmCompileSpec, additional_checks: Sequence[OperatorSupportBase] | None = None
    ) -> None:
        super().__init__()
        self.compile_spec = compile_spec
        self.target = compile_spec.target()
        self.additional_checks = tuple(additional_checks or ())
        self.delegation_spec = DelegationSpec(backend_class(self.target.backend_id).__name__, compile_spec.to_list())
        self.report: Report | None = None
        self._known: dict[tuple[str, torch.Size], torch.Tensor] = {}  # ExecuTorch shows partition() fake constants
        self._asked: list[tuple[Any, ...]] = []  # the nodes that ops_to_not_decompose saw, and what it said of them
        self._kept: list[OpOverload] = []

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags each region that the target takes as one delegate.

        Raises:
            UsageError: the program is not on the CPU.

        Warns:
            NothingDelegatedWarning: with the most frequent reason; ``report`` has all of them.
        """
        analysis = self.final(exported_program)
        numbers = {region: i for i, region in enumerate(sorted(set(analysis.accepted.values())))}
        tags = {}
        for node, region in analysis.accepted.items():
            tag = f"arm_{self.target.name}_{numbers[region]}"
            for own in [node, *filter(is_graph, node.all_input_nodes)]:
                own.meta["delegation_tag"] = tag
            tags[tag] = self.delegation_spec
        tag_constant_data(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def final(self, program: ExportedProgram) -> Analysis:
        """What of a program that nobody edits any more is delegated; makes the report of it.

        Warns:
            NothingDelegatedWarning: with the most frequent reason.
        """
        return self.reported(program, self._analyse(program, editable=False))

    def reported(self, program: ExportedProgram, analysis: Analysis) -> Analysis:
        """Makes the report of an analysis, which it returns; warns as ``final`` does."""
        self.report = Report.of(program, analysis, self.target)
        if not analysis.accepted:
            warnings.warn(self.report.nothing_delegated(), NothingDelegatedWarning, stacklevel=3)
        return analysis

    def ops_to_not_decompose(self, ep: ExportedProgram) -> tuple[list[OpOverload], Callable[[Node], bool] | None]:
        """Operators that the target takes as they are, wherever they occur in the program."""
        nodes = [n for n in ep.graph.nodes if n.op == "call_function" and isinstance(n.target, OpOverload)]
        if not nodes:  # an edge program: decided already
            return [], None
        asked = [(n, n.target, n.args, n.kwargs) for n in ep.graph.nodes]
        if self._asked != asked:  # ExecuTorch asks twice
            analysis = self._analyse(ep, editable=False)
            taken = {n.target for n in nodes if n in analysis.accepted}
            self._kept = sorted(taken - {n.target for n in nodes if n not in analysis.accepted}, key=str)
            self._asked = asked
        return list(self._kept), None

    def transform_for_pre_decomposition(self, exported_program: ExportedProgram) -> ExportedProgram:
        """Narrows int64 to int32 at the edges of what will be delegated, and gives each region its own constants.

        ``partition`` may only tag, so this is done before. The program given is left as it is.
        """
        program, _ = self.edited(exported_program)
        return copy_program(program) if program is exported_program else program  # ExecuTorch takes constants out of it

    def edited(self, exported_program: ExportedProgram) -> tuple[ExportedProgram, Analysis]:
        """``transform_for_pre_decomposition``, and what is delegated; gives the same program if it needs no edits."""
        rules = RuleSet.of(self.target.name)
        exported_program = without_composites(out_of_place(with_choices(exported_program)), rules)
        analysis = self._analyse(exported_program, editable=True)
        if any(_writes(node, analysis) for node in exported_program.graph.nodes):
            exported_program = exported_program.run_decompositions({})  # makes it functional: what follows moves values
            analysis = self._analyse(exported_program, editable=True)
        if not needs_edits(exported_program, analysis):
            return exported_program, analysis
        program = copy_program(exported_program)
        analysis = analysis.of_copy(dict(zip(exported_program.graph.nodes, program.graph.nodes, strict=True)))
        again = copy_shared(program, analysis)
        narrow_int64(program, analysis)
        return program, self._analyse(program, editable=False) if again else analysis

    def _analyse(self, program: ExportedProgram, editable: bool) -> Analysis:
        _require_cpu(program)
        self._known.update(real_constants(program))
        return analyse(program, self.target, self._checks(program), known=self._known, editable=editable)

    def _checks(self, program: ExportedProgram) -> list[NodeCheck]:
        submodules = dict(program.graph_module.named_modules())

        def ask(check: OperatorSupportBase) -> NodeCheck:
            def asked(node: Node) -> Rejected | None:
                for target in {aten_overload(node.target), node.meta.get("original_aten", aten_overload(node.target))}:
                    with _as_edge(node, target):
                        supported = check.is_node_supported(submodules, node)
                    if not supported:
                        return Rejected(f"is kept on the CPU by {type(check).__name__}")
                return None

            return asked

        return [ask(check) for check in self.additional_checks]


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


def _require_cpu(program: ExportedProgram) -> None:
    for node in program.graph.find_nodes(op="placeholder"):
        meta = node.meta.get("val")
        if isinstance(meta, torch.Tensor) and meta.device.type != "cpu":
            raise UsageError(f"{node.name} is on device {meta.device}: move the model to the CPU, then export it")


def _writes(node: Node, analysis: Analysis) -> bool:
    """Whether an operator in place writes to a constant, or to integers that may be narrowed."""
    if not mutable(node):
        return False
    target = node.all_input_nodes[0]
    return target in analysis.constant or not target.meta["val"].dtype.is_floating_point
