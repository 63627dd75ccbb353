"""The operators of a graph in data-flow order: a list that takes an operator in or out anywhere in constant time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import overload

from .ir import Op

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
