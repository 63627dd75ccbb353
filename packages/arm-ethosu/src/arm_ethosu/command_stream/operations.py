"""A command stream as the operations that it starts and waits for, each with the registers that it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arm_tosa_core.support.errors import UsageError

from . import registers as r
from .container import Bytes, commands_of
from .words import walk

_ADDRESS = (1 << 40) - 1
_NAMES = {
    r.CONV: "CONV",
    r.DEPTHWISE: "DEPTHWISE",
    r.POOL: "POOL",
    r.ELEMENTWISE: "ELEMENTWISE",
    r.RESIZE: "RESIZE",
    r.DMA_START: "DMA",
    r.DMA_WAIT: "DMA_WAIT",
    r.KERNEL_WAIT: "KERNEL_WAIT",
}


class UnreadableStream(UsageError):
    """A command stream of which it is not known what it reads and writes; the text says why."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One command that does something.

    Args:
        at: the word of the stream at which it is.
        code: its number.
        parameter: the upper half of its word: a mode, or for a wait how many operations may remain.
        registers: values by number, as the commands before it left them; 48 bits of those that take two words.
    """

    at: int
    code: int
    parameter: int
    registers: Mapping[int, int]

    @property
    def name(self) -> str:
        """The operation in capitals."""
        return _NAMES.get(self.code, f"command {self.code:#x}")

    @property
    def is_kernel(self) -> bool:
        """Whether it works on feature maps."""
        return self.code in r.KERNELS

    @property
    def is_transfer(self) -> bool:
        """Whether it starts a DMA."""
        return self.code == r.DMA_START

    def get(self, register: int, default: int | None = None) -> int:
        """The value of a register, or the default where nobody set it.

        Raises:
            UnreadableStream: nobody set it, and there is no default.
        """
        value = self.registers.get(register, default)
        if value is None:
            number = f"{register & 0x3FF:#x}"
            raise UnreadableStream(f"{self.name} at word {self.at} needs register {number}, which was never set")
        return value

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
        return u85 and self.is_kernel and (self.keeps_sums or self.get(r.OFM_PRECISION) >> 14 == r.CHAINED)

    @property
    def keeps_sums(self) -> bool:
        """Of a kernel on Ethos-U85: whether its accumulators stay where they are, for the next kernel."""
        return self.code in (r.CONV, r.DEPTHWISE, r.POOL) and bool(self.get(r.ACC_FORMAT) >> 6 & 1)


def decode(cmd_data: Bytes) -> list[Operation]:
    """Kernels, transfers and waits of a stream in order; branches are passed over, as if they were not taken.

    Args:
        cmd_data: uint8, as Vela writes it, with the driver actions before the commands.

    Raises:
        UsageError: these are not commands.
    """
    try:
        return [op for op in operations_and_branches(commands_of(cmd_data)) if op.code in _NAMES]
    except ValueError as error:
        raise UsageError(f"the command stream {error}") from error


def operations_of(words: Sequence[int]) -> list[Operation]:
    """The operations of a command stream, in order, waits and the end among them.

    Raises:
        UnreadableStream: it branches, so that its order is not that of its words.
        ValueError: it ends inside a command.
    """
    found = list(operations_and_branches(words))
    if any(op.code == r.BRANCH for op in found):
        raise UnreadableStream("it branches")
    return found


def operations_and_branches(words: Sequence[int]) -> Iterator[Operation]:
    """The operations as ``operations_of``, and each BRANCH as one; all in the order of their words.

    Raises:
        ValueError: the stream ends inside a command.
    """
    state: dict[int, int] = {}
    seen: Mapping[int, int] | None = None  # what is shared by operations between which nothing is set
    for at, number, value in walk(words):
        if number < r.FIRST_REGISTER or number == r.BRANCH:
            seen = dict(state) if seen is None else seen
            yield Operation(at, number, words[at] >> 16, seen)
        else:
            state[number] = value
            seen = None
