"""A TOSA operator as a C function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op, Tensor

from ..c_text import c_type, operand


@dataclass(frozen=True)
class Kernel:
    """The body of a C function that computes an operator.

    Args:
        reads: the operands that are parameters of the function, pointers called ``input0``, ``input1``, ...; the
            numbers of the others are part of its text.
        body: its lines, which write the result to the parameter ``output``.
        may_fail: the function returns a ``model_status``, and its body ends with a return.
    """

    reads: tuple[int, ...]
    body: tuple[str, ...]
    may_fail: bool = False


def element(op: Op, position: int, index: str) -> str:
    """An element of an operand; of a constant with one element, the number."""
    tensor = op.inputs[position]
    if (value := single(tensor)) is not None:
        return f"{value}u" if tensor.dtype in (DType.BOOL, DType.UINT8) else operand(value)
    return f"input{position}[{index}]"


def pointers(op: Op, *positions: int) -> tuple[int, ...]:
    """Positions of the operands that ``element`` reads from memory."""
    return tuple(position for position in positions if single(op.inputs[position]) is None)


def single(tensor: Tensor) -> int | None:
    """The number of a constant that has one element, and is small enough for a C int."""
    data = tensor.data if tensor.is_constant and tensor.size == 1 else None
    return int(data.reshape(-1)[0]) if data is not None and tensor.dtype is not DType.INT48 else None


def constant(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The numbers of an operand that TOSA requires to be constant."""
    data = tensor.data
    assert data is not None, "the verifier has made sure"
    return data.reshape(-1)


def converted(text: str, dtype: DType) -> str:
    """A C expression as an element."""
    return f"({c_type(dtype)})({text})"


def bounds(dtype: DType, unsigned: bool = False) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    if unsigned:
        return 0, 2**dtype.bits - 1
    return -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1


def lines(*parts: str | Sequence[str]) -> tuple[str, ...]:
    """Lines of several, one after the other."""
    return tuple(line for part in parts for line in ([part] if isinstance(part, str) else part))
