"""What an estimate says: which unit does what when, and how the time falls to operators."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    """A part of the accelerator that works beside the others."""

    MAC = "NPU MAC"
    OUTPUT = "NPU output stage"
    DMA = "DMA"


@dataclass(frozen=True, slots=True)
class Span:
    """One operation in one unit.

    Args:
        begin, end: cycles from the start of the stream.
        command: index of the operation's word in the stream.
        operator: number of the operator it belongs to; None: not known.
    """

    unit: Unit
    begin: float
    end: float
    command: int
    name: str
    operator: int | None


@dataclass(frozen=True, slots=True)
class KernelTime:
    """When a kernel ran.

    Args:
        command: index of its word in the stream; of a chain, of the last one's.
        begin, end: cycles from the start of the stream.
        cycles: from the end of the kernel before to its own end: they add up to the whole.
        waited: of them, those in which a DMA_WAIT or a full queue of transfers kept it from beginning.
        alone: cycles that it takes with the memories to itself.
        bound: what decides them: ``mac``, ``output``, ``issue`` or a memory.
        operator: number of the operator it belongs to; None: not known.
    """

    command: int
    begin: float
    end: float
    cycles: float
    waited: float
    alone: float
    bound: str
    operator: int | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The estimate of a stream. It is no measurement: it follows from published figures of throughput.

    Args:
        cycles: of the accelerator, from the first command until all is done.
        clock: of the accelerator, Hz.
        spans: what each unit does, by begin.
        kernels: when each kernel runs, in order.
    """

    cycles: float
    clock: float
    spans: tuple[Span, ...]
    kernels: tuple[KernelTime, ...]
