"""The fast flow as far as ExecuTorch's edge dialect."""

from __future__ import annotations

from collections.abc import Sequence

from executorch.exir import EdgeProgramManager, to_edge
from torch.export import ExportedProgram
from torch.fx.passes.operator_support import OperatorSupportBase

from ..compat.executorch import edge_config, register_quantized_kernels
from ..exir.artifacts import clear_artifacts
from ..exir.backend import compiled
from ..exir.compilation import Compilation
from ..exir.compile_spec import ArmCompileSpec
from ..exir.operator_checks import node_checks
from ..exir.report import Report
from .cpu_program import Call, with_delegates
from .delegate_module import lowered_module


def lower_to_edge(
    exported_program: ExportedProgram,
    compile_spec: ArmCompileSpec,
    additional_checks: Sequence[OperatorSupportBase] = (),
    remainder: ArmCompileSpec | None = None,
) -> tuple[EdgeProgramManager, Report]:
    """``lower`` without its last step, for passes of ExecuTorch that come before ``to_executorch``."""
    register_quantized_kernels()
    target = compile_spec.target()
    if target.warm_up is not None:
        target.warm_up()
    compilation = Compilation(exported_program, target, node_checks(additional_checks), alone=True).run()
    report = compilation.checked_report()
    outer = _with_delegates(compilation, compile_spec, report)
    if remainder is not None:
        rest = Compilation(outer, remainder.target(), alone=True).run()
        outer = _with_delegates(rest, remainder, rest.report)
    return to_edge(outer, compile_config=edge_config()), report


def _with_delegates(compilation: Compilation, compile_spec: ArmCompileSpec, report: Report) -> ExportedProgram:
    """The program that calls a delegate for each region; ``report`` is told what its compiler says."""
    program, target = compilation.program, compilation.target
    clear_artifacts(compile_spec.get_intermediate_path(), target)
    calls = []
    for region in compilation.regions():
        payload, said = compiled(region, target, compile_spec)
        report.compiled.append(said)
        module = lowered_module(region, payload, compile_spec, program)
        calls.append(Call(module, region.inputs, region.outputs))
    return with_delegates(program, compilation.analysis, calls)
