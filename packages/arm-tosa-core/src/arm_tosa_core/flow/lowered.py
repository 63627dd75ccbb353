"""``lower``: the fast flow as users call it."""

from __future__ import annotations

import io
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compat.executorch import data_files_of, kernels_of
from ..exir.compile_spec import ArmCompileSpec, TargetCompileSpec, TosaCompileSpec
from ..exir.figures import Figures
from ..exir.report import Report
from ..plugin.entry_points import target as target_named
from ..support.atomic_files import require_writable, write_atomic
from ..support.errors import MissingKernelWarning, UsageError
from ..support.garbage import without_collection
from ..support.import_messages import without_import_messages
from ..support.torch_warnings import without_torch_warnings
from ..tosa.specification import TosaSpecification
from .cache import Entry, load, store
from .fingerprint import fingerprint
from .progress import Progress, silent

if TYPE_CHECKING:
    import torch
    from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, ExecutorchProgramManager
    from executorch.exir.backend.partitioner import Partitioner
    from torch.export import ExportedProgram
    from torch.fx.passes.operator_support import OperatorSupportBase

    from ..aten.integer_edges import Integers
    from ..exir.pte import InputTensor


@dataclass(frozen=True)
class LoweredProgram:
    """A ``.pte``, and what became of each operator.

    Args:
        buffer: the contents of the ``.pte``.
        report: what was delegated and what was not.
        cached: whether it was read from the cache.
        seconds: that ``lower`` took, on this machine's clock.
        integers: which inputs and outputs are integers by ``integer_io``, and of which scale: ``input0``, ``output0``.
        data_files: the contents of the ``.ptd`` files that belong to the ``.pte``, by their names.
    """

    buffer: bytes
    report: Report
    cached: bool = False
    seconds: float = 0.0
    integers: Mapping[str, Integers] = field(default_factory=dict)
    data_files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def figures(self) -> Figures:
        """Operators, cycles, memory, bytes and time."""
        return Figures.of(self.report, len(self.buffer), self.seconds)

    @property
    def inputs(self) -> list[InputTensor | None]:
        """How method ``forward`` takes each of its inputs in memory; None of one that is no tensor."""
        from ..exir.pte import read

        return read(self.buffer).inputs["forward"]

    def bundled(self, cases: Sequence[tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]]) -> bytes:
        """A *bundled program* (``.bpte``): the ``.pte`` with inputs, and the outputs expected of them.

        Args:
            cases: inputs and expected outputs of each call of method ``forward``.

        Raises:
            UsageError: there is no case.
        """
        from .devtools import bundled

        return bundled(self.buffer, cases)

    def write_to_file(self, open_file: io.BufferedIOBase) -> None:
        """Writes the ``.pte`` to a file opened in binary mode, as ExecuTorch's managers do."""
        open_file.write(self.buffer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the ``.pte`` to ``path``, and its ``.ptd`` files beside it; each all of it or nothing.

        Raises:
            UsageError: one cannot be written.
        """
        save_files(path, self.buffer, self.data_files)


def lower(
    exported_program: ExportedProgram,
    target: str | TosaSpecification | ArmCompileSpec,
    *,
    additional_checks: Sequence[OperatorSupportBase] = (),
    config: ExecutorchBackendConfig | None = None,
    cache: bool = False,
    memory_format: torch.memory_format | None = None,
    integer_io: bool = False,
    progress: Progress = silent,
    remainder: ArmCompileSpec | None = None,
    etrecord: str | os.PathLike[str] | None = None,
    partitioner: Sequence[Partitioner] = (),
    external_constants: str | None = None,
) -> LoweredProgram:
    """Lowers a program to a ``.pte``: what ``to_edge_transform_and_lower`` with a partitioner and ``to_executorch`` do.

    Args:
        exported_program: of ``torch.export``, quantized or not, on the CPU; it is left as it is.
        target: the name of an installed target, a TOSA specification (for a TOSA flatbuffer), or a compile spec.
        additional_checks: ExecuTorch operator supports, as a partitioner takes them; what one does not support stays
            on the CPU.
        config: how ExecuTorch makes the ``.pte``.
        cache: read the result from the cache on disk if the same was lowered before, and keep it there. Not used with
            ``additional_checks``, ``config``, rewrites added or artifacts to leave, nor where nothing is delegated.
        memory_format: how inputs lie in memory: ``torch.contiguous_format``, which is row-major (the default),
            ``torch.channels_last``, as cameras give pictures, or ``torch.preserve_format``, as the example inputs lie.
        integer_io: the program takes and returns the integers of a quantized model: no quantize and dequantize nodes on
            the CPU. The ``.pte`` has methods that return their scales and zero points, such as ``input0_scale`` and
            ``output0_zp``, as ExecuTorch's ``QuantizeInputs`` names them. Inputs and outputs in float stay as they are.
        progress: called with a stage, ``lower``, ``compile`` or ``write``, and the part of it that is done, from 0 to
            1; not at all where the result is in the cache.
        remainder: what the target does not take is compiled for this one, as delegates of its own, which the report
            does not tell of; the cache is not used.
        etrecord: write ExecuTorch's ETRecord to this file, with which its ``Inspector`` says which operators and source
            lines the events of an ETDump come from; the cache is not used.
        partitioner: ExecuTorch partitioners, such as ``XnnpackPartitioner()``, which take what the target does not, one
            after the other; the cache is not used, and the report does not tell of them.
        external_constants: the name of a ``.ptd``, without the suffix, that has the weights of delegates and the
            constants of what stays on the CPU; the cache is not used. The target's delegate must read such files, as
            that of Ethos-U does.

    Raises:
        UsageError: a mapping of programs (use ``lower_methods``), an unknown target, a target that reads no ``.ptd``,
            a file that cannot be written, a program that is not on the CPU, or an operator that stays on the CPU
            without an out variant, which ExecuTorch needs there.
        LoweringError: a node that had been accepted failed to lower.
        ToolError: the target's compiler failed.

    Warns:
        NothingDelegatedWarning: with the most frequent reason; ``report`` of the result has all of them.
        MissingKernelWarning: the ExecuTorch installed here has no kernel for an operator that stays on the CPU, so
            that it does not load the program.
    """
    from ..aten.integer_edges import with_integer_edges
    from ..aten.memory_format import MEMORY_FORMATS, with_memory_format

    started = time.perf_counter()
    if isinstance(exported_program, Mapping):
        raise UsageError(
            "lower takes one program, not a mapping. To put several programs into one .pte as its methods, call "
            "arm_tosa_core.flow.lower_methods(programs, target)"
        )
    spec = compile_spec_of(target)
    config = _config(config, external_constants)
    exported_program = with_memory_format(exported_program, memory_format or MEMORY_FORMATS["contiguous"])
    exported_program, integers = with_integer_edges(exported_program) if integer_io else (exported_program, {})
    asked = (
        additional_checks
        or spec.rewrites
        or partitioner
        or any(given is not None for given in (config, remainder, etrecord, external_constants))
    )
    plain = not asked and spec.get_intermediate_path() is None
    constants = {key: value for name, found in integers.items() for key, value in found.constants(name).items()}
    key = fingerprint(exported_program, spec, constants) if cache and plain else None
    if key is not None and (entry := load(key)) is not None:
        _warn_of_kernels(entry.report)
        return LoweredProgram(*entry, cached=True, seconds=time.perf_counter() - started, integers=integers)
    if etrecord is not None:
        require_writable(etrecord)
    with without_import_messages():
        from .devtools import Record
        from .edge import methods_to_edge  # late: importing ExecuTorch takes longer than reading the cache

    with without_collection(), without_torch_warnings():
        record = None if etrecord is None else Record()
        edge, reports = methods_to_edge(
            {"forward": exported_program},
            spec,
            additional_checks,
            constants,
            progress=progress,
            remainder=remainder,
            record=record,
            external=external_constants,
        )
        report = reports["forward"]
        for other in partitioner:
            edge = edge.to_backend(other)
        progress("write", 0)
        manager = _to_executorch(edge, report, config)
        data_files = data_files_of(manager)
        report = report.with_kernels_of(kernels_of(manager))
        made = Entry(bytes(manager.buffer), report)
        if etrecord is not None and record is not None:
            write_atomic(etrecord, record.etrecord(manager))
    progress("write", 1)
    _warn_of_kernels(report)
    if key is not None and report.delegated and not data_files:
        store(key, made)
    return LoweredProgram(*made, seconds=time.perf_counter() - started, integers=integers, data_files=data_files)


@dataclass(frozen=True)
class LoweredMethods:
    """A ``.pte`` with several methods, and what became of the operators of each.

    Args:
        buffer: the contents of the ``.pte``.
        reports: what was delegated and what was not, by method.
        data_files: the contents of the ``.ptd`` files that belong to the ``.pte``, by their names.
    """

    buffer: bytes
    reports: Mapping[str, Report]
    data_files: Mapping[str, bytes] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the ``.pte`` to ``path``, and its ``.ptd`` files beside it; each all of it or nothing.

        Raises:
            UsageError: one cannot be written.
        """
        save_files(path, self.buffer, self.data_files)


def lower_methods(
    programs: Mapping[str, ExportedProgram],
    target: str | TosaSpecification | ArmCompileSpec,
    *,
    constants: Mapping[str, Any] | None = None,
    config: ExecutorchBackendConfig | None = None,
    external_constants: str | None = None,
) -> LoweredMethods:
    """Lowers several programs to the methods of one ``.pte``.

    Weights that several methods have in common are stored once, for targets whose delegates can read them from where
    they are, as that of Ethos-U does.

    Args:
        programs: by the names of their methods; as ``lower`` takes them, inputs row-major in memory.
        target: as ``lower`` takes it.
        constants: methods that return a number, a list of numbers or a tensor, by their names.
        config: how ExecuTorch makes the ``.pte``.
        external_constants: as of ``lower``.

    Raises:
        UsageError, LoweringError, ToolError: as ``lower``.

    Warns:
        NothingDelegatedWarning: for each method of which nothing is delegated.
        MissingKernelWarning: as ``lower``.
    """
    from ..aten.memory_format import MEMORY_FORMATS, with_memory_format

    spec = compile_spec_of(target)
    config = _config(config, external_constants)
    plain = {name: with_memory_format(program, MEMORY_FORMATS["contiguous"]) for name, program in programs.items()}
    with without_import_messages():
        from .edge import methods_to_edge

    with without_collection(), without_torch_warnings():
        edge, reports = methods_to_edge(plain, spec, constants=constants, external=external_constants)
        rejected = [row for report in reports.values() for row in report.rejected]
        report = Report(spec.target().name, rejected=rejected)
        manager = _to_executorch(edge, report, config)
        _warn_of_kernels(report)
        return LoweredMethods(bytes(manager.buffer), reports, data_files_of(manager))


def _config(config: ExecutorchBackendConfig | None, external: str | None) -> ExecutorchBackendConfig | None:
    """With constants of what is not in delegates in a ``.ptd`` too, if there is one."""
    if external is None:
        return config
    if not external or not external.isascii() or Path(external).name != external:
        raise UsageError(f"external_constants={external!r}: give the name of a file, in ASCII characters and no folder")
    from executorch.exir import ExecutorchBackendConfig  # late: importing it takes longer than reading the cache

    return replace(config or ExecutorchBackendConfig(), external_constants=lambda _: external)


def save_files(path: str | os.PathLike[str], buffer: bytes, data_files: Mapping[str, bytes]) -> None:
    """Writes a ``.pte`` and its ``.ptd`` files, which come first: who finds the ``.pte`` finds them."""
    for name, data in data_files.items():
        write_atomic(Path(path).with_name(name), data)
    write_atomic(path, buffer)


def _warn_of_kernels(report: Report) -> None:
    if lacking := report.without_kernels():
        warnings.warn(lacking, MissingKernelWarning, stacklevel=3)


def _to_executorch(
    edge: EdgeProgramManager, report: Report, config: ExecutorchBackendConfig | None
) -> ExecutorchProgramManager:
    """The last step; where an operator has no out variant, the error says why it was not delegated."""
    from ..compat.torch import name_result_types
    from .out_variants import without_out_variant

    name_result_types()
    try:
        return edge.to_executorch(config)
    except RuntimeError as error:
        if (why := without_out_variant(edge, report)) is None:
            raise
        raise UsageError(why) from error


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
