"""What of a program would be delegated, found out without compiling it."""

from __future__ import annotations

from torch.export import ExportedProgram

from .compilation import Compilation
from .compile_spec import ArmCompileSpec
from .report import Report


def explain(program: ExportedProgram, compile_spec: ArmCompileSpec) -> Report:
    """What of a program in the ATen dialect the target takes: all that lowering does, up to compiling.

    Raises:
        UsageError: the program is not on the CPU.
    """
    return Compilation(program, compile_spec.target(), alone=True).run().report
