"""The ExecuTorch backend that compiles a delegated subgraph to VGF."""

from __future__ import annotations

from typing import final

from executorch.exir.backend.backend_details import BackendDetails, ExportedProgram, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec

from arm_tosa_core.exir.backend import preprocess

from .compile_spec import VgfCompileSpec


@final
class VgfBackend(BackendDetails):  # type: ignore[misc]  # ExecuTorch is untyped
    """Its payload is the VGF itself, as ExecuTorch's ``VgfBackend`` delegate reads it."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Lowers one delegated subgraph to TOSA and converts it.

        Raises:
            LoweringError: a node that the partitioner had accepted failed to lower.
            ToolError: the model converter failed.
        """
        return preprocess(edge_program, VgfCompileSpec.from_list(compile_specs))
