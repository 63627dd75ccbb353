"""Steps that come again and again, such as those of a recurrent layer: C writes them once, in a loop.

What one time leaves for the next, or for itself, gets one place in memory, or two in turn; what is read after the loop
gets a row of places. Then each operand is, time after time, in one place, in places with a fixed distance, or in two
in turn: ``Walk`` says where. Steps for which this fails stay as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .memory import aligned
from .model import ALIGNMENT, Called, Job, Loop, Model, Step, Value, with_values

#: Times that steps have to come, and steps that C is then spared.
_TIMES, _SPARED = 3, 16
#: Periods that are tried, and times at the start that stay outside a loop because they read something else.
_TRIED, _APART = 8, 2


@dataclass(frozen=True)
class Walk:
    """Where an operand is, time after time.

    Args:
        root: the value in which it is.
        first: its byte there the first time.
        stride: bytes to the next.
        in_turn: to the next and back.
    """

    root: Value
    first: int
    stride: int
    in_turn: bool


def with_loops(model: Model) -> Model:
    """The model with the loops that are found in it."""
    found = [(0, len(model.steps))]
    loops: list[Loop] = []
    while found:
        start, end = found.pop()
        uses = _Uses(model)
        for loop in _candidates(model, start, end):
            rolled = _rolled(model, loop, uses)
            if rolled is not None:
                model = rolled
                loops.append(loop)
                found += [(start, loop.first), (loop.end, end)]
                break
    return replace(model, loops=tuple(sorted(loops, key=lambda loop: loop.first)))


def walk(values: Sequence[Value]) -> Walk | None:
    """The places of an operand; None: there is no rule in them. Constants have none, and need none."""
    root, offsets = values[0].root, [value.offset for value in values]
    if any(value.root is not root for value in values):
        return None
    stride = offsets[1] - offsets[0]
    if all(after - before == stride for before, after in pairwise(offsets)):
        return Walk(root, offsets[0], stride, False)
    if all(offset == offsets[number % 2] for number, offset in enumerate(offsets)):
        return Walk(root, offsets[0], stride, True)
    return None


def _candidates(model: Model, start: int, end: int) -> Iterator[Loop]:
    """Those that spare the most steps first."""
    numbers: dict[Hashable, int] = {}
    kinds = np.array([numbers.setdefault(_kind(step), len(numbers)) for step in model.steps[start:end]])
    found: list[tuple[int, int, int]] = []
    for period in range(1, len(kinds) // _TIMES + 1):
        same = np.concatenate([[False], kinds[:-period] == kinds[period:], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        found += [
            (period, start + first, start + last + period)
            for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        ]
    found.sort(key=lambda each: (-((each[2] - each[1]) // each[0] - 1) * each[0], *each))
    for period, first, last in found[:_TRIED]:
        for behind in range(period):  # a step before or behind may be alike by chance
            for apart in range(_APART + 1):
                times = (last - behind - first) // period - apart
                if times >= _TIMES and period * (times - 1) >= _SPARED:
                    yield Loop(last - behind - period * times, period, times)


def _kind(step: Step) -> Hashable:
    """Equal for steps that differ only in numbers and places."""
    if isinstance(step, Job):
        return step
    values = [(value.dtype, value.size, value.data is None) for value in (*step.reads, *step.makes)]
    if isinstance(step, Called):
        names = tuple(op.name for op in step.ops)
        return names, step.call.function, tuple(step.call.fields), tuple(step.constants), step.scratch, *values
    return step.kernel.alike, *values


def _rolled(model: Model, loop: Loop, uses: _Uses) -> Model | None:
    """The model, in which what the steps of the loop read and make has places by a rule; None: there are none."""
    places = _Places(model, loop, uses)
    if not all(places.settled(position) for position in range(loop.period)):
        return None
    for position in range(loop.period):
        each = [with_values(model.steps[number], places.of) for number in loop.each_time(position)]
        operands = zip(*map(step_operands, each), strict=True)
        if not all(values[0].data is not None or walk(values) for values in operands):
            return None
    steps = tuple(with_values(step, places.of) for step in model.steps)
    return replace(model, steps=steps, given=tuple(map(places.of, model.given)))


def step_operands(step: Step) -> list[Value]:
    """What a step is called with: its results, then its operands, without the constants among its parameters."""
    assert not isinstance(step, Job), "one is never in a loop"
    return [step.output, *(step.inputs if isinstance(step, Called) else step.inputs.values())]


class _Uses:
    """The steps that make and read values with memory of their own, or parts of these."""

    def __init__(self, model: Model) -> None:
        self.made: dict[Value, list[int]] = {}
        self.read: dict[Value, list[int]] = {}
        for number, step in enumerate(model.steps):
            for value in step.makes:
                self.made.setdefault(value.root, []).append(number)
            for value in step.reads:
                self.read.setdefault(value.root, []).append(number)
        for value in model.given:
            self.read.setdefault(value.root, []).append(len(model.steps))


class _Places:
    """The places of what the steps of a loop make."""

    def __init__(self, model: Model, loop: Loop, uses: _Uses) -> None:
        self._model, self._loop, self._uses = model, loop, uses
        self._known: dict[Value, Value] = {}

    def of(self, value: Value) -> Value:
        """The place of a value."""
        if value not in self._known:
            inside = value.inside and self.of(value.inside)
            self._known[value] = value if inside is value.inside else replace(value, inside=inside)
        return self._known[value]

    def settled(self, position: int) -> bool:
        """Gives places to what the steps at a position make; False: what the first one reads cannot have one."""
        steps, period = self._loop.each_time(position), self._loop.period
        values = [self._model.steps[number].makes[0] for number in steps]
        if any(value.root is not value for value in values):
            return True  # it is a part of something
        if any(self._uses.made[value] != [number] for value, number in zip(values, steps, strict=True)):
            return False
        before = self._before(position, values)
        if len(before) > 1 or not all(self._free(value, values[0]) for value in before):
            return False
        row = [*before, *values]
        # The times that a value is still read after the one that follows it has been made.
        made = [steps[0] - period, *steps][-len(row) :]
        late = max(
            ((last - number) // period for value, number in zip(row, made, strict=True)
             if (last := max(self._uses.read.get(value, [number]))) and value is not row[-1]),
            default=0,
        )  # fmt: skip
        self._place(row, 1 if late < 1 else 2 if late < 2 else len(row))
        return True

    def _before(self, position: int, values: list[Value]) -> list[Value]:
        """What the steps of the first time read where those of the next read what the first made at the position."""
        found: list[Value] = []
        for other in range(self._loop.period):
            first, second = (self._model.steps[number] for number in list(self._loop.each_time(other))[:2])
            for one, two in zip(step_operands(first), step_operands(second), strict=True):
                if two.root is values[0] and one.root is not values[0]:
                    found.append(one.root)
        return list(dict.fromkeys(found))

    def _free(self, value: Value, like: Value) -> bool:
        """Whether a value from before the loop can lie where the loop's own do."""
        made = self._uses.made.get(value, [])
        whole = len(made) == 1 and made[0] < self._loop.first and self._model.steps[made[0]].makes == [value]
        fits = (value.dtype, value.size) == (like.dtype, like.size)
        return whole and fits and value not in self._model.given and value not in self._known

    def _place(self, row: list[Value], places: int) -> None:
        size = aligned(row[0].size, ALIGNMENT)
        whole = Value(row[0].dtype, size * (places - 1) + row[0].size)
        for number, value in enumerate(row):
            at = number % places * size
            self._known[value] = whole if places == 1 else replace(value, inside=whole, at=at)
