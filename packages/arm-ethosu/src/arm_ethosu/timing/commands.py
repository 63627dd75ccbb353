"""A command stream as the operations in it, each with the registers that it sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from arm_tosa_core.support.errors import UsageError

from ..command_stream import Bytes, commands
from . import registers as r

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


@dataclass(frozen=True, slots=True)
class Command:
    """An operation: a kernel, a transfer or a wait.

    Args:
        index: of its word among the words of the stream.
        number: of the operation, as in ``registers``.
        parameter: the operation's own: a mode, or for a wait how many operations may remain.
        registers: what has been set before it, by number. Those of two words have 48 bits, the upper 16 the parameter.
    """

    index: int
    number: int
    parameter: int
    registers: Mapping[int, int]

    @property
    def name(self) -> str:
        """The operation in capitals."""
        return _NAMES[self.number]

    def need(self, register: int) -> int:
        """A register.

        Raises:
            UsageError: nobody has set it.
        """
        try:
            return self.registers[register]
        except KeyError:
            raise UsageError(
                f"{self.name} at word {self.index} needs register {register:#x}, which is not set"
            ) from None

    def get(self, register: int, default: int = 0) -> int:
        """A register, or a value in its place where nobody has set it."""
        return self.registers.get(register, default)

    def size(self, register: int) -> int:
        """A register that holds a size less one."""
        return self.need(register) + 1


def decode(cmd_data: Bytes) -> list[Command]:
    """The operations of a stream in order; branches are passed over, as if they were not taken.

    Args:
        cmd_data: uint8, as Vela writes it, with the driver actions before the commands.

    Raises:
        UsageError: these are not commands.
    """
    try:
        return list(_operations(cmd_data))
    except ValueError as error:
        raise UsageError(f"the command stream {error}") from error


def _operations(cmd_data: Bytes) -> Iterator[Command]:
    registers: dict[int, int] = {}
    seen: Mapping[int, int] | None = None  # what is shared by operations between which nothing is set
    for index, number, value in commands(cmd_data):
        if number in _NAMES:
            if seen is None:
                seen = dict(registers)
            yield Command(index, number, value, seen)
        else:
            registers[number] = value
            seen = None
