"""The TOSA graph: an ordered list of operators with def-use chains.

Operators stand in data-flow order. Constants are tensors that carry their data and have no producer; the serializer
writes them as CONST and CONST_SHAPE operators. Shapes and data types of results come from the operator table
(``table.infer``), never from the caller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .ir import DType, Op, Origin, Tensor
from .table import infer


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
