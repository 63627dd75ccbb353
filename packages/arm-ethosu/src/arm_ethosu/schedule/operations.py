"""A command stream as the operations that it starts and waits for, each with the registers that it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..command_stream import BRANCH, LONG, walk
from . import registers as r

_ADDRESS = (1 << 40) - 1
_CHAINED = 2  # of the storage of a result: a buffer on chip, from which the next kernel goes on


class Unschedulable(Exception):
    """A command stream of which it is not known what it reads and writes; the text says why."""


@dataclass(frozen=True)
class Operation:
    """One command that does something.

    Args:
        at: the word of the stream at which it is.
        code: its number.
        parameter: the upper half of its word.
        registers: values by number, as the commands before it left them; 48 bits of those that take two words.
    """

    at: int
    code: int
    parameter: int
    registers: Mapping[int, int]

    @property
    def is_kernel(self) -> bool:
        """Whether it works on feature maps."""
        return self.code in r.KERNELS

    @property
    def is_transfer(self) -> bool:
        """Whether it starts a DMA."""
        return self.code == r.DMA_START

    def get(self, register: int) -> int:
        """The value of a register.

        Raises:
            Unschedulable: nobody set it.
        """
        if register not in self.registers:
            raise Unschedulable(f"register {register & 0x3FF:#x} was never set before word {self.at}")
        return self.registers[register]

    def size(self, register: int) -> int:
        """The size that a register named ``..._M1`` means."""
        return self.get(register) + 1

    def address(self, register: int) -> int:
        """An address or a length in bytes: 40 bits."""
        return self.get(register) & _ADDRESS

    def stride(self, register: int) -> int:
        """A distance in bytes, which may be negative."""
        value = self.get(register) & 0xFFFFFFFF
        return value - (1 << 32) if value >> 31 else value

    def goes_on(self, u85: bool) -> bool:
        """Whether the next kernel is one with it: Ethos-U85 keeps its result, or its accumulators, on chip."""
        if not u85 or not self.is_kernel:
            return False
        keeps = self.code in (r.CONV, r.DEPTHWISE, r.POOL) and self.get(r.ACC_FORMAT) >> 6 & 1
        return bool(keeps) or self.get(r.OFM_PRECISION) >> 14 == _CHAINED


def operations_of(words: Sequence[int]) -> list[Operation]:
    """The operations of a command stream, in order, waits and the end among them.

    Raises:
        Unschedulable: it branches, so that its order is not that of its words.
        ValueError: it ends inside a command.
    """
    found = list(operations_and_branches(words))
    if any(op.code == BRANCH for op in found):
        raise Unschedulable("it branches")
    return found


def operations_and_branches(words: Sequence[int]) -> Iterator[Operation]:
    """The operations as ``operations_of``, and each BRANCH as one; all in the order of their words.

    Raises:
        ValueError: the stream ends inside a command.
    """
    state: dict[int, int] = {}
    for at, word, value in walk(list(words)):
        number = word & (LONG | 0x3FF)
        if number < r.FIRST_REGISTER or number == BRANCH:
            yield Operation(at, number, word >> 16, dict(state))
        else:
            state[number] = value
