"""What of a program would be delegated, found out without compiling it."""

from __future__ import annotations

from copy import copy

from torch.export import ExportedProgram

from .compile_spec import ArmCompileSpec
from .report import Report


def explain(program: ExportedProgram, compile_spec: ArmCompileSpec) -> Report:
    """What of a program in the ATen dialect the target takes: what ``lower`` does, up to compiling.

    Raises:
        UsageError: the program is not on the CPU.
    """
    from .partitioner import TOSAPartitioner

    plain = copy(compile_spec).dump_intermediate_artifacts_to(None).dump_debug_info(None)  # leaves what is there
    return TOSAPartitioner(plain).compilation(program, editable=True, decompose_rest=True).run().report
