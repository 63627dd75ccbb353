"""What runs beside what: the queues of the accelerator, its waits, and memories that several operations share.

The rules, and where they are from:

- Commands are taken in order and take no time. A kernel or a transfer goes into its queue, of 2 kernels and of 1, 2 or
  4 transfers; where that is full, the commands behind it wait (Vela: ``max_outstanding_kernels``,
  ``max_outstanding_dma``).
- KERNEL_WAIT n and DMA_WAIT n hold the commands behind them until at most n are unfinished (Vela: ``ethos_u55_regs``).
- Kernels begin in order. With BLOCKDEP 0 one begins when the one before has ended, with BLOCKDEP n when at most n of
  its blocks are unfinished (Vela: ``calc_blockdep``). The MAC array does one kernel at a time, and kernels end in
  order.
- Transfers run one after the other; the latency of the memory is paid for each.
- Operations that ask more of a memory than it has share it: each gets the same part of what it would take alone. Arm
  publishes nothing of priorities; this is an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from .cost import KernelCost, TransferCost
from .system import Memory

_SMALL = 1e-9  # cycles; less is nothing


@dataclass(frozen=True, slots=True)
class KernelStart:
    """A kernel, or a chain of them."""

    cost: KernelCost
    blockdep: int
    uses_macs: bool


@dataclass(frozen=True, slots=True)
class TransferStart:
    """A DMA transfer."""

    cost: TransferCost


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait until at most ``remaining`` kernels or transfers are unfinished."""

    for_kernels: bool
    remaining: int


Step = KernelStart | TransferStart | Wait


class _Phase(IntEnum):
    QUEUED = 0
    BEFORE = 1  # the first part of the input is read; the latency of a transfer
    READY = 2
    MAIN = 3
    SUMMED = 4  # the last block waits for the other stage
    AFTER = 5  # it goes through that stage
    DONE = 6


class Running:
    """An operation, from its start command on; times are cycles, -1 where they are not known yet.

    Args:
        number: of its step.
        issued: when its command was taken.
        begin: of its first phase.
        main, main_end: of its blocks or bytes.
        end: of all.
    """

    __slots__ = ("after", "before", "begin", "blockdep", "blocks", "end", "issued", "left", "loads", "main", "main_end",
                 "moves_before", "natural", "number", "phase", "uses_macs")  # fmt: skip

    def __init__(self, number: int, step: KernelStart | TransferStart, now: float) -> None:
        self.number, self.issued = number, now
        self.begin = self.main = self.main_end = self.end = -1.0
        self.phase, self.left = _Phase.QUEUED, 0.0
        self.blockdep, self.blocks, self.uses_macs = 0, 1.0, False
        if isinstance(step, KernelStart):
            cost = step.cost
            self.before, self.after, self.natural = cost.fill, cost.drain, cost.alone - cost.fill - cost.drain
            self.blockdep, self.blocks, self.uses_macs = step.blockdep, cost.blocks, step.uses_macs
            moving = cost.alone
        else:
            self.before, self.after, self.natural = step.cost.latency, 0.0, step.cost.main
            moving = step.cost.main
        self.loads = [(load.memory, load.bytes / moving) for load in step.cost.loads] if moving > _SMALL else []
        self.moves_before = isinstance(step, KernelStart)

    @property
    def runs(self) -> bool:
        """Whether it is in a phase that ends by itself."""
        return self.phase in (_Phase.BEFORE, _Phase.MAIN, _Phase.AFTER)

    @property
    def moves(self) -> bool:
        """Whether it uses memories: a kernel from its begin to its end, a transfer after its latency."""
        return self.phase is _Phase.MAIN or (self.runs and self.moves_before)

    def enter(self, phase: _Phase, now: float) -> None:
        """Begins a phase; those that take no time are passed at once."""
        self.phase = phase
        if phase is _Phase.BEFORE:
            self.begin, self.left = now, self.before
        elif phase is _Phase.MAIN:
            self.main, self.left = now, self.natural
        elif phase is _Phase.SUMMED:
            self.main_end = now
        elif phase is _Phase.AFTER:
            self.left = self.after
        elif phase is _Phase.DONE:
            self.end = now
        if phase in (_Phase.BEFORE, _Phase.MAIN, _Phase.AFTER) and self.left <= _SMALL:
            self.enter(_Phase(phase + 1), now)


class Overlap:
    """Runs steps; ``run`` returns the operations that they started, in order.

    Args:
        steps: of the stream.
        kernels, transfers: how many of each may be unfinished.
    """

    def __init__(self, steps: Sequence[Step], kernels: int, transfers: int) -> None:
        self.steps, self.kernel_limit, self.transfer_limit = steps, kernels, transfers
        self.now, self.next = 0.0, 0
        self.kernels: list[Running] = []  # unfinished, oldest first
        self.transfers: list[Running] = []
        self.all: list[Running] = []

    def run(self) -> list[Running]:
        """The operations with their times."""
        while True:
            while self._issue() | self._begin():
                pass
            active = [*self.kernels, *self.transfers]
            if not active:
                return self.all
            self._advance(active)

    def _issue(self) -> bool:
        """Takes commands as far as queues and waits let it; whether it took one."""
        first = self.next
        while self.next < len(self.steps) and self._may_issue(step := self.steps[self.next]):
            if not isinstance(step, Wait):
                started = Running(self.next, step, self.now)
                (self.kernels if isinstance(step, KernelStart) else self.transfers).append(started)
                self.all.append(started)
            self.next += 1
        return self.next > first

    def _may_issue(self, step: Step) -> bool:
        if isinstance(step, Wait):
            return len(self.kernels if step.for_kernels else self.transfers) <= step.remaining
        if isinstance(step, KernelStart):
            return len(self.kernels) < self.kernel_limit
        return len(self.transfers) < self.transfer_limit

    def _begin(self) -> bool:
        """Begins phases whose conditions are met, and drops what is done; whether anything changed."""
        changed = False
        for before, kernel in zip([None, *self.kernels], self.kernels, strict=False):
            if kernel.phase is _Phase.QUEUED and self._may_begin(before, kernel):
                kernel.enter(_Phase.BEFORE, self.now)
                changed = True
            if kernel.phase is _Phase.READY and self._may_work(before, kernel):
                kernel.enter(_Phase.MAIN, self.now)
                changed = True
            if kernel.phase is _Phase.SUMMED and _is_done(before):
                kernel.enter(_Phase.AFTER, self.now)
                changed = True
        if self.transfers and self.transfers[0].phase in (_Phase.QUEUED, _Phase.READY, _Phase.SUMMED):
            self.transfers[0].enter(_Phase(self.transfers[0].phase + 1), self.now)
            changed = True
        for queue in (self.kernels, self.transfers):
            while queue and queue[0].phase is _Phase.DONE:
                queue.pop(0)
                changed = True
        return changed

    def _may_begin(self, before: Running | None, kernel: Running) -> bool:
        if before is None or _is_done(before):
            return True
        if kernel.blockdep == 0:
            return False
        return before.phase in (_Phase.SUMMED, _Phase.AFTER) or (
            before.phase is _Phase.MAIN and before.left <= _threshold(before, kernel) + _SMALL
        )

    def _may_work(self, before: Running | None, kernel: Running) -> bool:
        """One kernel at a time in the MAC array, and in the output stage where that works alone."""
        if before is None or _is_done(before):
            return True
        return kernel.uses_macs and before.phase in (_Phase.SUMMED, _Phase.AFTER)

    def _advance(self, active: Sequence[Running]) -> None:
        """To the next event."""
        speeds = _speeds([operation for operation in active if operation.moves])
        step = min(self._events(active, speeds))
        self.now += step
        for operation in active:
            if operation.runs:
                operation.left -= step * speeds.get(operation.number, 1.0)
                if operation.left <= _SMALL:
                    operation.enter(_Phase(operation.phase + 1), self.now)

    def _events(self, active: Sequence[Running], speeds: dict[int, float]) -> Iterator[float]:
        """Cycles until each thing that may change what is possible."""
        for operation in active:
            if operation.runs:
                yield operation.left / speeds.get(operation.number, 1.0)
        for before, kernel in zip(self.kernels, self.kernels[1:], strict=False):
            if kernel.phase is _Phase.QUEUED and kernel.blockdep and before.phase is _Phase.MAIN:
                yield max(_SMALL, before.left - _threshold(before, kernel)) / speeds.get(before.number, 1.0)


def _is_done(kernel: Running | None) -> bool:
    return kernel is None or kernel.phase is _Phase.DONE


def _threshold(before: Running, kernel: Running) -> float:
    """How much of the main phase of the kernel before may be left: one more block is unfinished after it."""
    return before.natural * min(1.0, (kernel.blockdep - 1) / before.blocks)


def _speeds(active: Sequence[Running]) -> dict[int, float]:
    """By number: what part of its full speed each operation has, where all that share a memory lose alike."""
    speeds: dict[int, float] = {}
    waiting = list(active)
    while waiting:
        part, memory = min(
            ((_part(memory, active, waiting, speeds), memory) for memory in _memories(waiting)),
            key=lambda found: found[0],
            default=(1.0, None),
        )
        full = part >= 1.0 - _SMALL or memory is None
        fixed = waiting if full else [o for o in waiting if any(m is memory or m == memory for m, _ in o.loads)]
        speeds.update((operation.number, 1.0 if full else part) for operation in fixed)
        waiting = [operation for operation in waiting if operation.number not in speeds]
    return speeds


def _memories(operations: Sequence[Running]) -> list[Memory]:
    return list(dict.fromkeys(memory for operation in operations for memory, _ in operation.loads))


def _part(memory: Memory, active: Sequence[Running], waiting: Sequence[Running], speeds: dict[int, float]) -> float:
    """What part of their demand on a memory those get whose speed is not known yet."""
    used = sum(
        rate * speeds[o.number] for o in active if o.number in speeds for other, rate in o.loads if other == memory
    )
    wanted = sum(rate for o in waiting for other, rate in o.loads if other == memory)
    return max(_SMALL, memory.bandwidth - used) / wanted if wanted else 1.0
