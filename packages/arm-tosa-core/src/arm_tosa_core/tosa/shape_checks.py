"""Conditions on operands in the shape rules of TOSA's operators; each raises Rejected if it is not met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..support.errors import Rejected, require
from .ir import DType, Tensor
from .shape_arithmetic import known_shape

Result = tuple[tuple[int, ...], DType]
ShapeRule = Callable[[Sequence[Tensor], Mapping[str, Any]], list[Result]]


def shape_values(tensor: Tensor, subject: str) -> list[int]:
    """The numbers in a SHAPE operand."""
    values = known_shape(tensor)
    if values is None:
        raise Rejected(f"{subject} is not a compile-time constant")
    return values


def rank_of(tensor: Tensor, rank: int, subject: str) -> tuple[int, ...]:
    if len(tensor.shape) != rank:
        raise Rejected(f"{subject} must have rank {rank}, got {list(tensor.shape)}")
    return tensor.shape


def axis_of(tensor: Tensor, axis: int) -> int:
    if not 0 <= axis < len(tensor.shape):
        raise Rejected(f"axis {axis} is outside of {list(tensor.shape)}")
    return axis


def positive(values: Sequence[int], subject: str) -> None:
    if min(values) < 1:
        raise Rejected(f"{subject} must be at least 1, got {list(values)}")


def not_negative(values: Sequence[int], subject: str) -> None:
    if min(values) < 0:
        raise Rejected(f"{subject} must not be negative, got {list(values)}")


def steps(span: int, stride: int, where: str) -> int:
    """1 + span / stride, which TOSA 1.0 wants to be exact (idiv_check)."""
    if span < 0:
        raise Rejected(f"{where}: the kernel is larger than the padded input")
    if span % stride:
        raise Rejected(
            f"{where}: TOSA wants the stride {stride} to divide the padded input minus the kernel, {span}",
            f"crop the input or the padding by {span % stride}",
        )
    return span // stride + 1


def is_one(tensor: Tensor, subject: str) -> None:
    if tensor.shape != (1,):
        raise Rejected(f"{subject} must have shape [1], got {list(tensor.shape)}")


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """TOSA's broadcast: equal ranks, and dimensions that are equal or 1."""
    first = shapes[0]
    result = first
    for shape in shapes[1:]:
        if shape == result:
            continue
        if len(shape) != len(first):
            ranks = " and ".join(str(list(s)) for s in shapes)
            raise Rejected(f"operands must have equal ranks to broadcast, got {ranks}")
        dims = []
        for a, b in zip(result, shape, strict=True):
            if a != b and a != 1 and b != 1:
                raise Rejected(f"shapes do not broadcast: {' and '.join(str(list(s)) for s in shapes)}")
            dims.append(b if a == 1 else a)
        result = tuple(dims)
    return result


def blocks(x: Tensor, attrs: Mapping[str, Any], subject: str) -> tuple[int, ...]:
    """The shape of the scales of a tensor: a scale for each block of numbers along the last axis."""
    size = int(attrs["block_size"].rpartition("_")[2])
    require(len(x.shape) >= 1, f"{subject} is a scalar, which has no blocks")
    require(x.shape[-1] % size == 0, f"{subject} has {x.shape[-1]} numbers in the last axis, no multiple of {size}")
    return (*x.shape[:-1], x.shape[-1] // size)


def scaled(x: Tensor, scale: Tensor, attrs: Mapping[str, Any], subject: str) -> None:
    shape = blocks(x, attrs, subject)
    require(scale.shape == shape, f"the scale of {subject} must have shape {list(shape)}, got {list(scale.shape)}")
