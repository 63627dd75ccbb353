"""Shapes computed in the graph, by the extension ``shape`` of TOSA 1.1: the result of each operator, and its numbers.

Shapes of tensors are known here when a graph is made, so the numbers of every shape that is computed from them are
known too. ``known_shape`` finds them. The rules, one for each operator, raise Rejected as those of ``shape_rules`` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..support.errors import Rejected, require
from .ir import DType, Op, Tensor

_Results = list[tuple[tuple[int, ...], DType]]


def _quotient(a: int, b: int) -> int:
    require(b > 0, f"a shape is divided by {b}; the divisor must be positive")
    return a // b


def _logarithm(a: int) -> int:
    require(a > 0, f"the operand is {a}; it must be positive")
    return a.bit_length() - 1


def _power(a: int) -> int:
    require(0 <= a < 63, f"exponent {a} is outside of 0 to 62")
    return 1 << a


#: The functions of elementwise operators on a number of each operand.
ELEMENTWISE: dict[str, Callable[..., int]] = {
    "ADD_SHAPE": lambda a, b: a + b,
    "SUB_SHAPE": lambda a, b: a - b,
    "MUL_SHAPE": lambda a, b: a * b,
    "DIV_CEIL_SHAPE": lambda a, b: -_quotient(-a, b),
    "DIV_FLOOR_SHAPE": _quotient,
    "MOD_SHAPE": lambda a, b: a - b * _quotient(a, b),
    "MAX_SHAPE": max,
    "MIN_SHAPE": min,
    "EXP2_SHAPE": _power,
    "LOG2_FLOOR_SHAPE": _logarithm,
    "LOG2_CEIL_SHAPE": lambda a: _logarithm(2 * a - 1),
}


def known_shape(tensor: Tensor) -> list[int] | None:
    """The numbers of a shape, or of a constant; None if they are known only at run time."""
    if tensor.data is not None:
        numbers: list[int] = tensor.data.tolist()
        return numbers
    op = tensor.producer
    if op is None or tensor.dtype is not DType.SHAPE:
        return None
    if op.name == "DIM":
        return [op.inputs[0].shape[op.attrs["axis"]]]
    operands = [_numbers(operand, op) for operand in op.inputs]
    if op.name == "CONCAT_SHAPE":
        return [number for operand in operands for number in operand]
    if op.name == "SLICE_SHAPE":
        values, (start,), (size,) = operands
        return values[start : start + size]
    return [ELEMENTWISE[op.name](*numbers) for numbers in zip(*operands, strict=True)]


def _numbers(tensor: Tensor, op: Op) -> list[int]:
    values = known_shape(tensor)
    if values is None:
        raise Rejected(f"{op.name}: a shape is not known when compiling")
    return values


def dim(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> _Results:
    axis, shape = attrs["axis"], inputs[0].shape
    require(0 <= axis < len(shape), f"axis {axis} is outside of {list(shape)}")
    return [((1,), DType.SHAPE)]


def concat_shape(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> _Results:
    return [((sum(tensor.size for tensor in inputs),), DType.SHAPE)]


def slice_shape(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> _Results:
    """Start and size are constants of one INT32."""
    (start,), (size,) = (known_shape(tensor) or (0,) for tensor in inputs[1:])
    fits = start >= 0 < size <= inputs[0].size - start
    require(fits, f"start {start} and size {size} are outside of a shape of {inputs[0].size} numbers")
    return [((size,), DType.SHAPE)]


def elementwise(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> _Results:
    lengths = [tensor.size for tensor in inputs]
    require(
        len(set(lengths)) == 1, f"the operands have {lengths[0]} and {lengths[-1]} numbers; they must have equally many"
    )
    return [((lengths[0],), DType.SHAPE)]


def assert_equal_shape(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> _Results:
    """Has no results. Its condition is known, and checked, when a graph is made."""
    elementwise(inputs, attrs)
    first, second = (known_shape(tensor) for tensor in inputs)
    if first is not None and second is not None:
        for a, b in zip(first, second, strict=True):
            broadcast = attrs["allow_broadcast"] and 1 in (a, b)
            require(a == b or broadcast, f"the shapes differ: {first} and {second}")
    return []
