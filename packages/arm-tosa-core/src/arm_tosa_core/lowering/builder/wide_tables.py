"""Tables of a function of INT32: one for each of several ranges around 0, each finer than the one outside of it.

A root makes small numbers large, and 16 bits of what it reads would have one step for all of them. ``f(x)`` is the sum
of ``t_i(x)``, whose operands are x in finer and finer steps, saturated: the innermost is f, and each that lies around
another is 0 within it, and beyond it what f has grown by since.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .interpolation import table_points

Array = np.ndarray[Any, Any]
Function = Callable[[Array], Array]

#: Errors of lines between points, in quanta, that are borne, and how many ranges may be made for it: the first that do.
_TRIES = ((0.25, 6), (0.5, 6), (1.0, 6), (2.0, 6), (2.0, 9))
_WORST = 2.0
#: The same far from 0 where the result begins to saturate, as a part of its range: samples had nothing near it.
_CORNER = 1 / 512
#: Segments of a table on each side of 0.
_SIDE = 256
#: Places within a segment at which its line is compared with the function.
_BETWEEN = 4


@dataclass(frozen=True)
class Range:
    """One range of a function of INT32.

    Args:
        step: what a step of the table's operand is, in steps of x: a RESCALE by its reciprocal, which saturates.
        entries: the 513 points of the table, int16, in quanta of the result.
    """

    step: float
    entries: Array


def ranges(values: Function, size: int, ends: tuple[int, int]) -> list[Range] | None:
    """The ranges, the outermost first; None: the function bends too much in too many places.

    Args:
        values: the function in quanta (float64), at any numbers.
        size: how far from 0 x may be.
        ends: where the result saturates.
    """

    def function(x: Array) -> Array:
        return np.clip(values(x), *ends)

    top = _reach(function, float(size))
    if corner := _pole(function, top):
        top = corner * 2.0 ** math.ceil(math.log2(top / corner))  # so that the corner is a point of a table
    for limit, most in _TRIES:
        if (steps := _steps(function, top, limit, most, ends)) is not None:
            return _tables(function, steps)
    return None


def _reach(function: Function, top: float) -> float:
    """From where on the function no longer changes, as one that saturates."""

    def changes(size: float) -> bool:
        sizes = np.array([size, -size, top, -top])
        near, far = function(sizes).reshape(2, 2)
        return bool((np.abs(near - far) > 1 / 8).any())

    return _edge(changes, top)


def _pole(function: Function, top: float) -> float:
    """How far from 0 on a function saturates that has a pole there, and is finite at the top; 0: it does not."""
    at_zero, near, far = function(np.array([0.0, 1.0, top]))
    if near != at_zero or far == at_zero:
        return 0.0
    return _edge(lambda size: bool(function(np.array([size]))[0] == at_zero), top)


def _edge(inside: Callable[[float], bool], top: float) -> float:
    """The number up to which something is true of all from the first one on; true of the least, not of the top."""
    low, high = 0.0, top
    for _ in range(64):
        middle = high / 2 if not low else (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return high


def _steps(function: Function, top: float, limit: float, most: int, ends: tuple[int, int]) -> list[float] | None:
    """The steps of the ranges' operands; each range is as far into the next one as lines of its table follow."""
    found = [max(top / (128 * _SIDE), 1 / 128)]
    while True:
        step = found[-1]
        errors, saturates = _errors(function, 128 * step, ends)
        borne = np.where(saturates, (ends[1] - ends[0]) * _CORNER, _WORST)
        if (errors > borne)[_SIDE // 2 :].any():
            return None
        bad = np.flatnonzero(errors[: _SIDE // 2] > limit)
        if not bad.size or step <= 1 / 128:  # then points are integers
            return found
        if len(found) == most:
            return None
        found.append(step * (1 << int(bad[-1]).bit_length()) / _SIDE)  # its end is a point of this one


def _errors(function: Function, segment: float, ends: tuple[int, int]) -> tuple[Array, Array]:
    """How far the lines of the segments on both sides of 0, from there outwards, are from the function.

    What half a step of x explains is none of their errors.

    Returns:
        The errors, and which segments begin or end where the result saturates.
    """
    worst, saturates = np.zeros(_SIDE), np.zeros(_SIDE, bool)
    for side in (1.0, -1.0):
        points = function(side * segment * np.arange(_SIDE + 1))
        at_end = (points <= ends[0]) | (points >= ends[1])
        saturates |= at_end[:-1] | at_end[1:]
        for part in np.arange(1, _BETWEEN) / _BETWEEN:
            line = points[:-1] * (1 - part) + points[1:] * part
            x = side * segment * (np.arange(_SIDE) + part)
            exact = function(x)
            own = np.abs(function(x + side) - exact) / 2
            worst = np.maximum(worst, np.abs(exact - line) - own)
    return worst, saturates


def _tables(function: Function, steps: list[float]) -> list[Range]:
    made: list[Range] = []
    for i, step in enumerate(steps):
        index = np.arange(-_SIDE, _SIDE + 1)
        points = np.rint(function(128 * step * index))
        if i + 1 < len(steps):
            inner = round(_SIDE * steps[i + 1] / step)
            points = points - points[_SIDE + np.clip(index, -inner, inner)]
        made.append(Range(step, table_points(points)))
    return made
