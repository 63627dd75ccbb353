"""``lower``: the fast flow as users call it."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..compat.executorch import data_files_of, kernels_of
from ..exir.artifacts import alone_in
from ..exir.compile_spec import ArmCompileSpec, TosaCompileSpec
from ..exir.report import Report
from ..exir.target_options import compile_spec_for
from ..plugin.entry_points import target as target_named
from ..support.arguments import brief, require_callable, require_kind, require_program
from ..support.atomic_files import require_writable, write_atomic
from ..support.errors import MissingKernelWarning, UsageError
from ..support.garbage import without_collection
from ..support.library_messages import without_import_messages, without_torch_warnings
from ..tosa.specification import TosaSpecification
from .executorch_options import ExecuTorchOptions
from .kept import kept
from .lowered_program import LoweredProgram
from .progress import Progress, silent

if TYPE_CHECKING:
    import torch
    from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, ExecutorchProgramManager
    from executorch.exir.backend.partitioner import Partitioner
    from torch.export import ExportedProgram

    from ..aten.integer_edges import Integers


def lower(
    exported_program: ExportedProgram | Mapping[str, ExportedProgram],
    target: str | TosaSpecification | ArmCompileSpec,
    *,
    cache: bool = False,
    memory_format: torch.memory_format | None = None,
    integer_io: bool = False,
    progress: Progress = silent,
    remainder: Sequence[ArmCompileSpec | Partitioner] = (),
    executorch: ExecuTorchOptions | None = None,
) -> LoweredProgram:
    """Lowers a program to a ``.pte``: what ``to_edge_transform_and_lower`` with a partitioner and ``to_executorch`` do.

    Args:
        exported_program: of ``torch.export``, quantized or not, on the CPU; it is left as it is. Or several of them by
            the names of the methods that they become. Weights that methods have in common are stored once, for targets
            whose delegates can read them from where they are, as that of Ethos-U does.
        target: the name of an installed target, a TOSA specification (for a TOSA flatbuffer), or a compile spec.
        cache: read the result from the cache on disk if the same was lowered before, and keep it there. Not used for
            several programs, with ``remainder`` or ``executorch``, with rewrites added or artifacts to leave, nor where
            nothing is delegated or a run of the target's compiler died.
        memory_format: how inputs lie in memory: ``torch.contiguous_format``, which is row-major (the default),
            ``torch.channels_last``, as cameras give pictures, or ``torch.preserve_format``, as the example inputs lie.
        integer_io: the program takes and returns the integers of a quantized model: no quantize and dequantize nodes on
            the CPU. The ``.pte`` has methods that return their scales and zero points, such as ``input0_scale`` and
            ``output0_zp``, as ExecuTorch's ``QuantizeInputs`` names them. Inputs and outputs in float stay as they are.
            Of one program only.
        progress: called with a stage, ``lower``, ``compile`` or ``write``, and the part of it that is done, from 0 to
            1; not at all where the result is in the cache.
        remainder: what takes the rest, one after the other, as delegates of its own: compile specs, then ExecuTorch
            partitioners, such as ``XnnpackPartitioner()``. The report does not tell of them.
        executorch: options that are ExecuTorch's own; None: its defaults.

    Raises:
        UsageError: an unknown target, a target that reads no ``.ptd``, a file that cannot be written, a program that is
            not on the CPU, that has sparse constants, or that returns text or no tensor, an operator that stays on the
            CPU without an out variant, which ExecuTorch needs there, no program at all, an option for one program
            with several, or a compile spec behind a partitioner in ``remainder``.
        LoweringError: a node that had been accepted failed to lower.
        ToolError: the target's compiler failed.

    Warns:
        NothingDelegatedWarning: with the most frequent reason, for each method; ``reports`` have all of them.
        MissingKernelWarning: the ExecuTorch installed here has no kernel for an operator that stays on the CPU, so
            that it does not load the program.
        WrittenInputWarning: the model writes to an input, which the program leaves as it is.
    """
    from ..aten.memory_format import MEMORY_FORMATS
    from ..aten.written_state import settle_state
    from ..lowering.unwritable import require_writable_program
    from .fingerprint import fingerprint

    started = time.perf_counter()
    options = ExecuTorchOptions() if executorch is None else executorch
    require_kind(options, ExecuTorchOptions, "executorch")
    require_callable(progress, "progress")
    for switch, argument in ((cache, "cache"), (integer_io, "integer_io")):
        require_kind(switch, bool, argument)
    programs = _by_method(exported_program, {"integer_io": integer_io, "etrecord": options.etrecord is not None})
    for program in programs.values():
        require_program(program, "lower")
        require_writable_program(program)
    spec = compile_spec_of(target)
    specs, partitioners = _specs_first(remainder)
    config = options.to_executorch_config()
    order = memory_format or MEMORY_FORMATS["contiguous"]
    programs = {name: settle_state(program) for name, program in programs.items()}
    is_usual = executorch is None and not spec.rewrites and not remainder
    is_cacheable = is_usual and programs.keys() == {"forward"} and spec.get_intermediate_path() is None
    key = fingerprint(programs["forward"], spec, order, integer_io) if cache and is_cacheable else None

    def made() -> LoweredProgram:
        return _lowered(programs, spec, order, integer_io, progress, specs, partitioners, options, config)

    lowered = made() if key is None else kept(key, made)
    _warn_of_kernels(lowered.reports)
    return replace(lowered, seconds=time.perf_counter() - started)


def _lowered(
    programs: dict[str, ExportedProgram],
    spec: ArmCompileSpec,
    order: torch.memory_format,
    integer_io: bool,
    progress: Progress,
    remainder: Sequence[ArmCompileSpec],
    partitioners: Sequence[Partitioner],
    options: ExecuTorchOptions,
    config: ExecutorchBackendConfig | None,
) -> LoweredProgram:
    """The work of ``lower``, on arguments that are checked."""
    from ..aten.integer_edges import with_integer_edges
    from ..aten.memory_format import with_memory_format
    from ..aten.unknown_numbers import refused_if_unknown
    from ..lowering.varying_sizes import kept_varying

    programs = {name: with_memory_format(program, order) for name, program in programs.items()}
    integers: dict[str, Integers] = {}
    if integer_io:
        programs["forward"], integers = with_integer_edges(programs["forward"])
    constants = {key: value for name, found in integers.items() for key, value in found.constants(name).items()}
    if options.etrecord is not None:
        require_writable(options.etrecord)
    with without_import_messages():  # late: importing ExecuTorch takes longer than reading the cache
        from .edge import methods_to_edge

        record = None
        if options.etrecord is not None:
            from .devtools import Record

            record = Record()
    with (
        without_collection(),
        without_torch_warnings(),
        alone_in(spec.get_intermediate_path()),
        refused_if_unknown(programs.values()),
    ):
        edge, reports = methods_to_edge(
            programs,
            spec,
            options.additional_checks,
            {**constants, **options.constant_methods},
            progress=progress,
            remainder=remainder,
            record=record,
            external=options.external_constants,
        )
        for partitioner in partitioners:
            edge = edge.to_backend(partitioner)
        progress("write", 0)
        with kept_varying(*programs.values()):
            manager = _to_executorch(edge, reports, config)
        kernels = kernels_of(manager)
        reports = {name: report.with_kernels_of(kernels) for name, report in reports.items()}
        if options.etrecord is not None and record is not None:
            write_atomic(options.etrecord, record.etrecord(manager))
    progress("write", 1)
    return LoweredProgram(bytes(manager.buffer), reports, integers=integers, data_files=data_files_of(manager))


def _by_method(
    programs: ExportedProgram | Mapping[str, ExportedProgram], of_one: Mapping[str, bool]
) -> dict[str, ExportedProgram]:
    """The programs by the names of their methods.

    Args:
        of_one: options that only one program can have, and whether they are asked for.
    """
    if not isinstance(programs, Mapping):
        return {"forward": programs}
    if not programs:
        raise UsageError("there is no program in the mapping: give one at least, by the name of its method")
    if wrong := [name for name in programs if not isinstance(name, str) or not name.isidentifier()]:
        raise UsageError(f"a method has a name as in Python, such as 'forward', not {wrong[0]!r}")
    if asked := [name for name, is_asked in of_one.items() if is_asked]:
        raise UsageError(f"{' and '.join(asked)}: only for one program, not for a mapping of them")
    return dict(programs)


def _specs_first(
    remainder: Sequence[ArmCompileSpec | Partitioner],
) -> tuple[list[ArmCompileSpec], list[Partitioner]]:
    """The compile specs, which take their part before ExecuTorch has the program, and the partitioners."""
    if not isinstance(remainder, Sequence) or any(
        isinstance(one, type) or not (isinstance(one, ArmCompileSpec) or callable(one)) for one in remainder
    ):
        raise UsageError(f"remainder is a list of compile specs and ExecuTorch partitioners, not {brief(remainder)}")
    specs = list(itertools.takewhile(lambda one: isinstance(one, ArmCompileSpec), remainder))
    partitioners = [one for one in remainder if one not in specs]
    if any(isinstance(one, ArmCompileSpec) for one in partitioners):
        raise UsageError("remainder: give compile specs before partitioners, which take what those leave")
    return specs, partitioners


def _warn_of_kernels(reports: Mapping[str, Report]) -> None:
    if lacking := _rejected(reports).without_kernels():
        warnings.warn(lacking, MissingKernelWarning, stacklevel=3)


def _rejected(reports: Mapping[str, Report]) -> Report:
    """What is not delegated of any method."""
    (target, *_) = {report.target for report in reports.values()}
    return Report(target, rejected=[row for report in reports.values() for row in report.rejected])


def _to_executorch(
    edge: EdgeProgramManager, reports: Mapping[str, Report], config: ExecutorchBackendConfig | None
) -> ExecutorchProgramManager:
    """The last step; where ExecuTorch has no way to run an operator, the error says why it was not delegated."""
    from executorch.exir.error import InternalError

    from ..compat.torch import name_result_types
    from .out_variants import without_out_variant

    name_result_types()
    if any(_scans(edge.exported_program(name)) for name in edge.methods):
        from executorch.exir import ExecutorchBackendConfig

        config = replace(config or ExecutorchBackendConfig(), remove_view_copy=False)
    try:
        return edge.to_executorch(config)
    except (RuntimeError, InternalError, AttributeError) as error:
        if (why := without_out_variant(edge, _rejected(reports))) is None:
            raise
        raise UsageError(why) from error


def _scans(program: ExportedProgram) -> bool:
    """Whether a program has a ``scan``: ExecuTorch 1.5 lets views in its steps stay those of the first step."""
    import torch
    from torch.fx import GraphModule

    scan = torch.ops.higher_order.scan
    graphs = (module.graph for module in program.graph_module.modules() if isinstance(module, GraphModule))
    return any(graph.find_nodes(op="call_function", target=scan) for graph in graphs)


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
    return compile_spec_for(target_named(target), {})
