"""Tables of 16 bits: 513 points of a function, lines or parabolas between them, finer tables where these do not do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Error, in quanta, from which a function deserves a finer table: below it the rounded result is off by 1 at most.
_LIMIT = 1.0
#: The same where the result should be the nearest integer: the remaining error is mostly TABLE's rounding.
_PRECISE = 1 / 8
#: How far from its lines, in quanta, a function that should be precise bends for parabolas to be worth it. Lines that
#: lie on both sides of it are off by a third of that in the middle, two thirds at the points.
_BENT = 1 / 48
#: Of a parabola that is 0 at two points and 1 in the middle.
_MEAN = 2 / 3
#: Bits of fraction: of a TABLE's result, and more that a sum of several has; of what entries leave out, of how a
#: function bends between them, and of the bend's form.
TABLE_BITS, MORE_BITS, FINE_BITS, BEND_BITS, FORM_BITS = 7, 6, 15, 9, 13
#: Integers, of 65536, that may be worse: a pole has a few, where no calibrated value lies.
_FEW = 8
#: How many times as far off as roundings of operand and result make it a result is wrong.
_WRONG = 2
_MOST_ZOOMS = 3
_LOW, _HIGH = -32768, 32767


@dataclass
class Interpolation:
    """Tables whose results add up to a function.

    Args:
        entries: 513 points of the function, int16.
        step: how many quanta a step of them is.
        fine: errors of the entries in ``2**-FINE_BITS`` steps, at the same points; None: not needed.
        bend: how far from the line the function is in the middle between two points, in ``2**-BEND_BITS`` steps, at
            the same points: a parabola between them goes through it. None: lines do.
        zooms: finer tables (centre, shift, bits, entries) of ``(x - centre) << shift``, saturated to 16 bits; they hold
            the error of the tables before, in ``2**-bits`` quanta, and 0 at both ends.
        wrong: integers with a result further off than roundings of it and of its operand explain, where there are more
            than a pole has: the function bends too much in too many places.
    """

    entries: Array
    step: int
    fine: Array | None = None
    bend: Array | None = None
    zooms: list[tuple[int, int, int, Array]] = field(default_factory=list)
    wrong: int = 0

    @property
    def precise(self) -> bool:
        """Whether its sum has ``MORE_BITS``."""
        return self.fine is not None or self.bend is not None or any(bits for _, _, bits, _ in self.zooms)


def interpolate(
    values: Array, low: int, high: int, between: bool = True, precise: bool = False, limit: float = _LIMIT
) -> Interpolation:
    """Tables for a function known at every integer.

    Args:
        values: its values in quanta at the integers -32768 to 32768, not rounded (float64, 65537 of them).
        low, high: where the result saturates. Far beyond, where calibration has seen nothing, it need only saturate.
        between: whether it is read between the points as well.
        precise: the result should be the nearest integer, not one of the two nearest.
        limit: the error from which the function deserves a finer table; more than 1 where a quantum of the result is
            several of the values'.
    """
    return _interpolate(values, low, high, between, precise, limit)[1]


def _interpolate(
    values: Array, low: int, high: int, between: bool, precise: bool, limit: float
) -> tuple[int, Interpolation]:
    """The tables, and how many integers are further off than the limit."""
    values = np.clip(values, 2.0**16 * _LOW, 2.0**16 * _HIGH)  # infinity, as a number
    clipped = np.clip(values, low, high)
    if not between:
        return 0, Interpolation(table_points(clipped[::128]), 1)
    seen = (np.abs(values - clipped) < (high - low) / 64)[:-1]
    limits = (limit, _PRECISE) if precise else (limit,)  # the first errors to mend are the large ones
    candidates = [_fitted(values, clipped, seen, step, limits) for step in (1, 2, 4)]
    bad = [[max(_bad(errors * seen, limit), _FEW) for limit in limits] for _, errors in candidates]
    best, (tables, errors) = min(
        zip(bad, candidates, strict=True), key=lambda m: (m[0], len(m[1][0].zooms), m[1][0].step)
    )
    tables.wrong = _wrong(errors * seen, clipped, limit)
    if best[0] > _FEW and not precise:  # no line does at a corner, and a parabola does no better
        return min((best[0], tables), _interpolate(values, low, high, between, True, limit), key=lambda tried: tried[0])
    return best[0], tables


def _wrong(errors: Array, values: Array, quantum: float) -> int:
    """How many integers are further off than a step of the operand, and a quantum of the result, explain; 0 if few."""
    steps = np.abs(np.diff(values, prepend=values[0]))
    reach = np.maximum(steps[:-1], steps[1:]) + quantum
    wrong = _bad(errors / reach, _WRONG)
    return wrong if wrong > _FEW else 0


def _fitted(
    values: Array, clipped: Array, seen: Array, step: int, limits: Sequence[float]
) -> tuple[Interpolation, Array]:
    """Tables for the limits, one after the other, and their errors."""
    precise = len(limits) > 1
    tables, errors = _plain(values, clipped, step, precise)
    for limit in limits:
        least = 1
        while len(tables.zooms) < _MOST_ZOOMS and _bad(errors * seen, limit) > _FEW:
            zoomed = _zoom(errors, seen, least, limit, precise)
            if zoomed is None:
                break
            if _bad(zoomed[1] * seen, limit) > 0.9 * _bad(errors * seen, limit):
                least = zoomed[0][1] + 1  # at a corner an error falls only with the length of the line
                continue
            tables.zooms.append(zoomed[0])
            errors = zoomed[1]
    return tables, errors


def _plain(values: Array, clipped: Array, step: int, precise: bool) -> tuple[Interpolation, Array]:
    """Tables of the whole range and their errors.

    Where a function leaves the range, coarser entries that reach beyond it are better: the line between a saturated
    entry and the next would be off for the whole segment.
    """
    x = np.arange(_LOW, _HIGH + 1)
    tables = Interpolation(table_points(values[::128] / step), step)
    approximation = _evaluate(tables.entries, x)
    if precise:
        residue, bend = values[::128] / step - tables.entries, _bend(values / step)
        bent = np.abs(bend).max() * step > _BENT
        if residue.any():
            residue = residue if bent else residue + bend * _MEAN  # lines that are off to both sides, not to one
            tables.fine = table_points(np.clip(residue, -1, 1) * 2**FINE_BITS)
            approximation = approximation + _evaluate(tables.fine, x) / 2**FINE_BITS
        if bent:
            tables.bend = table_points(bend * 2**BEND_BITS)
            approximation = approximation + _evaluate(tables.bend, x) * _form(x) / 2**BEND_BITS
    errors = clipped[:-1] - approximation * step
    beyond = (values - clipped)[:-1] * errors < 0  # as the function is: both saturate
    return tables, np.where(beyond, 0, errors)


def _form(x: Array) -> Array:
    """A parabola between two points: 0 at both, 1 in the middle."""
    fraction: Array = ((x - _LOW) & 127) / 128
    return 4 * fraction * (1 - fraction)


def _bend(values: Array) -> Array:
    """At each point, how far from its lines a function is in the middle of them.

    That is the harmonic mean of both sides, which near a pole is that of the calmer one, and 0 at a turn.
    """
    points = np.abs(values) < 4 * _HIGH  # points further away saturate
    near = points[:-1].reshape(-1, 128).all(1) & points[128::128]
    places = near.nonzero()[0]
    if not places.size:
        return np.zeros(len(near) + 1)
    middles = (values[64::128] - (values[:-1:128] + values[128::128]) / 2)[places]
    extended = np.interp(np.arange(-1, len(near) + 1), places, middles)
    left, right = extended[:-1], extended[1:]
    same = left * right > 0
    bend: Array = np.where(same, 2 * left * right / np.where(same, left + right, 1.0), 0.0)
    return bend


def table_points(points: Array) -> Array:
    """Points as int16, neighbours no further apart than int16 reaches (TOSA 1.0, TABLE); at poles they would be."""
    entries = np.clip(np.rint(points), _LOW, _HIGH).astype(np.int64)
    for i in range(1, len(entries)) if (np.abs(np.diff(entries)) > _HIGH).any() else ():
        entries[i] = min(max(entries[i], entries[i - 1] - _HIGH), entries[i - 1] + _HIGH)
    return entries.astype(np.int16)


def _evaluate(entries: Array, x: Array) -> Array:
    """TABLE's results for integers before rounding (float64)."""
    wide = entries.astype(np.int64)
    index, fraction = (x - _LOW) >> 7, (x - _LOW) & 127
    results: Array = (wide[index] * 128 + (wide[index + 1] - wide[index]) * fraction) / 128
    return results


def _bad(errors: Array, limit: float) -> int:
    return int((np.abs(errors) > limit).sum())


def _zoom(
    errors: Array, seen: Array, least: int, limit: float, precise: bool
) -> tuple[tuple[int, int, int, Array], Array] | None:
    """The finer table, with at least this shift, that mends most integers, and the errors that remain."""
    size = np.abs(errors) * seen
    weight = np.log2(np.maximum(size / limit, 2)) if precise else np.ones(1)
    windows = [_window(size, weight, shift, limit) for shift in range(least, 8)]
    if not any(count for count, _ in windows):
        return None
    order = sorted(range(len(windows)), key=lambda i: -windows[i][0])
    candidates = [_finer(errors, size, windows[i][1], least + i, precise) for i in order[: 1 if precise else None]]

    def cost(candidate: tuple[tuple[int, int, int, Array], Array]) -> tuple[int, bool, int]:
        bad = _bad(candidate[1] * seen, limit)
        return max(bad, _FEW), candidate[0][0] != 0, bad

    return min(candidates, key=cost)  # next to a corner lines are worse than expected


def _window(size: Array, weight: Array, shift: int, limit: float) -> tuple[float, int]:
    """The expected gain of a finer table of this shift, and the centre of the part with the largest gain."""
    mended = (size > limit) & (size <= limit * 4**shift)  # a line's error falls with the square of its length
    width = 1 << (16 - shift)
    counts = np.concatenate([[0], np.cumsum(mended * weight)])
    starts = np.arange(0, 65536 - width + 1, 128)
    inside = counts[starts + width] - counts[starts]
    middle = (65536 - width) // 2
    at = int(starts[inside.argmax()])
    if counts[middle + width] - counts[middle] >= 0.98 * inside.max():
        at = middle  # around 0: the shift alone does
    return float(counts[at + width] - counts[at]), at + width // 2 + _LOW


def _finer(
    errors: Array, size: Array, centre: int, shift: int, precise: bool
) -> tuple[tuple[int, int, int, Array], Array]:
    """The finer table of ``(x - centre) << shift``, and the errors that remain."""
    points = np.clip(centre + (np.arange(_LOW, _HIGH + 2, 128) >> shift), _LOW, _HIGH)
    most = size[points - _LOW].max()
    residue = errors[points - _LOW].clip(-most, most)  # errors outside of the seen range must not make entries coarser
    half = 1 << (15 - shift)
    if centre - half > _LOW:
        residue[0] = 0  # it applies beyond the window as well,
    if centre + half <= _HIGH:
        residue[-2:] = 0  # as do these: the points that saturate are just below the last one
    bits = max(int(min(MORE_BITS, np.log2(_HIGH / np.abs(residue).max()))), 0) if precise and residue.any() else 0
    entries = table_points(residue * 2**bits)
    x = np.arange(_LOW, _HIGH + 1)
    remaining = errors - _evaluate(entries, np.clip((x - centre) << shift, _LOW, _HIGH)) / 2**bits
    return (centre, shift, bits, entries), remaining
