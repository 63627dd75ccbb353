"""``estimate_stream``: how long a command stream takes, by an estimate that follows the stream itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..accelerators import family_of
from ..command_stream import registers as r
from ..command_stream.container import Bytes
from ..command_stream.hardware import KERNELS_IN_FLIGHT, TRANSFERS_IN_FLIGHT
from ..command_stream.operations import Operation, decode
from .constants import FACTS
from .cost import kernel_cost, transfer_cost
from .kernel import Kernel, read_kernel
from .overlap import KernelStart, Overlap, Running, Step, TransferStart, Wait
from .system import System
from .timeline import KernelTime, Span, Timeline, Unit


def estimate_stream(
    cmd_data: Bytes, accelerator: str, system: System, operators: Sequence[int | None] = ()
) -> Timeline:
    """The estimate of a command stream, with what overlaps.

    Args:
        cmd_data: uint8, as Vela writes it, or rewritten.
        accelerator: such as ``"ethos-u55-128"``.
        system: clock and memories; see ``system_of``.
        operators: for each kernel command in order, the number of the operator that it belongs to.

    Raises:
        UsageError: there is no such accelerator, or the stream is not one, or lacks a register.
    """
    reader = _Reader(accelerator, system, operators)
    reader.read(decode(cmd_data))
    operations = Overlap(reader.steps, KERNELS_IN_FLIGHT, TRANSFERS_IN_FLIGHT[reader.family]).run()
    return reader.timeline(operations)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a step comes from."""

    command: Operation
    name: str
    operator: int | None


class _Reader:
    """Makes steps of commands, and a timeline of what became of them."""

    def __init__(self, accelerator: str, system: System, operators: Sequence[int | None]) -> None:
        self.family = family_of(accelerator)
        self.u85 = self.family == "u85"
        self.facts, self.system, self.operators = FACTS[accelerator], system, operators
        self.steps: list[Step] = []
        self.sources: list[_Source] = []
        self.chain: list[Kernel] = []
        self.kernels = 0

    def read(self, commands: Sequence[Operation]) -> None:
        for command in commands:
            if command.is_kernel:
                self._kernel(command)
            elif command.is_transfer:
                cost = transfer_cost(command, self.facts, self.system, self.u85)
                self._add(TransferStart(cost), command, f"DMA of {cost.bytes} bytes", self._operator(self.kernels))
            else:
                wait = Wait(command.code == r.KERNEL_WAIT, command.parameter & 15)
                self._add(wait, command, command.name, None)

    def _kernel(self, command: Operation) -> None:
        kernel = read_kernel(command, self.facts, self.family)
        self.chain.append(kernel)
        self.kernels += 1
        if self.u85 and kernel.ofm.region is None:
            return  # its result stays on chip, for the next one
        first, operator = self.chain[0], self._operator(self.kernels - len(self.chain))
        cost = kernel_cost(self.chain, self.facts, self.system, self.u85)
        self._add(KernelStart(cost, first.blockdep, first.kind.uses_macs), command, _text(first, command), operator)
        self.chain = []

    def _operator(self, kernel: int) -> int | None:
        return self.operators[kernel] if kernel < len(self.operators) else None

    def _add(self, step: Step, command: Operation, name: str, operator: int | None) -> None:
        self.steps.append(step)
        self.sources.append(_Source(command, name, operator))

    def timeline(self, operations: Sequence[Running]) -> Timeline:
        """What the operations say, with where they come from."""
        spans, kernels, end = [], [], 0.0
        for operation in operations:
            step, source = self.steps[operation.number], self.sources[operation.number]
            spans += _spans(operation, step, source)
            if isinstance(step, KernelStart):
                cost, begin = step.cost, operation.begin
                waited = max(0.0, operation.issued - end)
                kernels.append(
                    KernelTime(
                        source.command.at,
                        begin,
                        operation.end,
                        operation.end - end,
                        waited,
                        cost.alone,
                        cost.bound,
                        source.operator,
                    )
                )
                end = operation.end
        last = max((operation.end for operation in operations), default=0.0)
        ordered = sorted(spans, key=lambda span: (span.begin, span.command))
        return Timeline(last, self.system.clock, tuple(ordered), tuple(kernels))


def _spans(operation: Running, step: Step, source: _Source) -> list[Span]:
    index, name, operator = source.command.at, source.name, source.operator
    if not isinstance(step, KernelStart):
        return [Span(Unit.DMA, operation.begin, operation.end, index, name, operator)]
    if not step.uses_macs:
        return [Span(Unit.OUTPUT, operation.main, operation.end, index, name, operator)]
    blocks = max(1.0, step.cost.blocks)
    first_block = min(step.cost.mac, operation.main_end - operation.main) / blocks
    return [
        Span(Unit.MAC, operation.main, operation.main_end, index, name, operator),
        Span(Unit.OUTPUT, operation.main + first_block, operation.end, index, name, operator),
    ]


def _text(kernel: Kernel, command: Operation) -> str:
    size = "x".join(str(n) for n in kernel.ofm.size)
    window = "" if kernel.taps == (1, 1) else f" {kernel.taps[0]}x{kernel.taps[1]}"
    return f"{command.name}{window} to {size}"
