"""The command stream of a plan: Vela's, with transfers and waits between, and kernels that read constants in SRAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.footprints import constants
from ..command_stream.hardware import TRANSFERS_IN_FLIGHT
from ..command_stream.operations import Operation
from ..command_stream.words import command, length, walk
from .problem import Chunk, Fetch, Plan


def emitted(
    words: Sequence[int], operations: Sequence[Operation], plan: Plan, family: Family, region: int
) -> list[int]:
    """The words of the new stream.

    Vela's commands stay as they are and in their order, but for those that set registers of transfers and constants:
    they come when an operation first needs another value than there is, as Vela emits changes only.

    Args:
        region: that in SRAM.
    """
    return _Emission(operations, plan, family, region).stream(words)


class _Emission:
    def __init__(self, operations: Sequence[Operation], plan: Plan, family: Family, region: int) -> None:
        self.at = {op.at: i for i, op in enumerate(operations)}
        self.operations, self.family, self.region = operations, family, region
        self.fetch_of = {i: fetch for fetch in plan.fetches for i in fetch.users}
        self.waits = self._waits()
        self.behind: dict[int, list[tuple[Fetch, Chunk]]] = {}
        for fetch in plan.fetches:
            for chunk in fetch.chunks:
                self.behind.setdefault(chunk.behind, []).append((fetch, chunk))
        self.constants = [
            name
            for region, pairs in ((r.WEIGHT_REGION, r.WEIGHTS[family]), (r.SCALE_REGION, r.SCALES[family]))
            for name in (region, *(each for pair in pairs for each in pair))
        ]
        self.late = {*r.TRANSFER, *self.constants}
        self.out: list[int] = []
        self.now: dict[int, int] = {}
        self.unfinished: list[Fetch | None] = []  # transfers since the last wait for all; None: one of Vela's

    def _waits(self) -> dict[int, list[Fetch]]:
        """What is waited for before each kernel; before the first of those that run as one, for all of them."""
        waits: dict[int, list[Fetch]] = {}
        head, goes_on = 0, False
        for i, op in enumerate(self.operations):
            if not op.is_kernel:
                continue
            head = head if goes_on else i
            goes_on = op.goes_on(self.family == "u85")
            if (fetch := self.fetch_of.get(i)) is not None:
                waits.setdefault(head, []).append(fetch)
        return waits

    def stream(self, words: Sequence[int]) -> list[int]:
        for at, number, _ in walk(words):
            if number in self.late:
                continue
            if at in self.at:
                self._operation(self.at[at], words[at])
            else:
                self.out += words[at : at + length(number)]
        return self.out

    def _operation(self, i: int, word: int) -> None:
        op = self.operations[i]
        if op.is_transfer:
            self._start({name: op.registers[name] for name in r.TRANSFER if name in op.registers}, None, word)
        elif op.is_kernel:
            for fetch in self.waits.get(i, ()):
                self._wait(fetch)
            self._set(self._kernel(op, self.fetch_of.get(i)))
            self.out.append(word)
        else:
            if op.code == r.DMA_WAIT:
                self._finished(op.parameter)
            self.out.append(word)
        for fetch, chunk in self.behind.get(i, ()):
            source, target = fetch.source + chunk.first, fetch.address + chunk.first
            values = dict(zip(r.TRANSFER, (r.CONSTANTS, source, self.region, target, chunk.size), strict=True))
            self._start(values, fetch, r.DMA_START)

    def _kernel(self, op: Operation, fetch: Fetch | None) -> dict[int, int]:
        """The registers of constants that a kernel finds."""
        values = {name: op.registers[name] for name in self.constants if name in op.registers}
        if fetch is not None:
            for region, base, first, _ in constants(op, self.family):
                values[region] = self.region
                values[base] = first - fetch.source + fetch.address
        return values

    def _set(self, values: Mapping[int, int]) -> None:
        for name, value in values.items():
            if self.now.get(name) != value:
                self.now[name] = value
                self.out += command(name, value)

    def _start(self, values: Mapping[int, int], fetch: Fetch | None, word: int) -> None:
        self._set(values)
        self.out.append(word)
        self.unfinished.append(fetch)

    def _wait(self, fetch: Fetch) -> None:
        """Waits for the last transfer of a fetch, unless that was waited for; later ones may go on."""
        if fetch not in self.unfinished:
            return
        after = min(self.unfinished[::-1].index(fetch), TRANSFERS_IN_FLIGHT[self.family] - 1)
        self.out.append(r.DMA_WAIT | after << 16)
        self._finished(after)

    def _finished(self, left: int) -> None:
        """A wait until ``left`` transfers at most go on."""
        self.unfinished = self.unfinished[-left:] if left else []
