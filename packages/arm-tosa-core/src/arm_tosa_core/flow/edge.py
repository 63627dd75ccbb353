"""The fast flow as far as ExecuTorch's edge dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from executorch.exir import EdgeProgramManager, to_edge
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from ..compat.executorch import (
    edge_config,
    edge_program,
    keep_initial_state,
    register_quantized_kernels,
    set_payload,
)
from ..exir.artifacts import clear_artifacts, drop_last
from ..exir.backend import compiled
from ..exir.compilation import Compilation
from ..exir.compile_spec import ArmCompileSpec
from ..exir.compiled_delegate import CompiledDelegate
from ..exir.named_data import with_named_data
from ..exir.operator_checks import node_checks
from ..exir.payload_ports import JoinedError
from ..exir.report import NOTHING_TO_DO, Report
from ..lowering.exported_program import started_buffers
from ..lowering.regions import Region
from ..lowering.varying_sizes import kept_varying
from ..plugin.target import Target
from .cpu_program import Call, is_decomposed, with_delegates
from .delegate_module import check_memory, lowered_module
from .progress import Progress, silent

if TYPE_CHECKING:
    from .devtools import Record  # imports ExecuTorch's developer tools, and pandas with them


def lower_to_edge(
    exported_program: ExportedProgram,
    compile_spec: ArmCompileSpec,
    additional_checks: Sequence[OperatorSupportBase] = (),
) -> tuple[EdgeProgramManager, Report]:
    """``lower`` without its last step, for passes of ExecuTorch that come before ``to_executorch``."""
    edge, reports = methods_to_edge({"forward": exported_program}, compile_spec, additional_checks)
    return edge, reports["forward"]


def methods_to_edge(
    programs: Mapping[str, ExportedProgram],
    compile_spec: ArmCompileSpec,
    additional_checks: Sequence[OperatorSupportBase] = (),
    constants: Mapping[str, Any] | None = None,
    progress: Progress = silent,
    remainder: Sequence[ArmCompileSpec] = (),
    record: Record | None = None,
    external: str | None = None,
) -> tuple[EdgeProgramManager, dict[str, Report]]:
    """As ``lower_to_edge`` for the methods of one program, by their names.

    Args:
        constants: methods that return a number, a list of numbers or a tensor, by their names.
        remainder: what takes the rest, one after the other.
        record: is told of the program, of which there is one.
        external: the ``.ptd`` for the delegates' weights, by its name without the suffix; None: they are in the
            ``.pte``, and those that several methods have in common are in it once.
    """
    register_quantized_kernels()
    target = compile_spec.target()
    if target.compiler.warm_up is not None:
        target.compiler.warm_up()
    for spec in (compile_spec, *remainder):
        clear_artifacts(spec.get_intermediate_path(), spec.target())
    outer: dict[str, ExportedProgram] = {}
    reports: dict[str, Report] = {}
    delegates = _Delegates(compile_spec, external)
    for name, program in programs.items():
        progress("lower", 0)
        compilation = Compilation(program, target, node_checks(additional_checks), decompose_rest=True).run()
        progress("lower", 1)
        reports[name] = compilation.checked_report()
        if record is not None:
            record.take(compilation.program)
        outer[name] = delegates.called(compilation, reports[name], progress, record)
    delegates.name_data()
    for spec in remainder:
        rest = _Delegates(spec, external)
        for name, program in outer.items():
            compilation = Compilation(program, spec.target(), decompose_rest=True).run()
            outer[name] = rest.called(compilation, compilation.report, silent, record)
        rest.name_data()
    with kept_varying(*outer.values()):
        edge = _to_edge(outer, dict(constants or {}))
    for name in edge.methods:
        check_memory(edge.exported_program(name))
    if record is not None:
        record.number(edge)
    return edge, reports


def _to_edge(programs: dict[str, ExportedProgram], constants: dict[str, Any]) -> EdgeProgramManager:
    """``to_edge``; without a trace through PyTorch's table of decompositions where it would change nothing.

    That trace takes most of the time of lowering a small program.
    """
    if all(map(is_decomposed, programs.values())):
        plain = {name: edge_program(program) for name, program in programs.items()}
        edge = EdgeProgramManager(plain, constants, edge_config())
    else:
        edge = to_edge(programs, constant_methods=constants, compile_config=edge_config())
    for name, program in programs.items():
        keep_initial_state(edge.exported_program(name), started_buffers(program))
    return edge


class _Delegates:
    """The delegates of all methods of a program, for one compile spec.

    Args:
        external: the ``.ptd`` for their weights, as of ``methods_to_edge``.
    """

    def __init__(self, compile_spec: ArmCompileSpec, external: str | None) -> None:
        self.compile_spec, self.external = compile_spec, external
        self._modules: list[list[Any]] = []  # of each method
        self._reports: list[Report] = []

    def called(
        self, compilation: Compilation, report: Report, progress: Progress, record: Record | None
    ) -> ExportedProgram:
        """The program that calls a delegate for each region; ``report`` is told what its compiler says."""
        calls = []
        same: dict[Node, Node] = {}
        expected = report.delegates
        handles = {} if record is None else record.handles(compilation.analysis)
        for number, region in enumerate(compilation.regions()):
            progress("compile", number / expected)
            same |= region.same
            if not region.outputs:
                idle = {node.name for node, home in compilation.analysis.accepted.items() if home == region.number}
                report.refuse(idle, NOTHING_TO_DO)
                continue
            payload, said = self._compiled(region, compilation.target)
            same |= region.same
            report.compiled.append(said)
            module = lowered_module(region, payload, self.compile_spec, compilation.program, handles.get(number, ()))
            calls.append(Call(module, region.inputs, region.outputs))
        progress("compile", 1)
        self._modules.append([call.module for call in calls])
        self._reports.append(report)
        return with_delegates(compilation.program, compilation.analysis, calls, same)

    def _compiled(self, region: Region, target: Target) -> tuple[bytes, CompiledDelegate]:
        """Of what the target's compiler leaves of a region, which is told."""
        while True:
            try:
                return compiled(region, target, self.compile_spec)
            except JoinedError as joined:
                if not region.without(joined.unread, joined.same):
                    raise
                drop_last(self.compile_spec.get_intermediate_path(), target)

    def name_data(self) -> None:
        """Puts what the payloads have in common, or all their weights, outside of them; reports follow.

        Raises:
            UsageError, ToolError: as ``with_named_data``.
        """
        old = [[module.processed_bytes for module in method] for method in self._modules]
        placed = with_named_data(old, self.compile_spec.target(), self.external)
        for modules, payloads in zip(self._modules, placed.payloads, strict=True):
            for module, payload in zip(modules, payloads, strict=True):
                set_payload(module, payload, placed.store)
        for report, cycles in zip(self._reports, placed.cycles or (), strict=placed.cycles is not None):
            report.compiled = [said.timed(each) for said, each in zip(report.compiled, cycles, strict=True)]
