"""The ExecuTorch partitioner: tags what the target takes, and says why it does not take the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from ..aten.lists_of_views import slice_varying_lists
from ..aten.written_state import settle_state
from ..compat.executorch import keep_initial_state, register_quantized_kernels
from ..compat.torch import OpOverload, fake_mode_of
from ..compat.torch_sizes import note_least, restore_least
from ..lowering.exported_program import copy_program, is_graph, real_constants, started_buffers
from ..lowering.operator_names import canonical
from ..lowering.rule_set import RuleSet
from ..support.errors import NothingDelegatedWarning as NothingDelegatedWarning
from ..support.executorch_names import PartitionerNames
from ..tosa.rewrite import Stage
from .artifacts import clear_artifacts
from .backend import backend_class, make_found
from .compilation import Compilation
from .compile_spec import ArmCompileSpec
from .operator_checks import node_checks
from .report import Report


class TOSAPartitioner(PartitionerNames, Partitioner):  # type: ignore[misc]  # ExecuTorch is untyped
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
        register_quantized_kernels()
        self.compile_spec = compile_spec
        self.target = compile_spec.target()
        self.additional_checks = tuple(additional_checks or ())
        self.delegation_spec = DelegationSpec(backend_class(self.target).__name__, compile_spec.to_list())
        self.report: Report | None = None
        # ExecuTorch shows partition() fake constants. By the program's fake mode: methods may share names and shapes.
        self._known: dict[Any, dict[tuple[str, torch.Size], torch.Tensor]] = {}
        self._started: frozenset[str] = frozenset()  # buffers that do not start at 0
        self._asked: list[tuple[Any, ...]] = []  # the nodes that ops_to_not_decompose saw, and what it said of them
        self._kept: list[OpOverload] = []
        self._least: dict[str, int] = {}  # of dynamic sizes, before ExecuTorch changes it

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags each region that the target takes as one delegate.

        Raises:
            UsageError: the program is not on the CPU.

        Warns:
            NothingDelegatedWarning: with the most frequent reason; ``report`` has all of them.
        """
        make_found(self.target)
        restore_least(exported_program, self._least)
        compilation = self.compilation(exported_program, editable=False)
        analysis, self.report = compilation.run().analysis, compilation.checked_report()
        clear_artifacts(self.compile_spec.get_intermediate_path(), self.target)
        numbers = {region: i for i, region in enumerate(sorted(set(analysis.accepted.values())))}
        tags = {}
        for node, region in analysis.accepted.items():
            tag = f"arm_{self.target.name}_{numbers[region]}"
            for own in [node, *filter(is_graph, node.all_input_nodes)]:
                own.meta["delegation_tag"] = tag
            tags[tag] = self.delegation_spec
        tag_constant_data(exported_program)
        for constant in exported_program.graph.output_node().all_input_nodes:
            if constant.op == "placeholder":  # returned as well: a delegate cannot have it for its own
                constant.meta.pop("delegation_tag", None)
        keep_initial_state(exported_program, self._started)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def missing_rule(self, op: OpOverload) -> str:
        """Why no rule of the target lowers an operator, and how to write one; empty: one does."""
        rules, name = RuleSet.of(self.target.name), canonical(op)
        return "" if rules.find(name) is not None else str(rules.missing(name))

    def ops_to_not_decompose(self, ep: ExportedProgram) -> tuple[list[OpOverload], Callable[[Node], bool] | None]:
        """Operators that the target takes as they are, wherever they occur in the program."""
        asked = [(n, n.target, n.args, n.kwargs) for n in ep.graph.nodes]
        nodes = [n for n, *_ in asked if n.op == "call_function" and isinstance(n.target, OpOverload)]
        if not nodes:  # an edge program: decided already
            return [], None
        if self._asked != asked:  # ExecuTorch asks twice
            note_least(ep, self._least)
            accepted = self.compilation(ep, editable=False).run(Stage.LOWER).analysis.accepted
            delegated = {n.target for n in nodes if n in accepted}
            parted = {n.target for n in nodes if n not in accepted or _gives_scalars(n) or _mixes_types(n)}
            self._kept = sorted(delegated - parted, key=str)
            self._asked = asked
        return list(self._kept), None

    def transform_for_pre_decomposition(self, exported_program: ExportedProgram) -> ExportedProgram:
        """Narrows int64 to int32 at the edges of what will be delegated, and gives each region its own constants.

        ``partition`` may only tag, so this is done before. The program given is left as it is.
        """
        exported_program = settle_state(exported_program)
        program = self.compilation(exported_program, editable=True).run().program
        if program is exported_program:
            program = copy_program(program)  # ExecuTorch takes constants out of it
        slice_varying_lists(program)
        _copy_shared_members(program)
        return program

    def compilation(self, program: ExportedProgram, *, editable: bool, decompose_rest: bool = False) -> Compilation:
        """The compilation of a program for the target of this partitioner: see ``Compilation``."""
        known = self._known.setdefault(fake_mode_of(program), {})
        known.update(real_constants(program))
        self._started |= started_buffers(program)
        return Compilation(
            program,
            self.target,
            node_checks(self.additional_checks),
            known=known,
            editable=editable,
            decompose_rest=decompose_rest,
        )


def _copy_shared_members(program: ExportedProgram) -> None:
    """Constants of a list, of ``cat`` for example, that others read, too, are copied there.

    ExecuTorch gives each reader a constant of its own, but leaves lists as they are, and ends with an error.
    """
    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    names |= signature.inputs_to_lifted_tensor_constants
    for node in program.graph.find_nodes(op="placeholder"):
        if node.name not in names or len(node.users) < 2:
            continue
        for user in [user for user in node.users if _reads_in_list(user, node)]:
            with program.graph.inserting_before(user):
                copied = program.graph.call_function(torch.ops.aten.clone.default, (node,))
            copied.meta = {**user.meta, "val": node.meta["val"]}
            user.replace_input_with(node, copied)


def _reads_in_list(user: Node, node: Node) -> bool:
    return any(isinstance(arg, list | tuple) and node in arg for arg in user.args)


def _gives_scalars(node: Node) -> bool:
    """Whether a node gives a list of tensors of rank 0, which ExecuTorch's verifier cannot read (``unbind``)."""
    results = node.meta.get("val")
    return isinstance(results, list | tuple) and any(isinstance(r, torch.Tensor) and not r.dim() for r in results)


def _mixes_types(node: Node) -> bool:
    """Whether a node is ``x // 2`` of another type than int64, the number's, which ExecuTorch's verifier refuses."""
    if node.target is not torch.ops.aten.floor_divide.default or isinstance(node.args[1], Node):
        return False
    dtype: torch.dtype = node.meta["val"].dtype
    return torch.tensor(node.args[1]).dtype != dtype
