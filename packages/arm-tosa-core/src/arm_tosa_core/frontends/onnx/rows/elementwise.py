"""Operators that compute each element by itself, broadcasting as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from ...file_model import Expansion
from ..reader import torch_type, type_name
from .table import ROWS, is_float, known, require

UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "BitwiseNot": torch.bitwise_not,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "IsNaN": torch.isnan,
    "Log": torch.log,
    "Neg": torch.neg,
    "Not": torch.logical_not,
    "Reciprocal": torch.reciprocal,
    "Round": torch.round,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Sqrt": torch.sqrt,
    "Tan": torch.tan,
}


def _divided(x: Tensor, y: Tensor) -> Tensor:
    return torch.div(x, y) if is_float(x) else torch.div(x, y, rounding_mode="trunc")


BINARY: dict[str, Callable[[Any, Any], Tensor]] = {
    "Add": torch.add,
    "And": torch.logical_and,
    "BitwiseAnd": torch.bitwise_and,
    "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
    "Div": _divided,
    "Equal": torch.eq,
    "Greater": torch.gt,
    "GreaterOrEqual": torch.ge,
    "Less": torch.lt,
    "LessOrEqual": torch.le,
    "Mul": torch.mul,
    "Or": torch.logical_or,
    "Sub": torch.sub,
    "Xor": torch.logical_xor,
}

#: With a number on the left: the same comparison from the right.
_TURNED = {"Greater": torch.lt, "GreaterOrEqual": torch.le, "Less": torch.gt, "LessOrEqual": torch.ge}


@ROWS.row(*UNARY)
def unary(node: FileNode, x: Tensor) -> Tensor:
    return UNARY[node.kind](x)


#: Their constants stay tensors of one element: the quantizer joins those with the layer before.
_JOINED = {"Add", "Sub", "Mul", "Div"}


#: Their constants stay tensors: PyTorch takes no number for one.
_LOGICAL = {"And", "Or", "Xor"}


@ROWS.row(*(_JOINED | _LOGICAL))
def arithmetic(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return BINARY[node.kind](x, y)


@ROWS.row(*(BINARY.keys() - _JOINED - _LOGICAL), scalars=True)
def binary(node: FileNode, x: Any, y: Any) -> Tensor:
    if isinstance(x, Tensor):
        return BINARY[node.kind](x, y)
    if node.kind in _TURNED:
        return _TURNED[node.kind](y, x)
    return BINARY[node.kind](y, x)


@ROWS.row("Pow")
def power(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return torch.pow(x, y).to(x.dtype)


@ROWS.expansion("Pow")
def constant_exponent(node: FileNode, x: Tensor, y: Tensor) -> Expansion | None:
    if known(y) and not is_float(x) and not is_float(y):
        require(not (y < 0).any(), "it raises integers to a negative power", "cast its first operand to float32")
    if not known(y) or y.numel() != 1 or y.dim() > x.dim():
        return None
    attributes = {"exponent": y.item()}
    return [FileNode(node.name, "Pow/number", node.inputs[:1], node.outputs, node.place, attributes)], {}


@ROWS.row("Pow/number")
def power_of_number(node: FileNode, x: Tensor) -> Tensor:
    return torch.pow(x, node["exponent"]).to(x.dtype)


@ROWS.row("Mod")
def modulo(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    require(
        node["fmod"] or not is_float(x), "it takes the remainder of floats with fmod = 0", "export it with fmod = 1"
    )
    return torch.fmod(x, y) if node["fmod"] else torch.remainder(x, y)


@ROWS.row("BitShift")
def shifted(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    made = x.to(torch.int64)
    made = made << y.to(torch.int64) if node["direction"] == "LEFT" else made >> y.to(torch.int64)
    return made.to(x.dtype)


@ROWS.row("IsInf")
def infinite(node: FileNode, x: Tensor) -> Tensor:
    positive, negative = x == float("inf"), x == -float("inf")
    chosen = [made for made, asked in ((positive, "positive"), (negative, "negative")) if node[f"detect_{asked}"]]
    return reduce(torch.logical_or, chosen) if chosen else torch.zeros_like(positive)


@ROWS.row("Sum", "Mean", "Max", "Min")
def folded(node: FileNode, *values: Tensor) -> Tensor:
    steps = {"Max": torch.maximum, "Min": torch.minimum}
    made = reduce(steps.get(node.kind, torch.add), values)
    return made / len(values) if node.kind == "Mean" else made


@ROWS.row("Where", scalars=True)
def where(node: FileNode, condition: Tensor, x: Any, y: Any) -> Tensor:
    if isinstance(condition, bool):  # a constant of one element
        condition = torch.full((), condition)
    return torch.where(condition, x, y)


@ROWS.expansion("Where")
def constant_choice(node: FileNode, condition: Tensor, x: Tensor, y: Tensor) -> Expansion | None:
    """Between two numbers, which have a type."""
    if not all(known(one) and one.numel() == 1 and one.dim() <= condition.dim() for one in (x, y)):
        return None
    attributes = {"chosen": (x.item(), y.item()), "dtype": x.dtype}
    return [FileNode(node.name, "Where/numbers", node.inputs[:1], node.outputs, node.place, attributes)], {}


@ROWS.row("Where/numbers")
def where_numbers(node: FileNode, condition: Tensor) -> Tensor:
    x, y = node["chosen"]
    made: Tensor = torch.where(condition, x, y)
    return made.to(node["dtype"])


@ROWS.row("Clip", scalars=True)
def clip(node: FileNode, x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    low = node.get("min") if low is None else low
    high = node.get("max") if high is None else high
    require(all(edge == edge for edge in (low, high) if not isinstance(edge, Tensor)), "a bound of it is NaN")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        x = x if low is None else torch.maximum(x, torch.as_tensor(low, dtype=x.dtype))
        return x if high is None else torch.minimum(x, torch.as_tensor(high, dtype=x.dtype))
    if low is None and high is None:
        return x.clone()
    if (low, high) == (0, 6) and is_float(x):
        return functional.relu6(x)  # which rewrites look for, in a hard swish for example
    return torch.relu(x) if low == 0 and high is None else torch.clamp(x, low, high)


@ROWS.row("Cast")
def cast(node: FileNode, x: Tensor) -> Tensor:
    dtype = torch_type(node["to"])
    require(dtype, f"it casts to the type {type_name(node['to'])}, which is not read")
    assert dtype is not None
    return x.to(dtype)


@ROWS.row("CastLike")
def cast_like(node: FileNode, x: Tensor, like: Tensor) -> Tensor:
    return x.to(like.dtype)


@ROWS.row("Identity")
def identity(node: FileNode, x: Tensor) -> Tensor:
    return x


@ROWS.row("Dropout", numbers=(1, 2))
def dropout(node: FileNode, x: Tensor, ratio: Any = None, training: bool = False) -> list[Tensor]:
    require(not training or ratio == 0, "it drops at random", "export the model in eval mode")
    node.get("ratio"), node.get("seed")
    return [x, torch.ones_like(x, dtype=torch.bool)] if len(node.outputs) > 1 else [x]
