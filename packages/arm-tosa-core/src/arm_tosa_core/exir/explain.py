"""What of a program would be delegated, found out without compiling it."""

from __future__ import annotations

import warnings
from copy import copy

from torch.export import ExportedProgram

from ..compat.executorch import edge_config
from ..support.errors import NothingDelegatedWarning
from .compile_spec import ArmCompileSpec
from .report import Report


def explain(program: ExportedProgram, compile_spec: ArmCompileSpec) -> Report:
    """What of a program in the ATen dialect the target takes: all that lowering does, up to compiling.

    Raises:
        UsageError: the program is not on the CPU.
    """
    from executorch.exir import to_edge

    from .partitioner import TOSAPartitioner

    plain = copy(compile_spec).dump_intermediate_artifacts_to(None).dump_debug_info(None)  # leaves what is there
    partitioner = TOSAPartitioner(plain)
    program = partitioner.transform_for_pre_decomposition(program).run_decompositions({})
    whole, _ = partitioner.ops_to_not_decompose(program)
    edge = to_edge(program, compile_config=edge_config(whole))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDelegatedWarning)  # the report says it
        partitioner.partition(edge.exported_program())
    assert partitioner.report is not None  # the partitioner has run
    return partitioner.report
