"""Tables of 16 bits: 513 points of a function, lines between them, and finer tables where lines are too coarse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Error, in quanta, from which a function deserves a finer table: below it the rounded result is off by 1 at most.
_LIMIT = 1.0
#: Integers, of 65536, that may be worse: a pole has a few, where no calibrated value lies.
_FEW = 8
_MOST_ZOOMS = 3
_LOW, _HIGH = -32768, 32767


@dataclass
class Interpolation:
    """Tables whose results add up to a function.

    Args:
        entries: 513 points of the function, int16.
        step: how many quanta a step of them is.
        zooms: finer tables (centre, shift, entries) of ``(x - centre) << shift``, saturated to 16 bits; they hold what
            the tables before are off by, in quanta, and 0 at both ends.
    """

    entries: Array
    step: int
    zooms: list[tuple[int, int, Array]] = field(default_factory=list)


def interpolate(values: Array, low: int, high: int, between: bool = True) -> Interpolation:
    """Tables for a function known at every integer.

    Args:
        values: its values in quanta at the integers -32768 to 32768, not rounded (float64, 65537 of them).
        low, high: where the result saturates. Far beyond, where calibration has seen nothing, it need only saturate.
        between: whether it is read between the points as well.
    """
    wanted = np.clip(values, low, high)
    if not between:
        return Interpolation(_entries(wanted[::128]), 1)
    seen = (np.abs(values - wanted) < (high - low) / 64)[:-1]
    plain = [_plain(values, wanted, seen, step) for step in (1, 2, 4)]
    made, errors = min(plain, key=lambda pair: (max(_bad(pair[1]), _FEW), pair[0].step))
    least = 1
    while len(made.zooms) < _MOST_ZOOMS and _bad(errors) > _FEW:
        zoomed = _zoom(errors, seen, least)
        if zoomed is None:
            break
        if _bad(zoomed[1]) > 0.9 * _bad(errors):  # at a corner an error falls only with the length of the line
            least = zoomed[0][1] + 1
            continue
        made.zooms.append(zoomed[0])
        errors = zoomed[1]
    return made


def _plain(values: Array, wanted: Array, seen: Array, step: int) -> tuple[Interpolation, Array]:
    """One table and its errors.

    Where a function leaves the range, coarser entries that reach beyond it are better: the line between a saturated
    entry and the next would be off for the whole segment.
    """
    entries = _entries(values[::128] / step)
    made = _evaluate(entries, np.arange(_LOW, _HIGH + 1)) * step
    return Interpolation(entries, step), (wanted[:-1] - np.clip(made, wanted.min(), wanted.max())) * seen


def _entries(points: Array) -> Array:
    """Points as int16, neighbours no further apart than int16 reaches (TOSA 1.0, TABLE); at poles they would be."""
    entries = np.clip(np.rint(points), _LOW, _HIGH).astype(np.int64)
    for i in range(1, len(entries)) if (np.abs(np.diff(entries)) > _HIGH).any() else ():
        entries[i] = min(max(entries[i], entries[i - 1] - _HIGH), entries[i - 1] + _HIGH)
    return entries.astype(np.int16)


def _evaluate(entries: Array, x: Array) -> Array:
    """What TABLE gives for integers, before its result is rounded (float64)."""
    wide = entries.astype(np.int64)
    index, rest = (x - _LOW) >> 7, (x - _LOW) & 127
    made: Array = (wide[index] * 128 + (wide[index + 1] - wide[index]) * rest) / 128
    return made


def _bad(errors: Array) -> int:
    return int((np.abs(errors) > _LIMIT).sum())


def _zoom(errors: Array, seen: Array, least: int) -> tuple[tuple[int, int, Array], Array] | None:
    """The finer table, with at least this shift, that mends most integers, and the errors that remain."""
    size = np.abs(errors)
    best: tuple[int, int, int] | None = None
    for shift in range(least, 8):
        mended = (size > _LIMIT) & (size <= _LIMIT * 4**shift)  # a line's error falls with the square of its length
        width = 1 << (16 - shift)
        counts = np.concatenate([[0], np.cumsum(mended)])
        starts = np.arange(0, 65536 - width + 1, 128)
        inside = counts[starts + width] - counts[starts]
        middle = (65536 - width) // 2
        at = int(starts[inside.argmax()])
        if counts[middle + width] - counts[middle] >= 0.98 * inside.max():
            at = middle  # around 0: the shift alone does
        count = int(counts[at + width] - counts[at])
        if best is None or count > best[0]:
            best = count, at + width // 2 + _LOW, shift
    if best is None or not best[0]:
        return None
    _, centre, shift = best
    points = np.clip(centre + (np.arange(_LOW, _HIGH + 2, 128) >> shift), _LOW, _HIGH)
    residue = errors[points - _LOW]
    residue[0] = residue[-1] = 0  # beyond the window these apply
    entries = _entries(residue)
    x = np.arange(_LOW, _HIGH + 1)
    left = (errors - _evaluate(entries, np.clip((x - centre) << shift, _LOW, _HIGH))) * seen
    return (centre, shift, entries), left
