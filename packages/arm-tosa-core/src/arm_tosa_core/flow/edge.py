"""The fast flow as far as ExecuTorch's edge dialect."""

from __future__ import annotations

from collections.abc import Sequence

from executorch.exir import EdgeProgramManager, to_edge
from torch.export import ExportedProgram
from torch.fx.passes.operator_support import OperatorSupportBase

from ..compat.executorch import edge_config
from ..exir.backend import payload
from ..exir.compile_spec import ArmCompileSpec
from ..exir.partitioner import TOSAPartitioner
from ..exir.report import Report
from ..lower.regions import each_region
from .cpu_program import Call, with_delegates
from .delegate_module import lowered_module
from .delegation import delegation


def lower_to_edge(
    exported_program: ExportedProgram,
    compile_spec: ArmCompileSpec,
    additional_checks: Sequence[OperatorSupportBase] = (),
) -> tuple[EdgeProgramManager, Report]:
    """``lower`` without its last step, for passes of ExecuTorch that come before ``to_executorch``."""
    partitioner = TOSAPartitioner(compile_spec, additional_checks)
    program, analysis = delegation(exported_program, partitioner)
    calls = []
    for region in each_region(program, partitioner.target, analysis):
        compiled = payload(region.graph, partitioner.target, compile_spec)
        calls.append(Call(lowered_module(region, compiled, compile_spec, program), region.inputs, region.outputs))
    outer = with_delegates(program, analysis, calls)
    edge = to_edge(outer, compile_config=edge_config())
    assert partitioner.report is not None  # ``delegation`` has made it
    return edge, partitioner.report
