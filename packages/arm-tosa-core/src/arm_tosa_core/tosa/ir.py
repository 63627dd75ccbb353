"""The parts of TOSA graphs: data types, tensors, operators, and origins of operators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, pairwise
from math import inf, prod
from operator import mul
from typing import Any

import numpy as np


class DType(StrEnum):
    """TOSA data types, section 1.9.1 "Tensor data types"; SHAPE is the type of shape operands.

    INT64, those of 4 and 6 bits, MXINT8 (steps of 1/64), and FP8UE8M0 (the scales of blocks) are of TOSA 1.1.
    """

    BOOL = "BOOL"
    INT4 = "INT4"
    INT8 = "INT8"
    UINT8 = "UINT8"
    INT16 = "INT16"
    UINT16 = "UINT16"
    INT32 = "INT32"
    INT48 = "INT48"
    INT64 = "INT64"
    MXINT8 = "MXINT8"
    FP4E2M1 = "FP4E2M1"
    FP6E2M3 = "FP6E2M3"
    FP6E3M2 = "FP6E3M2"
    FP8E4M3 = "FP8E4M3"
    FP8E5M2 = "FP8E5M2"
    FP8UE8M0 = "FP8UE8M0"
    FP16 = "FP16"
    BF16 = "BF16"
    FP32 = "FP32"
    SHAPE = "SHAPE"

    @property
    def is_float(self) -> bool:
        return self.value.startswith(("FP", "BF"))

    @property
    def is_integer(self) -> bool:
        return self.value.startswith(("INT", "UINT"))

    @property
    def bits(self) -> int:
        """Bits of one element, as TOSA counts them (BOOL is 8 in memory)."""
        return _BITS[self]


_BITS = {dtype: int(n[0]) for dtype in DType if (n := re.findall(r"\d+", dtype))} | {DType.BOOL: 8, DType.SHAPE: 64}


@dataclass(frozen=True)
class Origin:
    """The origin of an operator, for errors and debug output."""

    node: str  # FX node name
    target: str  # ATen overload, for example "aten.add.Tensor"
    source: str = ""  # "file.py:12, in forward: y = x + 1", the line of the user's model
    module: str = ""  # as ``named_modules`` has it, for example "encoder.layer.0"


class Uses:
    """The operators that read a tensor, in order of insertion; one that reads it twice is listed twice.

    Adding, removing and counting take constant time.
    """

    __slots__ = ("_counts", "_size")

    def __init__(self) -> None:
        self._counts: dict[Op, int] = {}
        self._size = 0

    def add(self, op: Op, count: int = 1) -> None:
        """One more operand of ``op``, or ``count`` more."""
        self._counts[op] = self._counts.get(op, 0) + count
        self._size += count

    def remove(self, op: Op) -> None:
        """One operand of ``op`` fewer.

        Raises:
            KeyError: the operator is not listed.
        """
        count = self._counts[op] - 1
        self._size -= 1
        if count:
            self._counts[op] = count
        else:
            del self._counts[op]

    def operators(self) -> list[Op]:
        """The operators, each once."""
        return list(self._counts)

    def __iter__(self) -> Iterator[Op]:
        for op, count in self._counts.items():
            for _ in range(count):
                yield op

    def __len__(self) -> int:
        return self._size

    def __contains__(self, op: object) -> bool:
        return op in self._counts

    def __getitem__(self, index: int) -> Op:
        """The operator at a position, counted from the front."""
        for position, op in enumerate(self):
            if position == index:
                return op
        raise IndexError(f"position {index} of {self._size} uses")


#: The numbers of a constant, or a function that makes them: large constants are made only if they are needed.
Data = np.ndarray[Any, Any] | Callable[[], np.ndarray[Any, Any]]


class Tensor:
    """An edge of the graph. Identity matters: two tensors are never merged by value unless constant.

    Args:
        data: the numbers of a constant, or a function that makes them at the first read.
    """

    __slots__ = ("_data", "dtype", "name", "producer", "shape", "uses")

    def __init__(self, shape: Sequence[int], dtype: DType, *, name: str = "", data: Data | None = None) -> None:
        self.name = name
        self.shape: tuple[int, ...] = tuple(map(int, shape))
        self.dtype = dtype
        self._data = data
        self.producer: Op | None = None
        self.uses = Uses()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def is_constant(self) -> bool:
        return self._data is not None

    @property
    def data(self) -> np.ndarray[Any, Any] | None:
        """The numbers of a constant; ``is_constant`` asks whether there are any, without making them."""
        if callable(self._data):
            self._data = self._data()
        return self._data

    def __repr__(self) -> str:
        kind = "const " if self.is_constant else ""
        return f"<{kind}{self.name or 'tensor'} {self.dtype}{list(self.shape)}>"


class Op:
    """One TOSA operator: ``outputs = name(inputs, attrs)``."""

    # ``following``, ``position`` and ``previous`` are the operator list's: see ``op_list``.
    __slots__ = ("attrs", "following", "inputs", "name", "origin", "outputs", "position", "previous")

    def __init__(self, name: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any], origin: Origin | None) -> None:
        self.name = name
        self.inputs: list[Tensor] = list(inputs)
        self.outputs: list[Tensor] = []
        self.attrs: dict[str, Any] = dict(attrs)
        self.origin = origin
        self.previous: Op | None = None
        self.following: Op | None = None
        self.position = 0

    @property
    def output(self) -> Tensor:
        """The result of an operator that has exactly one."""
        (tensor,) = self.outputs
        return tensor

    def __repr__(self) -> str:
        attrs = "".join(f" {k}={v}" for k, v in self.attrs.items())
        return f"<{self.name} {self.inputs} -> {self.outputs}{attrs}>"


#: Operands of a CONCAT at most, of TOSA's level 8K.
MAX_TENSOR_LIST_SIZE = 64


def joined(concat: Callable[[Sequence[Tensor]], Tensor], tensors: Sequence[Tensor]) -> Tensor:
    """One tensor of all, by ``concat`` of no more at once than a CONCAT may have."""
    while len(tensors) > 1:
        starts = range(0, len(tensors), MAX_TENSOR_LIST_SIZE)
        groups = [tensors[i : i + MAX_TENSOR_LIST_SIZE] for i in starts]
        tensors = [concat(group) if len(group) > 1 else group[0] for group in groups]
    return tensors[0]


def fewest_axes(shape: Sequence[int], perms: Sequence[int], most: float = inf) -> tuple[list[int], tuple[int, ...]]:
    """A TRANSPOSE of the fewest axes: without axes of one element, and with axes that stay together as one.

    Args:
        most: elements at most that axes merged to one may have.
    """
    runs: list[list[int]] = []  # in the order of the result
    for axis in (axis for axis in perms if shape[axis] > 1):
        together = bool(runs) and axis > runs[-1][-1] and all(n == 1 for n in shape[runs[-1][-1] + 1 : axis])
        if together and prod(shape[each] for each in (*runs[-1], axis)) <= most:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    before = sorted(runs)
    return [prod(shape[axis] for axis in run) for run in before], tuple(map(before.index, runs))


def finest_axes(*shapes: Sequence[int]) -> tuple[list[int], list[list[range]]]:
    """Sizes of the finest axes that all shapes consist of (empty if there are none), and those of each axis, by number.

    An axis of one element has none.
    """
    ends = [list(accumulate(shape, mul, initial=1)) for shape in shapes]
    cuts = sorted({end for each in ends for end in each})
    sizes = [] if any(b % a for a, b in pairwise(cuts)) else [b // a for a, b in pairwise(cuts)]
    return sizes, [[range(cuts.index(a), cuts.index(b)) for a, b in pairwise(each)] for each in ends]
