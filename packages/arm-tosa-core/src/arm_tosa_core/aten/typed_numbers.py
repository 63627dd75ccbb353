"""Operands that stay on the CPU, of the type that PyTorch computes in.

PyTorch takes a number, and a tensor of rank 0, in that type: 16 bits round it, and integers wrap it. Products and
quotients of 16-bit floats by one are computed in float32. ExecuTorch (1.5) takes it as it is. Its kernels refuse a
number that their type does not hold, and compare float64 with another type in float32. It makes tensors of int64 or
float32 of numbers that stand for tensors (``ScalarToTensorPass``); beside a tensor of rank 0 of another type the result
has not the type that the program says. It reads no numbers (``item``) of 16-bit floats.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.fx import Node

from ..compat.executorch import aten_overload
from ..compat.torch import schema_of
from ..compat.torch_sizes import most
from ..lowering.operator_names import canonical
from ..lowering.values import INTEGER_RANGES, of_type
from .cpu_edits import Edit, become, before

_aten = torch.ops.aten
_HALVES = (torch.float16, torch.bfloat16)
#: The types that ExecuTorch gives to numbers; results of comparisons have their own.
_TYPES = (torch.int64, torch.float32, torch.bool)
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_PRODUCTS = frozenset({"mul", "div"})
_READS = frozenset({"aten.item.default", "aten._local_scalar_dense.default"})
#: Operators whose tensors have one type, as their numbers do.
_OF_ONE_TYPE = _COMPARISONS | _PRODUCTS | {"add", "sub", "rsub", "remainder", "fmod", "floor_divide", "pow", "where"}
_OF_ONE_TYPE |= {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"}
_OF_ONE_TYPE |= {"clamp", "clamp_min", "clamp_max", "maximum", "minimum", "atan2"}
#: Other operators that take numbers in the type of their result.
_TAKES = frozenset({"masked_fill", "index_fill", "scatter", "full", "full_like", "fill", "scalar_tensor"})
_TENSORS = ("Tensor", "Optional[Tensor]")
_NUMBERS = ("number", "Optional[number]")


def number_edits(node: Node) -> list[Edit]:
    """What gives a node operands as PyTorch takes them."""
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
    alone = bool(tensors) and not any(t.dim() for t in tensors) and dtype not in _TYPES
    edits: list[Edit] = []
    for place, operand in given.items():
        tensor = kinds[place] in _TENSORS
        if name in _PRODUCTS and place == 1 and dtype in _HALVES and _is_wide_factor(operand, dtype):
            if isinstance(operand, Node) and _is_number(operand):
                edits.append(partial(_make_tensor, place=place, dtype=torch.float32))
            return [*edits, _widen, partial(_narrow, dtype=dtype)]
        if not _is_number(operand):
            if tensor and name in _OF_ONE_TYPE and _needs_cast(operand, dtype):
                edits.append(partial(_cast, place=place, dtype=dtype))
        elif tensor and (alone or _needs_tensor(operand, dtype)):
            edits.append(partial(_make_tensor, place=place, dtype=dtype))
        elif (tensor or (kinds[place] in _NUMBERS and name in _OF_ONE_TYPE | _TAKES)) and _changes(operand, dtype):
            edits.append(partial(_set, place=place, dtype=dtype))
    return edits


def _is_number(argument: Any) -> bool:
    """Whether an argument is a number, known or not."""
    kinds = (int, float, torch.SymInt, torch.SymFloat)
    return isinstance(argument.meta.get("val") if isinstance(argument, Node) else argument, kinds)


def _is_wide_factor(operand: Any, dtype: torch.dtype) -> bool:
    """Whether a second operand is taken in float32 beside 16-bit floats, as those of rank 0 are."""
    if _is_number(operand):
        return _changes(operand, dtype)
    return _needs_cast(operand, dtype) and not operand.meta["val"].dim()


def _changes(number: Any, dtype: torch.dtype) -> bool:
    """Whether a type holds another number in place of one; of one that is not known, whether it may."""
    if isinstance(number, Node):
        return dtype in _HALVES or (dtype in INTEGER_RANGES and _may_leave(number, dtype))
    is_held = dtype not in _HALVES and not (dtype in INTEGER_RANGES and isinstance(number, int))
    return not is_held and of_type(number, dtype).item() != number


def _may_leave(number: Node, dtype: torch.dtype) -> bool:
    """Whether a number that is not known is a whole one that integers may not hold."""
    value, (low, high) = number.meta["val"], INTEGER_RANGES[dtype]
    return isinstance(value, torch.SymInt) and (most(value) > high or most(-value) > -low)


def _needs_tensor(number: Any, dtype: torch.dtype) -> bool:
    """Whether a number stands for a tensor that ExecuTorch would make otherwise: its whole numbers that are not known
    have 32 bits."""
    if isinstance(number, Node):
        return dtype is torch.float64 or _changes(number, dtype) or _may_leave(number, torch.int32)
    return dtype is torch.float64 and isinstance(number, float) and of_type(number, torch.float32).item() != number


def _needs_cast(operand: Any, dtype: torch.dtype) -> bool:
    """Whether an operand is a tensor of another type, and more than the kernel's own cast to this one is needed."""
    value = operand.meta.get("val") if isinstance(operand, Node) else None
    if not isinstance(value, torch.Tensor) or value.dtype in (dtype, torch.bool):
        return False
    return dtype in (*_HALVES, torch.float64) or torch.promote_types(value.dtype, dtype) != dtype


def _example(argument: Any) -> Any:
    """Something that promotes types as an argument does."""
    value = argument.meta["val"] if isinstance(argument, Node) else argument
    if isinstance(value, torch.Tensor):
        return torch.empty([1] * value.dim(), dtype=value.dtype, device="meta")
    return 1.0 if isinstance(value, torch.SymFloat) else 1 if isinstance(value, torch.SymInt) else value


def _set(node: Node, place: int | str, dtype: torch.dtype) -> None:
    """Gives a number in place of one; of one that is not known, it is read from a tensor."""
    number = _argument(node, place)
    if not isinstance(number, Node):
        _update(node, place, of_type(number, dtype).item())
        return
    held = _tensor_of(node, number, dtype)
    if dtype in _HALVES:
        held = before(node, _aten._to_copy.default, (held,), dtype=torch.float32)
    _update(node, place, before(node, _aten._local_scalar_dense.default, (held,), number.meta["val"]))


def _make_tensor(node: Node, place: int | str, dtype: torch.dtype) -> None:
    _update(node, place, _tensor_of(node, _argument(node, place), dtype))


def _cast(node: Node, place: int | str, dtype: torch.dtype) -> None:
    _update(node, place, before(node, _aten._to_copy.default, (_argument(node, place),), dtype=dtype))


def _tensor_of(node: Node, number: Any, dtype: torch.dtype) -> Node:
    """A tensor of rank 0 of a number."""
    if not isinstance(number, Node):
        number = of_type(number, dtype).item()
        return before(node, _aten.full.default, ([], number), of_type(number, dtype), dtype=dtype)
    wide = torch.float64 if isinstance(number.meta["val"], (float, torch.SymFloat)) else torch.int64
    whole = before(node, _aten.full.default, ([], number), torch.zeros((), dtype=wide), dtype=wide)
    return before(node, _aten._to_copy.default, (whole,), torch.zeros((), dtype=dtype), dtype=dtype)


def _widen(node: Node) -> None:
    """Casts operands to float32."""
    for operand in node.all_input_nodes:
        value = operand.meta["val"]
        if isinstance(value, torch.Tensor) and value.dtype in _HALVES:
            wide = torch.float32
            node.replace_input_with(operand, before(node, _aten._to_copy.default, (operand,), dtype=wide))


def _narrow(node: Node, dtype: torch.dtype) -> None:
    """Casts the result."""
    wide = before(node, node.target, node.args, node.meta["val"].float(), **node.kwargs)
    become(node, _aten._to_copy.default, wide, dtype=dtype)


def _argument(node: Node, place: int | str) -> Any:
    return node.args[place] if isinstance(place, int) else node.kwargs[place]


def _update(node: Node, place: int | str, argument: Any) -> None:
    if isinstance(place, int):
        node.update_arg(place, argument)
    else:
        node.update_kwarg(place, argument)
