"""Numbers beside tensors that stay on the CPU, as PyTorch takes them.

PyTorch takes a number in the type that it computes in: 16 bits round it, and integers wrap it. Products and quotients
of 16-bit floats by a number are computed in float32. ExecuTorch (1.5) takes it as it is, and its kernels refuse one
that their type does not hold. It makes tensors of int64 or float32 of numbers that stand for tensors
(``ScalarToTensorPass``); beside a tensor of rank 0 of another type the result has not the type that the program says.
It reads no numbers (``item``) of 16-bit floats.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.executorch import aten_overload
from ..compat.torch import schema_of
from ..lowering.exported_program import copy_with_twins
from ..lowering.operator_names import canonical
from ..lowering.values import INTEGER_RANGES, of_type

_aten = torch.ops.aten
_HALVES = (torch.float16, torch.bfloat16)
#: The types that ExecuTorch gives to numbers; results of comparisons have their own.
_TYPES = (torch.int64, torch.float32, torch.bool)
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_PRODUCTS = frozenset({"mul", "div"})
_READS = frozenset({"aten.item.default", "aten._local_scalar_dense.default"})
#: Operators that take numbers in the type of their result.
_TAKES = frozenset(
    {"add", "sub", "rsub", "remainder", "fmod", "floor_divide", "pow", "bitwise_and", "bitwise_or", "bitwise_xor"}
    | {"where", "masked_fill", "clamp", "clamp_min", "clamp_max", "index_fill", "scatter"}
    | {"full", "full_like", "fill", "scalar_tensor"}
)

Edit = Callable[[Node], None]


def with_typed_numbers(program: ExportedProgram, elsewhere: Container[Node]) -> ExportedProgram | None:
    """The program in which the CPU is given such numbers as PyTorch takes them; the one given is left as it is.

    Args:
        elsewhere: nodes that do not run on the CPU.

    Returns:
        None: there are none.
    """
    found = {node: edits for node in program.graph.nodes if node not in elsewhere and (edits := _edits(node))}
    if not found:
        return None
    program, twins = copy_with_twins(program)
    for original, edits in found.items():
        for edit in edits:
            edit(twins[original])
    return program


def _edits(node: Node) -> list[Edit]:
    """What changes of a node, if anything."""
    target = aten_overload(node.target) if node.op == "call_function" else None
    schema, value = schema_of(target), node.meta.get("val")
    tensors = [n.meta["val"] for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]
    if canonical(target) in _READS and tensors[0].dtype in _HALVES:
        return [_widen]
    if schema is None or not isinstance(value, torch.Tensor):
        return []
    name = schema.name.removeprefix("aten::")
    kinds = {key: str(a.type) for i, a in enumerate(schema.arguments) for key in (i, a.name)}
    given: dict[Any, Any] = {**dict(enumerate(node.args)), **node.kwargs}
    dtype = torch.result_type(*map(_example, node.args[:2])) if name in _COMPARISONS else value.dtype
    taken = ("Tensor", "number", "Optional[number]") if name in _TAKES | _COMPARISONS else ("Tensor",)
    numbers = {place: a for place, a in given.items() if kinds[place] in taken and _is_number(a)}
    if name in _PRODUCTS and dtype in _HALVES:
        return [_widen, partial(_narrow, dtype=dtype)] if any(_changes(a, dtype) for a in numbers.values()) else []
    alone = bool(tensors) and not any(t.dim() for t in tensors) and dtype not in _TYPES
    return [
        partial(_make_tensor if tensor else _set, place=place, dtype=dtype)
        for place, number in numbers.items()
        if (tensor := kinds[place] == "Tensor" and (alone or (isinstance(number, Node) and dtype in _HALVES)))
        or (not isinstance(number, Node) and _changes(number, dtype))
    ]


def _is_number(argument: Any) -> bool:
    """Whether an argument is a number, known or not."""
    kinds = (int, float, torch.SymInt, torch.SymFloat)
    return isinstance(argument.meta.get("val") if isinstance(argument, Node) else argument, kinds)


def _changes(number: Any, dtype: torch.dtype) -> bool:
    """Whether a type holds another number in place of one; of one that is not known, whether it may."""
    if dtype not in _HALVES and not (dtype in INTEGER_RANGES and isinstance(number, int)):
        return False
    return isinstance(number, Node) or of_type(number, dtype).item() != number


def _example(argument: Any) -> Any:
    """Something that promotes types as an argument does."""
    value = argument.meta["val"] if isinstance(argument, Node) else argument
    if isinstance(value, torch.Tensor):
        return torch.empty([1] * value.dim(), dtype=value.dtype, device="meta")
    return 1.0 if isinstance(value, torch.SymFloat) else 1 if isinstance(value, torch.SymInt) else value


def _set(node: Node, place: int | str, dtype: torch.dtype) -> None:
    _update(node, place, of_type(_argument(node, place), dtype).item())


def _make_tensor(node: Node, place: int | str, dtype: torch.dtype) -> None:
    """Makes a tensor of rank 0 of a number."""
    number = _argument(node, place)
    if not isinstance(number, Node):
        number = of_type(number, dtype).item()
        _update(node, place, _before(node, _aten.full.default, ([], number), of_type(number, dtype), dtype=dtype))
        return
    wide = torch.float64 if isinstance(number.meta["val"], (float, torch.SymFloat)) else torch.int64
    whole = _before(node, _aten.full.default, ([], number), torch.zeros((), dtype=wide), dtype=wide)
    _update(node, place, _before(node, _aten._to_copy.default, (whole,), torch.zeros((), dtype=dtype), dtype=dtype))


def _widen(node: Node) -> None:
    """Casts operands to float32."""
    for operand in node.all_input_nodes:
        value = operand.meta["val"]
        if isinstance(value, torch.Tensor) and value.dtype in _HALVES:
            wide = torch.float32
            node.replace_input_with(
                operand, _before(node, _aten._to_copy.default, (operand,), value.to(wide), dtype=wide)
            )


def _narrow(node: Node, dtype: torch.dtype) -> None:
    """Casts the result; the node becomes the cast, since programs name their results."""
    wide = _before(node, node.target, node.args, node.meta["val"].float(), **node.kwargs)
    node.target, node.args, node.kwargs = _aten._to_copy.default, (wide,), {"dtype": dtype}


def _before(node: Node, target: Any, args: tuple[Any, ...], value: torch.Tensor, **named: Any) -> Node:
    """An operator in front of a node, of whose source it is."""
    with node.graph.inserting_before(node):
        made = node.graph.call_function(target, args, named)
    made.meta = {k: v for k, v in node.meta.items() if k != "unbacked_bindings"} | {"val": value}
    return made


def _argument(node: Node, place: int | str) -> Any:
    return node.args[place] if isinstance(place, int) else node.kwargs[place]


def _update(node: Node, place: int | str, argument: Any) -> None:
    if isinstance(place, int):
        node.update_arg(place, argument)
    else:
        node.update_kwarg(place, argument)
