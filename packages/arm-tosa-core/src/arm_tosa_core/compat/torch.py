"""Private parts of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch._guards import detect_fake_mode as detect_fake_mode
from torch._ops import HigherOrderOperator as HigherOrderOperator
from torch._ops import OpOverload as OpOverload
from torch._subclasses.fake_tensor import FakeTensor as FakeTensor
from torch._subclasses.fake_tensor import FakeTensorMode as FakeTensorMode
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import Graph, GraphModule
from torch.fx._pytree import tree_flatten_spec
from torch.fx.experimental.proxy_tensor import make_fx as make_fx
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode as GuardOnDataDependentSymNode
from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols as has_free_unbacked_symbols
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import (
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
)
from torch.utils._pytree import tree_flatten as tree_flatten
from torch.utils._pytree import tree_leaves as tree_leaves
from torch.utils._pytree import tree_map as tree_map
from torch.utils._pytree import tree_map_only as tree_map_only
from torch.utils._pytree import tree_structure as tree_structure
from torch.utils._pytree import tree_unflatten as tree_unflatten

from .torch_inductor import import_without_inductor

import_without_inductor()

# Of the names above:
# - ``OpOverload`` and ``HigherOrderOperator`` are the types of targets of call_function nodes. Without them operators
#   cannot be told from functions of Python, nor from control flow.
# - ``FakeTensor`` marks constants whose numbers ExecuTorch does not show, and those that torch.export has lost. Without
#   it their numbers would be read as if they were there.
# - ``FakeTensorMode`` makes tensors that have a size and no numbers. Without it no size may vary.
# - ``detect_fake_mode``, ``make_fx`` and ``has_free_unbacked_symbols`` give shapes to operators of composite rules, and
#   trace PyTorch's own decompositions. Without them no composite operator is quantized in parts.
# - ``GuardOnDataDependentSymNode`` is raised where a trace would have to know a number that the program computes.
#   Without it such programs end in PyTorch's report.
# - ``tree_...`` flatten arguments as torch.export does. Without them calibration data does not reach graph modules.


def schema_of(target: Any) -> Any:
    """The ``torch.FunctionSchema`` of an overload; None for other targets.

    Needs ``OpOverload._schema``. Without it operators have no names, and views and operators in place are not known.
    """
    return getattr(target, "_schema", None)


def is_mutable(target: Any) -> bool:
    """Whether an operator writes to one of its operands; False for other targets.

    Needs ``FunctionSchema.is_mutable``. Without it programs would not be made functional.
    """
    schema = schema_of(target)
    return schema is not None and bool(schema.is_mutable)


def is_batched(value: Any) -> bool:
    """Whether a tensor is one that ``torch.vmap`` shows to its function: of one dimension less than it has.

    Needs ``torch._C._functorch.is_batchedtensor``. Without it operators within are taken for those of smaller tensors.
    """
    return isinstance(value, torch.Tensor) and torch._C._functorch.is_batchedtensor(value)


def is_transform(target: Any) -> bool:
    """Whether a node's target is a part of ``torch.vmap`` that export leaves in a program, and no operator.

    Needs ``torch._functorch.predispatch``. Without it models with ``torch.vmap`` are not lowered.
    """
    return getattr(target, "__module__", None) == "torch._functorch.predispatch"


def overload_named(name: str, overload: str = "") -> Any:
    """The overload of an operator by its schema's name, such as ``"aten::add"`` and ``"Tensor"``; None if none is.

    Needs ``torch.ops`` to resolve names. Without it no operator in place becomes the one that is not.
    """
    namespace, base = name.split("::")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    return getattr(packet, overload or "default", None)


def out_of_place_twin(target: Any) -> Any:
    """The overload that gives, as a new tensor, what one in place writes to its first operand; None if none does.

    Its name may differ in more than a ``_``: ``__ior__`` and ``__or__``, ``pow_.Tensor`` and ``pow.Tensor_Tensor``.
    Needs ``torch.ops`` to resolve names. Without it no operator in place becomes the one that is not.
    """
    schema = schema_of(target)
    namespace, base = schema.name.split("::")
    name = f"__{base[3:]}" if base.startswith("__i") else base.removesuffix("_")
    packet = None if name == base else getattr(getattr(torch.ops, namespace), name, None)
    if packet is None:
        return None
    operands = [(each.name, str(each.type)) for each in schema.arguments]
    for overload in sorted(packet.overloads(), key=lambda known: known != (schema.overload_name or "default")):
        twin = getattr(packet, overload)
        if not is_mutable(twin) and [(each.name, str(each.type)) for each in schema_of(twin).arguments] == operands:
            return twin
    return None


def resolve_overload(packet: Any, args: Any, kwargs: Any) -> Any:
    """The overload that PyTorch calls for these arguments; tensors may be fake ones.

    Needs ``torch._C._jit_resolve_packet``. Without it composite rules would have to say every overload.
    """
    chosen = torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
    return getattr(packet, chosen or "default")


def can_decompose(target: Any) -> bool:
    """Whether PyTorch has a composite implementation of an overload that it runs unless told otherwise.

    Needs ``OpOverload._can_decompose``. Without it a result may be taken for new memory that is none.
    """
    return bool(target._can_decompose())


def is_composite(target: Any) -> bool:
    """Whether an overload is implemented by others alone, for every device.

    Needs ``torch._C._dispatch_has_kernel_for_dispatch_key``. Without it operators without a rule stay on the CPU whose
    parts have rules.
    """
    return torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), "CompositeImplicitAutograd")


def decomposition_of(target: Any) -> Callable[..., Any] | None:
    """PyTorch's own decomposition of an overload, in the form of a function of tensors; None if it has none.

    Needs ``torch._decomp.decomposition_table``. Without it operators without a rule are not quantized in parts.
    """
    if target._can_decompose():
        return target.decompose  # type: ignore[no-any-return]
    return torch._decomp.decomposition_table.get(target)


def keeping_sizes(fakes: Sequence[Any]) -> AbstractContextManager[Any]:
    """While operators are traced on fake tensors: sizes that vary stay symbols where a number is wanted.

    Needs ``detect_fake_mode`` and ``ShapeEnv.suppress_guards``. Without it the first ``clamp`` with such a size fixes
    it to that of the example, for all that is traced behind it.
    """
    mode = detect_fake_mode(fakes)
    return nullcontext() if mode is None or mode.shape_env is None else mode.shape_env.suppress_guards()


def storage_of(tensor: torch.Tensor) -> int:
    """A key that two tensors, fake ones included, have in common if and only if they share memory.

    Needs ``UntypedStorage._cdata``. Without it assignments to views are not seen.
    """
    return int(tensor.untyped_storage()._cdata)


def module_of_any_size(program: ExportedProgram) -> torch.fx.GraphModule:
    """The module of a program, which does not ask whether its inputs have the sizes that it was exported with.

    Needs ``Module._forward_pre_hooks``, where PyTorch 2.13 has that question beside ``check_guards``. Without it a
    program of one size refuses others.
    """
    module = program.module(check_guards=False)
    module._forward_pre_hooks.clear()
    return module


def fake_mode_of(program: ExportedProgram) -> Any:
    """A key of a program and of those made of it, and of no other; None for a program without tensors.

    Needs ``FakeTensor.fake_mode``. Without it methods of one program would be judged by each other's constants.
    """
    metas = (node.meta.get("val") for node in program.graph.find_nodes(op="placeholder"))
    return next((meta.fake_mode for meta in metas if isinstance(meta, FakeTensor)), None)


def call_structure(module: Any) -> Any:
    """The structure of the arguments and keyword arguments that an exported module was exported with.

    Needs ``GraphModule._in_spec`` of exported modules. Without it calls cannot be told from one another.
    """
    return module._in_spec


def flat_call(module: Any, arguments: Sequence[Any]) -> list[Any]:
    """The leaves of a call of an exported module, by the keys of its dictionaries; ``arguments`` in its order.

    Needs ``torch.fx._pytree.tree_flatten_spec``, which exported modules call themselves. Without it inputs of a sample
    would change places where its dictionaries have another order.
    """
    structure = call_structure(module)
    positional, names = structure.child(0).num_children, structure.child(1).context or []
    call = (tuple(arguments[:positional]), dict(zip(names, arguments[positional:], strict=True)))
    return list(tree_flatten_spec(call, structure))


def program_like(
    like: ExportedProgram,
    graph: Graph,
    graph_signature: ExportGraphSignature,
    cls: type[ExportedProgram] = ExportedProgram,
    **changes: Any,
) -> Any:
    """A program with another graph; ``like`` lends all parts that are not given.

    Needs the constructor of ``ExportedProgram`` and its ``verifiers``. Without it no program can be cut or edited.

    Args:
        like: lends ``range_constraints``, ``module_call_graph`` and ``verifiers``.
        cls: ``ExportedProgram`` or a subclass.
        changes: other arguments of the constructor; by default ``root`` is an empty module, and there is no state.
    """
    lent = {"range_constraints": like.range_constraints, "module_call_graph": like.module_call_graph}
    fields: dict[str, Any] = {"state_dict": {}, **lent, **changes}
    if "root" not in fields:
        fields["root"] = GraphModule({}, graph)
    return cls(graph=graph, graph_signature=graph_signature, verifiers=like.verifiers, **fields)


def register_quantized_decomposed() -> None:
    """Registers the operators ``quantized_decomposed``, which quantized programs call.

    Needs that ``torch.ao.quantization.fx._decomposed`` registers them when it is imported. Without it a quantized
    ``.pt2`` does not load in a process that has quantized nothing.
    """
    import torch.ao.quantization.fx._decomposed  # noqa: F401


def name_result_types() -> None:
    """Gives the named tuples of PyTorch, such as that of ``torch.topk``, names that a program can be written with.

    Needs pytree's tables of types that it can write. Without it a model that returns one whole is exported,
    and then not written by ExecuTorch.
    """
    for kind in torch.return_types.all_return_types:
        node = SUPPORTED_SERIALIZED_TYPES.get(kind)
        if node is not None and node.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
            name = f"torch.return_types.{kind.__name__}"
            SUPPORTED_SERIALIZED_TYPES[kind] = node._replace(serialized_type_name=name)
            SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = kind


def shapes_and_types(
    function: Callable[..., Any], inputs: Sequence[tuple[Sequence[int], torch.dtype]]
) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Shapes and types of what a function returns for tensors of these, one or several; whatever traces sees nothing.

    Needs ``_disable_current_modes`` and ``FakeTensorMode``. Without them an export would also take the operators of a
    function that is only asked for its shapes.
    """
    with _disable_current_modes(), FakeTensorMode(allow_non_fake_inputs=True):
        results = function(*(torch.empty(tuple(shape), dtype=dtype) for shape, dtype in inputs))
    return [(tuple(result.shape), result.dtype) for result in tree_leaves(results)]
