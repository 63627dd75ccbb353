"""``lower``: the fast flow as users call it."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass

from executorch.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig, to_edge
from torch.export import ExportedProgram
from torch.fx.passes.operator_support import OperatorSupportBase

from ..atomic import write_atomic
from ..backend import payload
from ..compile_spec import ArmCompileSpec, TargetCompileSpec, TosaCompileSpec
from ..errors import UsageError
from ..explain import Report
from ..partitioner import TOSAPartitioner
from ..plugins import target as target_named
from ..regions import lower_regions
from ..specification import TosaSpecification
from .delegation import delegation
from .outer import with_delegates
from .standin import lowered_module


@dataclass(frozen=True)
class LoweredProgram:
    """A ``.pte``, and what became of each operator.

    Args:
        buffer: the contents of the ``.pte``.
        report: what was delegated and what was not.
    """

    buffer: bytes
    report: Report

    def write_to_file(self, open_file: io.BufferedIOBase) -> None:
        """Writes the ``.pte`` to a file opened in binary mode, as ExecuTorch's managers do."""
        open_file.write(self.buffer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the ``.pte`` to ``path``, all of it or nothing.

        Raises:
            UsageError: it cannot be written.
        """
        write_atomic(path, self.buffer)


def lower(
    exported_program: ExportedProgram,
    target: str | TosaSpecification | ArmCompileSpec,
    *,
    additional_checks: Sequence[OperatorSupportBase] = (),
    config: ExecutorchBackendConfig | None = None,
) -> LoweredProgram:
    """Lowers a program to a ``.pte``: what ``to_edge_transform_and_lower`` with a partitioner and ``to_executorch`` do.

    Args:
        exported_program: of ``torch.export``, quantized or not, on the CPU; it is left as it is.
        target: the name of an installed target, a TOSA specification (for a TOSA flatbuffer), or a compile spec.
        additional_checks: ExecuTorch operator supports, as a partitioner takes them; what one does not support stays
            on the CPU.
        config: how ExecuTorch makes the ``.pte``.

    Raises:
        UsageError: an unknown target, or a program that is not on the CPU.
        LoweringError: a node that had been accepted failed to lower.
        ToolError: the target's compiler failed.

    Warns:
        NothingDelegatedWarning: with the most frequent reason; ``report`` of the result has all of them.
    """
    edge, report = lower_to_edge(exported_program, target, additional_checks=additional_checks)
    return LoweredProgram(bytes(edge.to_executorch(config).buffer), report)


def lower_to_edge(
    exported_program: ExportedProgram,
    target: str | TosaSpecification | ArmCompileSpec,
    *,
    additional_checks: Sequence[OperatorSupportBase] = (),
) -> tuple[EdgeProgramManager, Report]:
    """``lower`` without its last step, for passes of ExecuTorch that come before ``to_executorch``."""
    spec = compile_spec_of(target)
    partitioner = TOSAPartitioner(spec, additional_checks)
    program, analysis = delegation(exported_program, partitioner)
    regions = lower_regions(program, partitioner.target, analysis)
    modules = [lowered_module(r, payload(r.graph, partitioner.target, spec), spec, program) for r in regions]
    outer = with_delegates(program, analysis, regions, modules)
    edge = to_edge(outer, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    assert partitioner.report is not None  # ``delegation`` has made it
    return edge, partitioner.report


def compile_spec_of(target: str | TosaSpecification | ArmCompileSpec) -> ArmCompileSpec:
    """The compile spec that a target stands for.

    Raises:
        UsageError: no installed target has this name, or ``target`` is of another type.
    """
    if isinstance(target, ArmCompileSpec):
        return target
    if isinstance(target, TosaSpecification):
        return TosaCompileSpec(target)
    if not isinstance(target, str):
        raise UsageError(
            f"target is the name of a target, a TosaSpecification or a compile spec, not {type(target).__name__}"
        )
    named = target_named(target)
    return named.compile_spec() if named.compile_spec else TargetCompileSpec(target)
