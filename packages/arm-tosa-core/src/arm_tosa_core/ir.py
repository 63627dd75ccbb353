"""The TOSA graph IR: tensors and operators with def-use chains.

A graph is an ordered list of operators in data-flow order. Constants are tensors that carry their data
and have no producer; the serializer writes them as CONST and CONST_SHAPE operators. Shapes and data types
of results come from the operator table (``table.infer``), never from the caller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Any

import numpy as np


class DType(StrEnum):
    """TOSA 1.0 data types, section 1.9.1 "Tensor data types"; SHAPE is the type of shape operands."""

    BOOL = "BOOL"
    INT4 = "INT4"
    INT8 = "INT8"
    UINT8 = "UINT8"
    INT16 = "INT16"
    UINT16 = "UINT16"
    INT32 = "INT32"
    INT48 = "INT48"
    FP8E4M3 = "FP8E4M3"
    FP8E5M2 = "FP8E5M2"
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


_BITS = {
    DType.BOOL: 8,
    DType.INT4: 4,
    DType.INT8: 8,
    DType.UINT8: 8,
    DType.INT16: 16,
    DType.UINT16: 16,
    DType.INT32: 32,
    DType.INT48: 48,
    DType.FP8E4M3: 8,
    DType.FP8E5M2: 8,
    DType.FP16: 16,
    DType.BF16: 16,
    DType.FP32: 32,
    DType.SHAPE: 64,
}


@dataclass(frozen=True)
class Origin:
    """Where an operator comes from, for errors and debug output."""

    node: str  # FX node name
    target: str  # ATen overload, for example "aten.add.Tensor"
    source: str = ""  # "file.py:12, in forward: y = x + 1", the line of the user's model


class Tensor:
    """An edge of the graph. Identity matters: two tensors are never merged by value unless constant."""

    __slots__ = ("data", "dtype", "name", "producer", "shape", "uses")

    def __init__(
        self, shape: Sequence[int], dtype: DType, *, name: str = "", data: np.ndarray[Any, Any] | None = None
    ) -> None:
        self.name = name
        self.shape: tuple[int, ...] = tuple(int(n) for n in shape)
        self.dtype = dtype
        self.data = data
        self.producer: Op | None = None
        self.uses: list[Op] = []  # one entry per operand position, in order of insertion

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def is_constant(self) -> bool:
        return self.data is not None

    def __repr__(self) -> str:
        kind = "const " if self.is_constant else ""
        return f"<{kind}{self.name or 'tensor'} {self.dtype}{list(self.shape)}>"


class Op:
    """One TOSA operator: ``outputs = name(inputs, attrs)``."""

    __slots__ = ("attrs", "inputs", "name", "origin", "outputs")

    def __init__(self, name: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any], origin: Origin | None) -> None:
        self.name = name
        self.inputs: list[Tensor] = list(inputs)
        self.outputs: list[Tensor] = []
        self.attrs: dict[str, Any] = dict(attrs)
        self.origin = origin

    @property
    def output(self) -> Tensor:
        """The result of an operator that has exactly one."""
        (tensor,) = self.outputs
        return tensor

    def __repr__(self) -> str:
        attrs = "".join(f" {k}={v}" for k, v in self.attrs.items())
        return f"<{self.name} {self.inputs} -> {self.outputs}{attrs}>"


def content(data: memoryview) -> bytes:
    """What tells bytes from others: themselves, or of many a digest."""
    return bytes(data) if data.nbytes <= 64 else hashlib.sha256(data).digest()


class Graph:
    """One TOSA block: inputs, operators in data-flow order, outputs."""

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.ops: list[Op] = []
        self._constants: dict[tuple[Any, ...], Tensor] = {}

    def input(self, name: str, shape: Sequence[int], dtype: DType) -> Tensor:
        """Adds a graph input."""
        tensor = Tensor(shape, dtype, name=name)
        self.inputs.append(tensor)
        return tensor

    def constant(self, data: np.ndarray[Any, Any], dtype: DType) -> Tensor:
        """A constant tensor; equal constants of one graph are one tensor.

        Args:
            data: in a NumPy type that holds ``dtype`` (INT48, SHAPE: int64; INT4: int8; BF16: ml_dtypes.bfloat16).
        """
        data = np.ascontiguousarray(data).reshape(data.shape)  # ascontiguousarray lifts rank 0 to rank 1
        key = (dtype, data.shape, data.dtype.str, content(data.reshape(-1).view(np.uint8).data))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Tensor(data.shape, dtype, data=data)
        return found

    def shape(self, values: Sequence[int]) -> Tensor:
        """A SHAPE constant, such as the second operand of RESHAPE."""
        return self.constant(np.asarray(values, dtype=np.int64).reshape(len(values)), DType.SHAPE)

    def append(
        self, name: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any] | None = None, origin: Origin | None = None
    ) -> Op:
        """Appends an operator; its results' shapes and types are inferred from the operator table."""
        return self.insert(len(self.ops), name, inputs, attrs, origin)

    def insert(
        self,
        index: int,
        name: str,
        inputs: Sequence[Tensor],
        attrs: Mapping[str, Any] | None = None,
        origin: Origin | None = None,
    ) -> Op:
        """Like ``append``, before the operator that is at ``index`` now."""
        from .table import infer

        op = Op(name, inputs, attrs or {}, origin)
        for shape, dtype in infer(op):
            tensor = Tensor(shape, dtype)
            tensor.producer = op
            op.outputs.append(tensor)
        for tensor in op.inputs:
            tensor.uses.append(op)
        self.ops.insert(index, op)
        return op

    def before(self, op: Op) -> Callable[..., Tensor]:
        """``insert(name, *inputs, **attrs)``: puts operators before ``op``, one behind the other; gives results."""

        def insert(name: str, *inputs: Tensor, **attrs: Any) -> Tensor:
            return self.insert(self.ops.index(op), name, inputs, attrs, op.origin).output

        return insert

    def set_input(self, op: Op, position: int, tensor: Tensor) -> None:
        """Makes ``tensor`` the operand of ``op`` at ``position`` and keeps the use lists true."""
        op.inputs[position].uses.remove(op)
        op.inputs[position] = tensor
        tensor.uses.append(op)

    def replace(self, old: Tensor, new: Tensor) -> None:
        """Makes every user of ``old``, graph outputs included, use ``new``."""
        if old is new:
            return
        for op in old.uses:
            for position, tensor in enumerate(op.inputs):
                if tensor is old:
                    op.inputs[position] = new
                    new.uses.append(op)
        old.uses = []
        self.outputs = [new if tensor is old else tensor for tensor in self.outputs]

    def sweep(self) -> None:
        """Removes operators whose results nobody uses, in one backward walk."""
        needed = {id(tensor) for tensor in self.outputs}
        kept: list[Op] = []
        for op in reversed(self.ops):
            if any(id(tensor) in needed for tensor in op.outputs):
                needed.update(id(tensor) for tensor in op.inputs)
                kept.append(op)
            else:
                for tensor in op.inputs:
                    tensor.uses.remove(op)
        self.ops = kept[::-1]

    def constants(self) -> Iterator[Tensor]:
        """Every constant that an operator or an output uses, in order of first use."""
        seen: set[int] = set()
        tensors: Iterable[Tensor] = (t for op in self.ops for t in op.inputs)
        for tensor in [*tensors, *self.outputs]:
            if tensor.is_constant and id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor


#: Operands of a CONCAT at most: MAX_TENSOR_LIST_SIZE of TOSA's level 8K.
_LISTED = 64


def joined(concat: Callable[[Sequence[Tensor]], Tensor], tensors: Sequence[Tensor]) -> Tensor:
    """One tensor of all, by ``concat`` of no more at once than a CONCAT may have."""
    while len(tensors) > 1:
        groups = [tensors[i : i + _LISTED] for i in range(0, len(tensors), _LISTED)]
        tensors = [concat(group) if len(group) > 1 else group[0] for group in groups]
    return tensors[0]


def fewest_axes(shape: Sequence[int], perms: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
    """A TRANSPOSE of as few axes as there can be: without those of one element, and those that stay together as one."""
    runs: list[list[int]] = []  # in the order of the result
    for axis in (axis for axis in perms if shape[axis] > 1):
        together = bool(runs) and axis > runs[-1][-1] and all(n == 1 for n in shape[runs[-1][-1] + 1 : axis])
        if together:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    before = sorted(runs)
    return [prod(shape[axis] for axis in run) for run in before], tuple(map(before.index, runs))
