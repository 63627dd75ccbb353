"""ExecuTorch backends: a delegated program to the payload of its target."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, final

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch.export import ExportedProgram

from ..lowering.pipeline import Network
from ..lowering.sized_analysis import lower_sizes
from ..plugin.target import Target
from ..tosa.graph import Graph
from ..tosa.serializer import serialize
from .artifacts import artifact_folder, write_debug_info
from .compile_spec import ArmCompileSpec, TargetCompileSpec, TosaCompileSpec


def preprocess(edge_program: ExportedProgram, compile_spec: ArmCompileSpec) -> PreprocessResult:
    """Lowers a delegated program and compiles it for the target of ``compile_spec``.

    Raises:
        LoweringError: the program holds what the target does not take.
        ToolError: the target's compiler failed.
    """
    target = compile_spec.target()
    return PreprocessResult(processed_bytes=payload(lower_sizes(edge_program, target), target, compile_spec))


def payload(network: Network, target: Target, compile_spec: ArmCompileSpec) -> bytes:
    """Compiles what was lowered for the target of ``compile_spec``, and leaves the artifacts that it asks for.

    Those of a network whose sizes vary are of its largest sizes.

    Raises:
        ToolError: the target's compiler failed.
    """
    compiled = _compiled(network.graph, target, compile_spec)
    if network.symbols:
        assert target.sizes is not None and target.compile is not None
        samples = [(point, target.compile(serialize(graph, target.tosa_spec), {})) for point, graph in network.samples]
        compiled = target.sizes(compiled, network.symbols, samples)
    for watcher in _watchers.get():
        watcher(network.graph, compiled)
    return compiled


#: Is given a delegate's graph and its payload.
Watcher = Callable[[Graph, bytes], None]
_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Within it, ``watcher`` is given each delegate that this thread compiles, in order."""
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)


def _compiled(graph: Graph, target: Target, compile_spec: ArmCompileSpec) -> bytes:
    mode = compile_spec.tosa_debug_mode
    tosa = serialize(graph, target.tosa_spec, locations=mode is ArmCompileSpec.DebugMode.TOSA)
    options: dict[str, str] = {}
    if path := compile_spec.get_intermediate_path():
        folder = artifact_folder(path, tosa, target)
        options["artifacts"] = str(folder)
        if mode is ArmCompileSpec.DebugMode.JSON:
            write_debug_info(folder, graph)
    return target.compile(tosa, options) if target.compile else tosa


@final
class TOSABackend(BackendDetails):  # type: ignore[misc]  # ExecuTorch is untyped
    """Delegates hold a TOSA flatbuffer."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """See ``arm_tosa_core.exir.backend.preprocess``."""
        return preprocess(edge_program, TosaCompileSpec.from_list(compile_specs))


def backend_class(target: Target) -> type[Any]:
    """The ExecuTorch backend of a target; made on the spot for targets that bring none of their own."""
    if not target.backend:
        return _general_backend(target.backend_id)
    module, _, name = target.backend.partition(":")
    found: type[Any] = getattr(importlib.import_module(module), name)
    return found


@functools.cache
def _general_backend(backend_id: str) -> type[Any]:
    known: type[Any]
    for known in BackendDetails.__subclasses__():
        if known.__name__ == backend_id:
            return known

    def run(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        return preprocess(edge_program, TargetCompileSpec.from_list(compile_specs))

    return type(backend_id, (BackendDetails,), {"preprocess": staticmethod(run)})
