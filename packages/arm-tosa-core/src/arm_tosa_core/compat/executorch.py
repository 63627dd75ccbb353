"""Private parts of ExecuTorch. It is imported when one of them is used, which takes two seconds, and so is PyTorch."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

    from .torch import OpOverload


def aten_overload(target: Any) -> Any:
    """The ATen overload behind an operator of the edge dialect; any other target as it is.

    Needs ``EdgeOpOverload._op``. Without it programs in the edge dialect have no operator that a rule is for.
    """
    wrapped = getattr(target, "_op", None)
    return wrapped if hasattr(wrapped, "_schema") else target


def edge_overload(target: OpOverload) -> Any:
    """The operator of the edge dialect that stands for an ATen overload.

    Needs ``executorch.exir.dialects._ops``. Without it no operator can be added to an edge program, nor be shown to
    operator supports, which are written for that dialect.
    """
    from executorch.exir.dialects._ops import ops

    from .torch import schema_of

    namespace, name = schema_of(target).name.split("::")
    return getattr(getattr(getattr(ops.edge, namespace), name), target._overloadname)


def edge_config() -> Any:
    """The ``EdgeCompileConfig`` that takes programs with any operator to the edge dialect.

    Needs ``EdgeCompileConfig(_check_ir_validity=False)``: ExecuTorch's check refuses operators that are delegated.
    """
    from executorch.exir import EdgeCompileConfig

    return EdgeCompileConfig(_check_ir_validity=False)


def edge_program(program: ExportedProgram) -> ExportedProgram:
    """A program in the edge dialect, as ``to_edge`` makes it with ``edge_config``; nothing is decomposed.

    Needs ``executorch.exir.program._program._generate_edge_program(config, program)``, which ``to_edge`` calls after
    ``run_decompositions``. Without it ``lower`` fails on programs that are delegated whole.
    """
    from executorch.exir.program._program import _generate_edge_program

    edge: ExportedProgram = _generate_edge_program(edge_config(), program)
    return edge


def is_delegate_call(node: Node) -> bool:
    """Whether a node calls a delegate.

    Needs ``executorch.exir.delegate.executorch_call_delegate``. Without it a second target, for operators that
    the first does not take, would move operands of the first one's delegates.
    """
    from executorch.exir.delegate import executorch_call_delegate

    return bool(node.target is executorch_call_delegate)


def debug_ancestor(node: Node) -> str:
    """The node of the first program that a node of an edge program comes from: those with one share a debug handle.

    Needs ``executorch.exir.debug_handle_utils.get_greatest_ancestor_node_identifier``. Without it an ETRecord does not
    tell the source lines of delegates.
    """
    from executorch.exir.debug_handle_utils import get_greatest_ancestor_node_identifier

    return str(get_greatest_ancestor_node_identifier(node))


def default_decompositions() -> dict[Any, Any]:
    """Operators that ExecuTorch decomposes unless a partitioner asks it not to.

    Needs ``executorch.exir.tracer._default_decomposition_table``. Without it the fast flow would leave other operators
    on the CPU than ExecuTorch's own flow.
    """
    from executorch.exir.tracer import _default_decomposition_table

    return dict(_default_decomposition_table())


@functools.cache
def _out_variant(overload: OpOverload) -> OpOverload | None:
    """The overload that writes to a tensor it is given, as ExecuTorch finds it for operators of the edge dialect.

    Needs ``executorch.exir.dialects.edge.op.api.to_variant`` and that it raises RuntimeError where there is none, or
    AssertionError where torchgen cannot read the operator's schema. (``exir.operator.convert.to_out_variant`` does not
    do: it fails on ``aten.pow``, whose overloads on numbers alone share a signature.) Without it nobody is told of
    operators that ExecuTorch cannot run before its own error.
    """
    from executorch.exir.dialects.edge.op.api import SchemaKind, to_variant

    try:
        variant: OpOverload = to_variant(overload, SchemaKind.out)
    except (RuntimeError, AssertionError):
        return None
    return variant


def has_out_variant(target: Any) -> bool:
    """Whether ExecuTorch can run an operator that stays on the CPU: in the form that writes to a tensor it is given.

    Needs the same as ``_out_variant``. Without it an operator without such a form ends in ExecuTorch's own error, which
    names neither its place nor a remedy.
    """
    from .torch import OpOverload, is_mutable

    overload = aten_overload(target)
    return not isinstance(overload, OpOverload) or is_mutable(overload) or _out_variant(overload) is not None


def is_written(target: Any) -> bool:
    """Whether ExecuTorch writes an operator into a program: of control flow and the like it knows some only.

    Needs ``executorch.exir.emit._emitter._Emitter._emit_control_flow``, which knows these. Without it such a program
    ends in ExecuTorch's own error, which names neither the place nor a remedy.
    """
    import torch
    from executorch.exir.delegate import executorch_call_delegate

    from .torch import HigherOrderOperator

    higher = torch.ops.higher_order
    supported = (higher.cond, higher.map_impl, higher.scan, executorch_call_delegate)
    return not isinstance(target, HigherOrderOperator) or target in supported


#: What kernels refuse when they run, though such a program loads: in words behind the kernel's name, and of what
#: operands, each a tensor or what else it is.
REFUSED: dict[str, tuple[str, Callable[..., bool]]] = {
    "aten::convolution.out": ("of more than 4 axes", lambda x, *_: getattr(x, "ndim", 0) > 4),
    "aten::_fft_r2c.out": ("of both halves (rfft gives one)", lambda *given: given[3:] == (False,)),
}


def missing_kernel(target: Any, operands: Sequence[Any] = ()) -> str:
    """ExecuTorch's name of an operator that stays on the CPU, if the runtime installed here has no such kernel.

    Empty if it has one that takes such operands, or needs none. ExecuTorch makes copies of views, where there is such
    an operator.
    Needs the same as ``_out_variant`` and ``registered_kernels``. Without it only loading a program tells.
    """
    from .torch import OpOverload, is_mutable, overload_named, schema_of

    if not is_written(target):
        return str(target)
    overload = aten_overload(target)
    if not isinstance(overload, OpOverload) or is_mutable(overload):
        return ""
    schema, view = schema_of(overload), None
    if any(value.alias_info is not None for value in (*schema.arguments, *schema.returns)):
        copying = overload_named(f"{schema.name}_copy", schema.overload_name)
        if copying is None:
            return ""
        overload, view = copying, overload
    schema = schema_of(_out_variant(overload) or overload)  # sizes are read by kernels without an out variant
    name = f"{schema.name}.{schema.overload_name}".rstrip(".")
    kernels = registered_kernels()
    if operands and name in REFUSED and REFUSED[name][1](*operands):
        return name
    return "" if not kernels or name in kernels or view in default_decompositions() else name


@functools.cache
def registered_kernels() -> frozenset[str]:
    """The kernels of ExecuTorch's Python runtime, with the quantized ones: ``"aten::topk.values"``, ...

    Needs ``executorch.extension.pybindings.portable_lib._get_operator_names``. Without it the set is empty.
    """
    register_quantized_kernels()
    try:
        from executorch.extension.pybindings.portable_lib import _get_operator_names
    except ImportError:
        return frozenset()
    return frozenset(_get_operator_names())


def scalar_type_code(dtype: Any) -> int:
    """The number that ExecuTorch has for a torch data type, as its passes write it into constant methods.

    Needs ``executorch.exir.tensor.scalar_type_enum``. Without it a program cannot say the types of its integer inputs.
    """
    with without_exporter():
        from executorch.exir.tensor import scalar_type_enum

    return int(scalar_type_enum(dtype))


class _Deferred(ModuleType):
    """A package whose ``__init__`` runs when a name of it, or a module in it, is asked for and not there yet.

    Needs that Python asks a package for ``__path__`` before it imports a module in it. Without it such a module would
    be imported before ``__init__``, which ExecuTorch's modules do not stand: they import each other in circles.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        spec = self.__spec__
        assert spec is not None and spec.loader is not None
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__path__ = spec.submodule_search_locations or []
        spec.loader.exec_module(self)
        return getattr(self, name)


@contextlib.contextmanager
def without_exporter() -> Iterator[None]:
    """Modules of ExecuTorch that read or run programs are imported here without its exporter, which takes five seconds.

    They lie in the packages ``executorch.exir`` and ``executorch.devtools``, whose ``__init__`` import all of the
    exporter. Here these do not run; behind it they run when a package is used. Needs that what is imported here works
    without them. Without that, the import fails.
    """
    deferred = []
    for name in ("executorch.exir", "executorch.devtools"):
        package = sys.modules.get(name)
        if package is None and (spec := find_spec(name)) is not None:
            sys.modules[name] = package = module_from_spec(spec)
            package.__class__ = _Deferred
            parent, _, child = name.rpartition(".")
            setattr(sys.modules[parent], child, package)
        if isinstance(package, _Deferred) and package.__spec__ is not None:
            package.__path__ = package.__spec__.submodule_search_locations or []
            deferred.append(package)
    try:
        yield
    finally:
        for package in deferred:
            if isinstance(package, _Deferred):  # still: nothing in here asked for more of it
                del package.__path__


def runtime_classes() -> tuple[Any, Any]:
    """``Runtime`` and ``Verification`` of ``executorch.runtime``, which are public, imported without the exporter.

    Needs the same as ``without_exporter``. Without it no program runs.
    """
    with without_exporter():
        from executorch.runtime import Runtime, Verification

    return Runtime, Verification


def read_program(pte: bytes) -> tuple[Any, dict[str, bytes]]:
    """The ``executorch.exir.schema.Program`` of a ``.pte``, and the named data that it holds.

    Needs ``executorch.exir._serialize._program.deserialize_pte_binary`` and ``PTEFile.named_data``. Without them
    payloads cannot be extracted.
    """
    with without_exporter():
        from executorch.exir._serialize._program import deserialize_pte_binary

    file = deserialize_pte_binary(pte)
    entries = {} if file.named_data is None else file.named_data.pte_data
    return file.program, {name: file.named_data.buffers[entry.buffer_index] for name, entry in entries.items()}


def named_data_store(entries: Iterable[tuple[str, bytes, int, str | None]]) -> Any:
    """The named data of a payload, as ``PreprocessResult`` and ``LoweredBackendModule`` take it.

    Needs ``executorch.exir._serialize._named_data_store.NamedDataStore``, which ExecuTorch's own backends use. Without
    it methods cannot share weights.

    Args:
        entries: name, data, alignment, and the ``.ptd`` that it is in; None: the ``.pte``.
    """
    from executorch.exir._serialize._named_data_store import NamedDataStore

    store = NamedDataStore()
    for name, data, alignment, file in entries:
        store.add_named_data(name, data, alignment=alignment, external_tag=file)
    return store.get_named_data_store_output()


def keep_initial_state(program: Any, buffers: Collection[str]) -> None:
    """Has a program hold the numbers that buffers which it writes start with: ExecuTorch keeps only their types else.

    Needs that ``to_executorch`` reads ``et_init_buffer`` in the meta of placeholders, which its own
    ``InitializedMutableBufferPass`` sets by parts of names. Without it such buffers start at 0.
    """
    names = program.graph_signature.inputs_to_buffers
    for node in program.graph.nodes:
        if node.op == "placeholder" and names.get(node.name) in buffers:
            node.meta["et_init_buffer"] = True


def set_payload(module: Any, payload: bytes, data: Any) -> None:
    """Gives a ``LoweredBackendModule`` another payload, and the store of the named data that it refers to.

    Needs ``LoweredBackendModule._processed_bytes`` and ``_named_data_store_output``, which its constructor sets.
    Without them all methods of a program would have to be kept in memory until the last of them is compiled.
    """
    module._processed_bytes, module._named_data_store_output = payload, data


def data_files_of(manager: Any) -> dict[str, bytes]:
    """The ``.ptd`` files of a program that ExecuTorch made, by their names.

    Needs ``ExecutorchProgramManager._tensor_data``, which ``write_tensor_data_to_file`` writes. Without it they would
    have to be written to a folder first.
    """
    return {f"{name.removesuffix('.ptd')}.ptd": bytes(cord) for name, cord in manager._tensor_data.items()}


def kernels_of(manager: Any) -> frozenset[str]:
    """The kernels that a program calls on the CPU, by the names of ``registered_kernels``.

    Needs that ``ExecutorchProgramManager.executorch_program`` is the ``Program`` that is written. Without it operators
    that another partitioner took would be reported too.
    """
    operators = (operator for plan in manager.executorch_program.execution_plan for operator in plan.operators)
    return frozenset(f"{operator.name}.{operator.overload}".rstrip(".") for operator in operators)


def register_quantized_kernels() -> None:
    """Registers quantize and dequantize, which stay on the CPU at the edges of a quantized program.

    Needs that ``executorch.kernels.quantized`` registers its library when it is imported. Without it ``to_executorch``
    fails for want of "out variants", and programs that have such nodes do not load.
    """
    with without_exporter():
        import executorch.kernels.quantized  # noqa: F401


def events_of(etdump: bytes) -> Any:
    """The runs of an ETDump, as ``executorch.devtools.etdump.schema_flatcc`` has them, or whatever flatc fails by.

    Needs ``executorch.devtools.etdump.serialize.deserialize_from_etdump_flatcc``. Without it ``run --profile`` shows
    nothing of the host.
    """
    with without_exporter():
        from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc

        return deserialize_from_etdump_flatcc(etdump).run_data


def operators_with_kernels() -> frozenset[str]:
    """The operators that ExecuTorch's portable and quantized libraries have kernels for: ``"aten::topk.values"``, ...

    Needs ``kernels/portable/functions.yaml`` and ``kernels/quantized/quantized.yaml`` in the package. Without them
    nobody is told before a program is loaded that an operator in it has no kernel.
    """
    spec = find_spec("executorch")
    folders = spec.submodule_search_locations if spec is not None and spec.submodule_search_locations else []
    operators = set()
    for file in (
        Path(folder) / "kernels" / name
        for folder in folders
        for name in ("portable/functions.yaml", "quantized/quantized.yaml")
    ):
        if file.exists():
            # "- op: topk.values" is of aten, and so is "- func: bitwise_left_shift.Tensor_out(Tensor self, ...".
            for name in re.findall(r"^- (?:op|func): ([\w:.]+)", file.read_text("utf-8"), re.MULTILINE):
                operators.add(name if "::" in name else f"aten::{name}")
    return frozenset(operators)
