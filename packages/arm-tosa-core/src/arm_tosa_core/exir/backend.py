"""ExecuTorch backends: a delegated program to the payload of its target."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, final

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch.export import ExportedProgram

from ..lowering.pipeline import Network
from ..lowering.sized_analysis import lower_sizes
from ..plugin.target import Compiled, Target
from ..support.errors import MiscompiledError, UsageError
from ..tosa.graph import Graph
from ..tosa.ir import Tensor
from ..tosa.serializer import serialize, serialize_with_names
from .artifacts import artifact_folder, note_files, write_debug_info, write_layer_costs
from .compile_spec import ArmCompileSpec, TargetCompileSpec, TosaCompileSpec
from .compiled_delegate import CompiledDelegate, origin_of
from .named_data import with_named_data
from .payload_ports import JoinedError, check_ports
from .watchers import show_watchers


def preprocess(edge_program: ExportedProgram, compile_spec: ArmCompileSpec) -> PreprocessResult:
    """Lowers a delegated program and compiles it for the target of ``compile_spec``.

    Raises:
        LoweringError: the program holds what the target does not take.
        ToolError: the target's compiler failed.
    """
    return _preprocess_all([[edge_program]], compile_spec)[0][0]


def preprocess_methods(
    programs: Mapping[str, Sequence[ExportedProgram]], compile_specs: Mapping[str, Sequence[ArmCompileSpec]]
) -> dict[str, list[PreprocessResult]]:
    """As ``preprocess`` for the delegates of several methods, by method: what they have in common is stored once.

    Raises:
        LoweringError, ToolError: as ``preprocess``.
    """
    kinds: list[ArmCompileSpec] = []
    for spec in (spec for specs in compile_specs.values() for spec in specs):
        if spec not in kinds:
            kinds.append(spec)
    placed: dict[str, list[PreprocessResult]] = {name: [PreprocessResult()] * len(of) for name, of in programs.items()}
    for kind in kinds:
        places = {name: [i for i, spec in enumerate(specs) if spec == kind] for name, specs in compile_specs.items()}
        results = _preprocess_all([[programs[name][i] for i in each] for name, each in places.items()], kind)
        for (name, each), of_method in zip(places.items(), results, strict=True):
            for i, result in zip(each, of_method, strict=True):
                placed[name][i] = result
    return placed


def _preprocess_all(
    methods: Sequence[Sequence[ExportedProgram]], compile_spec: ArmCompileSpec
) -> list[list[PreprocessResult]]:
    target = compile_spec.target()
    placed = with_named_data(
        [[_alone(lower_sizes(one, target), target, compile_spec) for one in method] for method in methods], target
    )

    def result(program: ExportedProgram, payload: bytes) -> PreprocessResult:
        handles = tuple(node.meta["debug_handle"] for node in program.graph.nodes if "debug_handle" in node.meta)
        return PreprocessResult(
            payload, {target.host.profile_event: handles} if target.host.profile_event else None, placed.store
        )

    return [list(map(result, *each)) for each in zip(methods, placed.payloads, strict=True)]


def _alone(network: Network, target: Target, compile_spec: ArmCompileSpec) -> bytes:
    """The payload of what ExecuTorch calls with all that it was made with.

    Raises:
        UsageError: the target's compiler left out an input or an output, which no result depends on or is another.
    """
    try:
        return compiled(network, target, compile_spec)[0]
    except JoinedError as joined:
        unread = [f"its input {network.graph.inputs[i].name}, on which no result depends" for i in joined.unread]
        twins = [f"its output {i}, which is output {j} again" for i, j in joined.same.items()]
        raise UsageError(
            f"{target.name} leaves out of a delegate {' and '.join(unread + twins)}, and ExecuTorch calls it so: "
            "lower with arm_tosa_core.lower, which calls it without, or leave it out of the model"
        ) from joined


def compiled(network: Network, target: Target, compile_spec: ArmCompileSpec) -> tuple[bytes, CompiledDelegate]:
    """The payload for the target of ``compile_spec`` of what was lowered, and what its compiler says of it.

    Leaves the artifacts that the compile spec asks for. Those of a network whose sizes vary are of its largest sizes,
    and so is what the compiler says of it.

    Raises:
        ToolError: the target's compiler failed.
        MiscompiledError: it made another program.
        UsageError: sizes vary, and the target has no program for all of them.
    """
    payload, said = _compiled(network.graph, target, compile_spec)
    if network.symbols:
        assert target.compiler.sizes is not None
        samples = [(point, _sample(graph, target)) for point, graph in network.samples]
        try:
            payload = target.compiler.sizes(payload, network.symbols, samples)
        except UsageError as why:
            raise UsageError(f"{why}. Its delegate gives {'; '.join(map(_said, network.graph.outputs))}") from why
    show_watchers(network.graph, payload)
    return payload, said


def _said(tensor: Tensor) -> str:
    origin = origin_of(tensor)
    return f"{origin.target} ({origin.source or origin.node})" if origin.target else f"its input {tensor.name} as it is"


def _sample(graph: Graph, target: Target) -> bytes:
    assert target.compiler.compile is not None
    payload = target.compiler.compile(serialize(graph, target.tosa_spec), {})
    check_ports(graph, payload, target)
    return payload


def _compiled(graph: Graph, target: Target, compile_spec: ArmCompileSpec) -> tuple[bytes, CompiledDelegate]:
    mode = compile_spec.tosa_debug_mode
    in_file = mode is ArmCompileSpec.DebugMode.TOSA
    tosa, names = serialize_with_names(graph, target.tosa_spec, locations=in_file, readable=True)
    options: dict[str, str] = {}
    folder = None
    if path := compile_spec.get_intermediate_path():
        folder = artifact_folder(path, tosa, target)
        options["artifacts"] = str(folder)
        if mode is ArmCompileSpec.DebugMode.JSON:
            write_debug_info(folder, graph)
    try:
        detail = _in_detail(tosa, target, options)
    except MiscompiledError as error:
        source = origin_of(names.get(error.tensor)).source
        raise (error.at(source) if source else error) from None
    check_ports(graph, detail.payload, target)
    if folder is not None and target.compiler.compile_in_detail is not None:
        write_layer_costs(folder, target, tosa, detail.layers)
    if folder is not None:
        note_files(folder)
    return detail.payload, CompiledDelegate.of(detail, names)


def _in_detail(tosa: bytes, target: Target, options: Mapping[str, str]) -> Compiled:
    if target.compiler.compile_in_detail is not None:
        return target.compiler.compile_in_detail(tosa, options)
    return Compiled(target.compiler.compile(tosa, options) if target.compiler.compile else tosa)


@final
class TOSABackend(BackendDetails):  # type: ignore[misc]  # ExecuTorch is untyped
    """Delegates hold a TOSA flatbuffer."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """See ``arm_tosa_core.exir.backend.preprocess``."""
        return preprocess(edge_program, TosaCompileSpec.from_list(compile_specs))


def backend_class(target: Target) -> type[Any]:
    """The ExecuTorch backend of a target; made on the spot for targets that bring none of their own."""
    if not target.compiler.backend:
        return _general_backend(target.compiler.backend_id)
    module, _, name = target.compiler.backend.partition(":")
    loaded: type[Any] = getattr(importlib.import_module(module), name)
    return loaded


def make_found(target: Target) -> None:
    """Makes ExecuTorch find the backend of a target by its name, where another package has a class of this name.

    It takes the last of several, and ``executorch.backends.arm`` has some: importing ``executorch.backends.cortex_m``
    suffices to load them.
    """
    ours = backend_class(target)
    last = [known for known in BackendDetails.__subclasses__() if known.__name__ == ours.__name__][-1]
    if last.preprocess is not ours.preprocess:
        own = {name: value for name, value in vars(ours).items() if name.startswith("preprocess")}
        _made_again.append(type(ours.__name__, (BackendDetails,), own))


#: ``__subclasses__`` knows only classes that somebody holds.
_made_again: list[type[BackendDetails]] = []


@functools.cache
def _general_backend(backend_id: str) -> type[Any]:
    known: type[Any]
    for known in BackendDetails.__subclasses__():
        if known.__name__ == backend_id:
            return known

    def run(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        return preprocess(edge_program, TargetCompileSpec.from_list(compile_specs))

    return type(backend_id, (BackendDetails,), {"preprocess": staticmethod(run)})
