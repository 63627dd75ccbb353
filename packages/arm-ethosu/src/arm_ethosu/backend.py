"""The ExecuTorch backend that compiles a delegate for Ethos-U."""

from __future__ import annotations

from typing import final

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch.export.exported_program import ExportedProgram

from arm_tosa_core.exir import backend

from .compile_spec import EthosUCompileSpec


@final
class EthosUBackend(BackendDetails):  # type: ignore[misc]  # ExecuTorch is untyped
    """Lowers a delegate to TOSA and compiles that with Vela; ExecuTorch finds it by its class name."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """The payload for the EthosU delegate: the block stream of ``payload.pack``.

        Raises:
            LoweringError: an operator that had been accepted fails to lower.
            ToolError: Vela is missing, fails, hangs or writes garbage.
        """
        return backend.preprocess(edge_program, EthosUCompileSpec.from_list(compile_specs))

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        """As ``preprocess`` for the delegates of all methods of a program, which have equal weights once.

        Raises:
            LoweringError, ToolError: as ``preprocess``.
        """
        specs = {name: list(map(EthosUCompileSpec.from_list, given)) for name, given in compile_specs.items()}
        return backend.preprocess_methods(edge_programs, specs)
