"""A TOSA operator as a C function."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op, Tensor

from ..c_text import c_type, operand

#: An attribute of what stands for several operators: their names.
OPERATORS = "operators"
#: In the text of a kernel, a number that one of an array of int32 can take the place of: a C int.
_NUMBER = re.compile(r"\(-\d+\)|(?<![\w.])\d+(?![\w.])|\bINT32_MIN\b")


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

    @cached_property
    def alike(self) -> Hashable:
        """Equal for kernels that differ in numbers of their text alone."""
        return self.reads, self.may_fail, tuple(_NUMBER.sub(_without, line) for line in self.body)


def _without(number: re.Match[str]) -> str:
    text = number[0].strip("()")
    return "0" if text == "INT32_MIN" or abs(int(text)) < 2**31 else text


def as_one(kernels: Sequence[Kernel]) -> tuple[Kernel, list[list[str]]]:
    """One in the place of several that are ``alike``: its text reads those numbers that differ from ``numbers``.

    Returns:
        It, and for each of the several what its ``numbers`` are.
    """
    columns = list(zip(*(_NUMBER.findall("\n".join(kernel.body)) for kernel in kernels), strict=True))
    differ: dict[tuple[str, ...], int] = {}
    for column in columns:
        if len(set(column)) > 1:
            differ.setdefault(column, len(differ))
    left = iter(columns)

    def read(number: re.Match[str]) -> str:
        place = differ.get(next(left))
        return number[0] if place is None else f"numbers[{place}]"

    body = tuple(_NUMBER.sub(read, line) for line in kernels[0].body)
    rows = [[column[which].strip("()") for column in differ] for which in range(len(kernels))]
    return replace(kernels[0], body=body), rows


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


def element_operations(op: Op) -> int:
    """Times that the innermost statements of its kernel run: a count, of which some take longer than others."""
    if op.name in ("CONV2D", "TRANSPOSE_CONV2D"):
        return op.output.size * prod(op.inputs[1].shape[1:])
    if op.name == "DEPTHWISE_CONV2D":
        return op.output.size * prod(op.inputs[1].shape[:2])
    if op.name in ("AVG_POOL2D", "MAX_POOL2D"):
        height, width = op.attrs["kernel"]
        return op.output.size * int(height) * int(width)
    if op.name == "MATMUL":
        return op.output.size * op.inputs[0].shape[2]
    if op.name == "PAD":
        return op.output.size + op.inputs[0].size
    if op.name == "SCATTER":
        return op.output.size + op.inputs[2].size
    if op.name == "ARGMAX" or op.name.startswith("REDUCE_"):
        return op.inputs[0].size
    return op.output.size


class Functions:
    """The functions that a source file needs; operators that compute the same share one."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._texts: list[str] = []
        self._counts: Counter[str] = Counter()

    @property
    def text(self) -> str:
        """All functions, in the order of their first use."""
        return "\n".join(self._texts)

    def call(self, op: Op, kernel: Kernel, operands: Mapping[int, str], result: str, numbers: str = "") -> str:
        """A call of an operator's function, without a semicolon.

        Args:
            operands: C expressions, by position, for those that the kernel reads.
            numbers: that of its ``numbers``, if it is one that ``as_one`` has made and reads some.
        """
        parameters = ", ".join(
            [f"{c_type(op.output.dtype)} *output"]
            + [f"const {c_type(op.inputs[position].dtype)} *input{position}" for position in kernel.reads]
            + (["const int32_t *numbers"] if numbers else [])
        )
        body = "\n".join(f"    {line}".rstrip() for line in kernel.body)
        key = parameters, body
        if key not in self._names:
            name = f"{op.name.lower()}_kernel{self._counts[op.name]}"
            self._counts[op.name] += 1
            kind = "model_status" if kernel.may_fail else "void"
            self._names[key] = name
            self._texts.append(
                f"/* {_described(op)} */\nTOSA_KERNEL static {kind} {name}({parameters}) {{\n{body}\n}}\n"
            )
        arguments = [result, *(operands[position] for position in kernel.reads), *([numbers] if numbers else [])]
        return f"{self._names[key]}({', '.join(arguments)})"


def _described(op: Op) -> str:
    operands = ", ".join(_type(tensor) for tensor in op.inputs if not tensor.is_constant or tensor.size > 1)
    return f"{op.attrs.get(OPERATORS, op.name)} of {operands} to {_type(op.output)}."


def _type(tensor: Tensor) -> str:
    return f"{tensor.dtype} {' x '.join(map(str, tensor.shape)) or 'scalar'}"
