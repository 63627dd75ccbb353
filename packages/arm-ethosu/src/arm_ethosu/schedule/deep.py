"""Deep prefetch of constants: from what Vela wrote to the same program with another command stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from ..accelerators import Family
from ..command_stream.container import commands_of, with_commands
from ..command_stream.footprints import Footprint, footprint
from ..command_stream.hardware import aligned
from ..command_stream.operations import Operation, UnreadableStream, operations_of
from ..vela import Arrays
from .costs import Costs, Memories
from .emission import emitted
from .lives import Lives, Range
from .plan import plan
from .problem import Plan, Problem
from .verification import verify

#: The costs of operations where memories are so.
CostsOf = Callable[[Sequence[Operation], Memories], Costs]


class NothingToPrefetchWarning(UserWarning):
    """A schedule was asked for that changes nothing; the text says why."""


@dataclass(frozen=True)
class Outcome:
    """What a schedule did.

    Args:
        cycles: Vela's estimate of all kernels together, without the plan; 0 where nothing was planned.
        reason: why nothing is prefetched; empty where something is.
        waits: whether kernels wait for constants, be they prefetched or not.
    """

    plan: Plan = field(default_factory=Plan)
    cycles: float = 0.0
    reason: str = ""
    waits: bool = False

    def to_json(self) -> str:
        """The plan and its estimate, for people and tools; cycles are estimates, addresses bytes of SRAM."""
        known = {"estimate_cycles": self.cycles, "estimate_saved_cycles": self.plan.saved, "reason": self.reason}
        return json.dumps({**known, "fetches": [asdict(fetch) for fetch in self.plan.fetches]}, indent=1) + "\n"


def prefetched(arrays: Arrays, memories: Memories | None, family: Family, costs_of: CostsOf) -> tuple[Arrays, Outcome]:
    """The program with constants prefetched as early as pays; the same arrays where nothing is to be gained.

    Args:
        memories: what is where; None: constants are in SRAM.
        costs_of: the time of each operation that is a kernel, by its index.

    Raises:
        ValueError: the commands are not as Vela writes them, or ``costs_of`` raises it.
        Unproved: the new stream could not be shown to do what the old one does, which is a fault of this package.
    """
    if memories is None:
        return arrays, Outcome(reason="constants are in SRAM already, or vela.ini does not say which memory has them")
    words = commands_of(arrays["cmd_data"])
    try:
        operations = operations_of(words)
        footprints = [footprint(operation, family) for operation in operations]
        size = _sram(arrays, footprints, memories)
        lives = Lives(footprints, memories.region, size, _results(arrays) if memories.sram_is_scratch else ())
    except UnreadableStream as error:
        return arrays, Outcome(reason=f"its command stream is not understood: {error}")
    costs = costs_of(operations, memories)
    problem = Problem(operations, costs, lives, memories, family, arrays["weight_data"].size)
    best = plan(problem)
    cycles = sum(cost.cycles for cost in costs.values())
    if not best.fetches:
        return arrays, Outcome(best, cycles, _why(problem, memories), bool(problem.candidates()))
    new = emitted(words, operations, best, family, memories.region)
    verify(operations, operations_of(new), family, memories.region, size)
    return {**arrays, "cmd_data": with_commands(arrays["cmd_data"], new)}, Outcome(best, cycles, waits=True)


def _sram(arrays: Arrays, footprints: Sequence[Footprint], memories: Memories) -> int:
    """The bytes of SRAM that the program has anyway."""
    if memories.sram_is_scratch:
        return int(arrays["scratch_size"].item())
    parts = (part for each in footprints for part in (*each.read, *each.written))
    return aligned(max((part.bounds[1] for part in parts if part.region == memories.region), default=0))


def _results(arrays: Arrays) -> Iterable[Range]:
    """Where the results are, which the driver reads after the last command."""
    for shape, element, offset in zip(
        arrays["output_shape"], arrays["output_elem_size"], arrays["output_offset"], strict=True
    ):
        yield int(offset), int(offset) + int(np.prod(shape)) * int(element)


def _why(problem: Problem, memories: Memories) -> str:
    if not problem.candidates():
        return f"no kernel waits for constants in {memories.constants}, by Vela's estimate"
    return f"no free SRAM, or no idle time of {memories.constants}, before the kernels that wait for constants"
