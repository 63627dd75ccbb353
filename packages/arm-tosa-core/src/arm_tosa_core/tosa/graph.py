"""The TOSA graph: an ordered list of operators with def-use chains.

Operators stand in data-flow order. Constants are tensors that carry their data and have no producer; the serializer
writes them as CONST and CONST_SHAPE operators. Shapes and data types of results come from the operator table
(``table.infer``), never from the caller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from .ir import DType, Op, Origin, Tensor, Uses
from .table_checks import infer

#: Between the positions of neighbours that were appended; insertions share it among themselves.
_GAP = 1 << 40
#: The distance of new positions where neighbours have no room between them.
_ROOM = 1 << 20


class OpList:
    """A doubly linked list; each operator is in one list at most.

    Every operator also has a number, ``op.position``, that grows along the list: of two operators it tells which comes
    first. Iterating allows for operators to be inserted, and for the one at hand to be removed.
    """

    def __init__(self) -> None:
        self.first: Op | None = None
        self.last: Op | None = None
        self._size = 0

    def append(self, op: Op) -> None:
        """Puts an operator at the end."""
        op.previous, op.following = self.last, None
        op.position = _GAP if self.last is None else self.last.position + _GAP
        if self.last is None:
            self.first = op
        else:
            self.last.following = op
        self.last = op
        self._size += 1

    def insert_before(self, next_op: Op, op: Op) -> None:
        """Puts an operator before one that is in the list."""
        previous = next_op.previous
        low = next_op.position - _GAP if previous is None else previous.position
        if next_op.position - low < 2:
            self._make_room(next_op, low + _ROOM)
        # Nearer to the one before: rewrites insert one operator behind the other, before the same one.
        op.position = low + max(1, (next_op.position - low) >> 4)
        op.previous, op.following, next_op.previous = previous, next_op, op
        if previous is None:
            self.first = op
        else:
            previous.following = op
        self._size += 1

    def _make_room(self, op: Op | None, position: int) -> None:
        """Moves an operator's number up, and as many of those behind it as stand in the way."""
        while op is not None and op.position < position:
            op.position = position
            op, position = op.following, position + _ROOM

    def remove(self, op: Op) -> None:
        """Takes an operator out; it keeps its successor, for those who iterate."""
        if op.previous is None:
            self.first = op.following
        else:
            op.previous.following = op.following
        if op.following is None:
            self.last = op.previous
        else:
            op.following.previous = op.previous
        self._size -= 1

    def __iter__(self) -> Iterator[Op]:
        op = self.first
        while op is not None:
            yield op
            op = op.following

    def __reversed__(self) -> Iterator[Op]:
        op = self.last
        while op is not None:
            yield op
            op = op.previous

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Op: ...

    @overload
    def __getitem__(self, index: slice) -> list[Op]: ...

    def __getitem__(self, index: int | slice) -> Op | list[Op]:
        """Operators by position, counted from the nearer end: ``ops[-1]`` and ``ops[n:]`` cost their own length."""
        if isinstance(index, slice):
            start, stop, step = index.indices(self._size)
            if step == 1 and stop == self._size and 2 * start > self._size:
                behind = [op for op, _ in zip(reversed(self), range(self._size - start), strict=False)]
                return behind[::-1]
            return list(self)[index]
        at = index if index >= 0 else self._size + index
        if not 0 <= at < self._size:
            raise IndexError(f"operator {index} of {self._size}")
        from_end = 2 * at > self._size
        walk, steps = (reversed(self), self._size - 1 - at) if from_end else (iter(self), at)
        for _ in range(steps):
            next(walk)
        return next(walk)


def content(data: memoryview) -> bytes:
    """A key for comparing byte strings: the bytes, or their digest if they are long."""
    return bytes(data) if data.nbytes <= 64 else hashlib.sha256(data).digest()


class Changes:
    """The operators and tensors whose surroundings changed, while ``recording``; a rewrite engine looks there again."""

    def __init__(self) -> None:
        self.recording = False
        self._ops: dict[Op, None] = {}
        self._tensors: dict[Tensor, None] = {}

    def note(self, op: Op | None, *tensors: Tensor) -> None:
        """An operator, if any, and tensors have changed: operands, attributes, uses, or being in the graph."""
        if not self.recording:
            return
        if op is not None:
            self._ops[op] = None
        for tensor in tensors:
            self._tensors[tensor] = None

    def take(self) -> dict[Op, None]:
        """The operators that changed, or that make or read a changed tensor; forgets them.

        A constant counts for operators that began or ceased to read it alone. A shared constant decides nothing.
        """
        changed = self._ops
        for tensor in self._tensors:
            if tensor.producer is not None:
                changed[tensor.producer] = None
            if not tensor.is_constant:
                for op in tensor.uses.operators():
                    changed[op] = None
        self._ops, self._tensors = {}, {}
        return changed


class Graph:
    """One TOSA block: inputs, operators in data-flow order, outputs."""

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.ops = OpList()
        self.changes = Changes()
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
        tensor = self._constants.get(key)
        if tensor is None:
            tensor = self._constants[key] = Tensor(data.shape, dtype, data=data)
        return tensor

    def shape(self, values: Sequence[int]) -> Tensor:
        """A SHAPE constant, such as the second operand of RESHAPE."""
        return self.constant(np.asarray(values, dtype=np.int64).reshape(len(values)), DType.SHAPE)

    def append(
        self, name: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any] | None = None, origin: Origin | None = None
    ) -> Op:
        """Appends an operator; its results' shapes and types are inferred from the operator table."""
        op = self._make(name, inputs, attrs, origin)
        self.ops.append(op)
        return op

    def insert_before(
        self,
        next_op: Op,
        name: str,
        inputs: Sequence[Tensor],
        attrs: Mapping[str, Any] | None = None,
        origin: Origin | None = None,
    ) -> Op:
        """Like ``append``, before ``next_op``, whose origin it has if none is given."""
        op = self._make(name, inputs, attrs, origin or next_op.origin)
        self.ops.insert_before(next_op, op)
        return op

    def _make(self, name: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any] | None, origin: Origin | None) -> Op:
        op = Op(name, inputs, attrs or {}, origin)
        for shape, dtype in infer(op):
            tensor = Tensor(shape, dtype)
            tensor.producer = op
            op.outputs.append(tensor)
        for tensor in op.inputs:
            tensor.uses.add(op)
        self.changes.note(op, *op.inputs)
        return op

    def remove(self, op: Op) -> None:
        """Takes out an operator; its results must be of no use any more."""
        for tensor in op.inputs:
            tensor.uses.remove(op)
        self.ops.remove(op)
        self.changes.note(op, *op.inputs)

    def set_input(self, op: Op, position: int, tensor: Tensor) -> None:
        """Makes ``tensor`` the operand of ``op`` at ``position`` and keeps the use lists true."""
        old = op.inputs[position]
        old.uses.remove(op)
        op.inputs[position] = tensor
        tensor.uses.add(op)
        self.changes.note(op, old, tensor)

    def replace(self, old: Tensor, new: Tensor) -> None:
        """Makes every user of ``old``, graph outputs included, use ``new``."""
        if old is new:
            return
        for op in old.uses:
            for position, tensor in enumerate(op.inputs):
                if tensor is old:
                    op.inputs[position] = new
                    new.uses.add(op)
            self.changes.note(op)
        old.uses = Uses()
        if old in self.outputs:
            self.outputs = [new if tensor is old else tensor for tensor in self.outputs]
        self.changes.note(None, old, new)

    def is_read(self, op: Op) -> bool:
        """Whether an operator or an output of the graph has a result of this operator."""
        for tensor in op.outputs:  # noqa: SIM110  # a loop takes half the time of any(), and this is asked at each try
            if tensor.uses or tensor in self.outputs:
                return True
        return False

    def sweep(self, ops: Iterable[Op] | None = None) -> None:
        """Removes operators whose results are unused, and then those that made only their operands.

        Args:
            ops: candidates, None for all; operators that become useless by a removal are removed as well.
        """
        waiting = list(self.ops if ops is None else ops)  # the last one first
        removed: set[Op] = set()
        while waiting:
            op = waiting.pop()
            if op in removed or self.is_read(op):
                continue
            removed.add(op)
            self.remove(op)
            waiting += [tensor.producer for tensor in op.inputs if tensor.producer is not None]

    def constants(self) -> Iterator[Tensor]:
        """Every constant that an operator or an output uses, in order of first use."""
        seen: set[int] = set()
        tensors: Iterable[Tensor] = (t for op in self.ops for t in op.inputs)
        for tensor in [*tensors, *self.outputs]:
            if tensor.is_constant and id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor
