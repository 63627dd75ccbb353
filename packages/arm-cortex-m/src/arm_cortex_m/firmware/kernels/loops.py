"""Loops over tensors as C source text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

#: The lines of the innermost loop, of the index of each operand.
Statement = Callable[[Sequence[str]], Sequence[str]]
_COUNTERS = "ijklmnopqstuvw"


@dataclass(frozen=True)
class Walk:
    """The walk through an operand: elements from one step of each axis to the next; negative: from the end on.

    Args:
        offset: the element that the walk begins at.
    """

    strides: tuple[int, ...]
    offset: int = 0


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements from one to the next along each axis."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def broadcast(shape: Sequence[int]) -> Walk:
    """A tensor as TOSA broadcasts it: an axis of one element is as long as others' are."""
    return Walk(tuple(0 if size == 1 else stride for size, stride in zip(shape, row_major(shape), strict=True)))


def nest(sizes: Sequence[int], walks: Sequence[Walk], statement: Statement) -> list[str]:
    """As few loops as there can be; each operand has a walk."""
    axes = _merged(sizes, walks)
    lines = list(statement([_index(walk.offset, axes, operand) for operand, walk in enumerate(walks)]))
    for (size, _), counter in reversed(list(zip(axes, _COUNTERS[: len(axes)], strict=True))):
        lines = loop(counter, size, lines)
    return lines


def loop(counter: str, size: int, lines: Sequence[str], first: int = 0) -> list[str]:
    """One loop around lines."""
    head = f"for (size_t {counter} = {first}u; {counter} < {size}u; {counter}++) {{"
    return [head, *(f"    {line}" for line in lines), "}"]


_Axis = tuple[int, tuple[int, ...]]  # its size, and each operand's stride


def _merged(sizes: Sequence[int], walks: Sequence[Walk]) -> list[_Axis]:
    axes: list[_Axis] = [
        (size, tuple(walk.strides[axis] for walk in walks)) for axis, size in enumerate(sizes) if size != 1
    ]
    merged: list[_Axis] = []
    for size, strides in axes:
        before = merged[-1] if merged else None
        if before is not None and all(a == size * b for a, b in zip(before[1], strides, strict=True)):
            merged[-1] = (before[0] * size, strides)
        else:
            merged.append((size, strides))
    return merged


def _index(offset: int, axes: Sequence[_Axis], operand: int) -> str:
    terms = [f"{offset}u"] if offset else []
    for (size, strides), counter in zip(axes, _COUNTERS[: len(axes)], strict=True):
        stride = strides[operand]
        position = counter if stride > 0 else f"({size - 1}u - {counter})"
        if stride:
            terms.append(position if abs(stride) == 1 else f"{abs(stride)}u * {position}")
    return " + ".join(terms) or "0"
