"""What a plan is made of, stretches of constants that are fetched to SRAM in chunks, and all that it depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.footprints import constants
from ..command_stream.hardware import ALIGNMENT, aligned
from ..command_stream.operations import Operation
from .costs import Cost, Costs, Memories
from .lives import Lives, Range


@dataclass(frozen=True)
class Chunk:
    """A transfer of a fetch: behind which operation, and which bytes of the fetch."""

    behind: int
    first: int
    size: int


@dataclass(frozen=True)
class Fetch:
    """Constants that kernels read in SRAM.

    Args:
        source: the first byte in the constants' region.
        size: bytes.
        users: the operations that read them, in order.
        saved: cycles that the users take less.
        address: the first byte in SRAM.
        chunks: the transfers, in order.
    """

    source: int
    size: int
    users: tuple[int, ...]
    saved: float
    address: int = 0
    chunks: tuple[Chunk, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Fetches in the order of their first users."""

    fetches: tuple[Fetch, ...] = ()

    @property
    def saved(self) -> float:
        """Cycles by which the kernels take less; the same estimate as that of the costs."""
        return sum(fetch.saved for fetch in self.fetches)

    @property
    def bytes(self) -> int:
        """Bytes that are fetched."""
        return sum(fetch.size for fetch in self.fetches)


_GAPS = 64  # bytes between the streams of a kernel's constants that are copied with them
_MOST_FETCHES = 150  # that are considered, those that gain most: the search takes time by their square


@dataclass
class Step:
    """Kernels that run as one, with the operations between them and the step before, and Vela's transfers behind them.

    Args:
        operations: by their index; the last one is a kernel.
        cost: of the kernels together.
        transfers: cycles of the transfers that Vela starts behind them.
    """

    operations: range
    cost: Cost
    transfers: float = 0.0


@dataclass
class Problem:
    """All that a plan depends on.

    Args:
        limit: the size of the constants' region: a fetch is rounded up to whole units, but not beyond it.
    """

    operations: Sequence[Operation]
    costs: Costs
    lives: Lives
    memories: Memories
    family: Family
    limit: int
    steps: list[Step] = field(init=False)
    step_of: dict[int, int] = field(init=False)
    _unused: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = list(self._steps())
        self.step_of = {i: n for n, step in enumerate(self.steps) for i in step.operations}
        self._unused = [step.cost.cycles - step.cost.constants - step.cost.maps - step.transfers for step in self.steps]

    def _steps(self) -> Iterator[Step]:
        """The kernels, with Vela's own transfers behind each; those before the first kernel count for nothing."""
        last: Step | None = None
        first, together = 0, [0.0, 0.0, 0.0, 0.0]
        for i, op in enumerate(self.operations):
            if op.is_transfer and last is not None:
                last.transfers += self.duration(op.address(r.DMA0_LEN))
            if not op.is_kernel:
                continue
            cost = self.costs[i]
            figures = (cost.cycles, cost.fetched, cost.constants, cost.maps)
            together = [a + b for a, b in zip(together, figures, strict=True)]
            if op.goes_on(self.family == "u85"):
                continue
            if last is not None:
                yield last
            last = Step(range(first, i + 1), Cost(*together))
            first, together = i + 1, [0.0, 0.0, 0.0, 0.0]
        if last is not None:
            yield last

    def duration(self, size: int) -> float:
        """Cycles of a transfer."""
        return self.memories.latency + size / self.memories.speed

    def idle(self, fetches: Iterable[Fetch]) -> list[float]:
        """Cycles behind each step in which the constants' memory has nothing to do, but for what is fetched."""
        idle = self._unused.copy()
        for fetch in fetches:
            for i in fetch.users:
                cost = self.costs[i]
                idle[self.step_of[i]] += cost.constants - (cost.cycles - cost.fetched)
        return idle

    def candidates(self) -> list[Fetch]:
        """All that might be fetched, those that gain most first."""
        users: dict[Range, list[int]] = {}
        for i, op in enumerate(self.operations):
            if op.is_kernel and (source := self._source(op)) is not None:
                users.setdefault(source, []).append(i)
        fetches = []
        for (first, end), readers in users.items():
            saved = sum(self.costs[i].cycles - self.costs[i].fetched for i in readers)
            if saved > 0:
                fetches.append(Fetch(first, end - first, tuple(readers), saved))
        return sorted(fetches, key=lambda fetch: (-fetch.saved, fetch.source))[:_MOST_FETCHES]

    def _source(self, op: Operation) -> Range | None:
        """The stretch of the constants' region with all the constants of a kernel, if they lie close to each other."""
        reads = constants(op, self.family)
        if not reads or any(op.get(region) != r.CONSTANTS for region, *_ in reads):
            return None
        first = min(at for *_, at, _ in reads) // ALIGNMENT * ALIGNMENT
        end = aligned(max(at + size for *_, at, size in reads))
        gaps = end - first - sum(size for *_, size in reads)
        return (first, end) if gaps <= _GAPS * len(reads) and end <= self.limit else None
