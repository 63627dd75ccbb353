"""The estimate of a target's timing model for a payload: never a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class OperatorTime:
    """The time of an operator.

    Args:
        name: its name in the target's compiler.
        source: the user's source line, if known.
        cycles: estimated; overlapping work counts once, so that those of all operators add up to the whole.
        bound: the unit or memory that decides the cycles; empty if nothing runs.
        compiler_cycles: the estimate of the target's compiler; None: it has none.
        tensor: the result of the TOSA operator that it comes from, by its name in the flatbuffer; empty: not known.
    """

    name: str
    source: str
    cycles: float
    bound: str = ""
    compiler_cycles: float | None = None
    tensor: str = ""


@dataclass(frozen=True)
class UnitSpan:
    """A span of a unit's work: begin and end in cycles from the start, and its operator.

    Args:
        unit: the row of a trace.
        operator: number of the operator in ``TimeEstimate.operators``; None: not known.
    """

    unit: str
    begin: float
    end: float
    name: str
    operator: int | None = None


@dataclass(frozen=True)
class TimeEstimate:
    """The time of a payload, as a timing model estimates it.

    Args:
        cycles: of the device, from begin to end.
        clock: of the device, Hz.
        system: name of the assumed clock and memories, as users know it.
        operators: in order.
        spans: the work of each unit.
        compiler: the tool whose figures are ``compiler_cycles``.
        compiler_cycles: that tool's estimate of the whole; None: it has not been asked.
    """

    cycles: float
    clock: float
    system: str
    operators: Sequence[OperatorTime] = field(default_factory=tuple)
    spans: Sequence[UnitSpan] = field(default_factory=tuple)
    compiler: str = ""
    compiler_cycles: float | None = None

    @property
    def seconds(self) -> float:
        """The cycles as time."""
        return self.cycles / self.clock
