"""Private parts of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._guards import detect_fake_mode as detect_fake_mode
from torch._ops import HigherOrderOperator as HigherOrderOperator
from torch._ops import OpOverload as OpOverload
from torch._subclasses.fake_tensor import FakeTensor as FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import Graph, GraphModule
from torch.fx.experimental.proxy_tensor import make_fx as make_fx
from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols as has_free_unbacked_symbols
from torch.utils._pytree import tree_flatten as tree_flatten
from torch.utils._pytree import tree_leaves as tree_leaves
from torch.utils._pytree import tree_map as tree_map
from torch.utils._pytree import tree_map_only as tree_map_only
from torch.utils._pytree import tree_structure as tree_structure
from torch.utils._pytree import tree_unflatten as tree_unflatten

# Of the names above:
# - ``OpOverload`` and ``HigherOrderOperator`` are the types of what call_function nodes call. Without them operators
#   cannot be told from functions of Python, nor from control flow.
# - ``FakeTensor`` marks constants whose numbers ExecuTorch does not show, and those that torch.export has lost. Without
#   it their numbers would be read as if they were there.
# - ``detect_fake_mode``, ``make_fx`` and ``has_free_unbacked_symbols`` give shapes to what composite rules emit, and
#   trace PyTorch's own decompositions. Without them no composite operator is quantized in parts.
# - ``tree_...`` flatten arguments as torch.export does. Without them calibration data does not reach graph modules.


def schema_of(target: Any) -> Any:
    """The ``torch.FunctionSchema`` of an overload; None for what is none.

    Needs ``OpOverload._schema``. Without it operators have no names, and views and operators in place are not known.
    """
    return getattr(target, "_schema", None)


def is_mutable(target: Any) -> bool:
    """Whether an operator writes to one of its operands; False for what is no operator.

    Needs ``FunctionSchema.is_mutable``. Without it programs would not be made functional.
    """
    schema = schema_of(target)
    return schema is not None and bool(schema.is_mutable)


def overload_named(name: str, overload: str = "") -> Any:
    """The overload of an operator by its schema's name, such as ``"aten::add"`` and ``"Tensor"``; None if none is.

    Needs ``torch.ops`` to resolve names. Without it no operator in place becomes the one that is not.
    """
    namespace, base = name.split("::")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    return getattr(packet, overload or "default", None)


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


def storage_of(tensor: torch.Tensor) -> int:
    """What two tensors have in common if and only if they share memory, fake ones included.

    Needs ``UntypedStorage._cdata``. Without it assignments to views are not seen.
    """
    return int(tensor.untyped_storage()._cdata)


def program_like(
    like: ExportedProgram,
    graph: Graph,
    graph_signature: ExportGraphSignature,
    cls: type[ExportedProgram] = ExportedProgram,
    **changes: Any,
) -> Any:
    """A program with another graph, for which another program lends what is not given.

    Needs the constructor of ``ExportedProgram`` and its ``verifiers``. Without it no program can be cut or edited.

    Args:
        like: lends ``range_constraints``, ``module_call_graph`` and ``verifiers``.
        cls: ``ExportedProgram`` or a subclass.
        changes: other arguments of the constructor; by default ``root`` is an empty module, and there is no state.
    """
    lent = {"range_constraints": like.range_constraints, "module_call_graph": like.module_call_graph}
    given: dict[str, Any] = {"state_dict": {}, **lent, **changes}
    if "root" not in given:
        given["root"] = GraphModule({}, graph)
    return cls(graph=graph, graph_signature=graph_signature, verifiers=like.verifiers, **given)


def register_quantized_decomposed() -> None:
    """Registers the operators ``quantized_decomposed``, which quantized programs call.

    Needs that ``torch.ao.quantization.fx._decomposed`` registers them when it is imported. Without it a quantized
    ``.pt2`` does not load in a process that has quantized nothing.
    """
    import torch.ao.quantization.fx._decomposed  # noqa: F401
