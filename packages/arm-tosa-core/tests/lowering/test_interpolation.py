"""Tables of 16 bits, over every integer there is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_tosa_core.lowering.builder.interpolation import (
    BEND_BITS,
    FINE_BITS,
    TABLE_BITS,
    Array,
    Interpolation,
    interpolate,
)

POINTS = np.arange(-32768, 32769)

#: name: (function, largest input, largest output, how many tables)
FUNCTIONS: dict[str, tuple[Callable[[Array], Array], float, float, int]] = {
    "a straight line": (lambda x: x, 4, 4, 1),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 6, 1, 1),
    "tanh": (np.tanh, 6, 1, 2),
    "exp of a softmax": (lambda x: np.exp(np.minimum(x, 0)), 12, 1, 2),
    "exp": (np.exp, 6, np.exp(6), 2),
    "reciprocal": (lambda x: 1 / np.maximum(x, 0.05), 8, 20, 3),
    "rsqrt": (lambda x: np.maximum(x, 0.01) ** -0.5, 4, 10, 3),
    "sine": (np.sin, 6, 1, 4),
    "a root": (lambda x: np.sqrt(np.maximum(x, 0)), 4, 2, 3),
    "a corner": (lambda x: np.maximum(x - 0.0101, 0), 6, 6, 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_one_quantum(name: str) -> None:
    function, largest, highest, tables = FUNCTIONS[name]
    values = function(POINTS * (largest / 32768)) / (highest / 32767)
    found = interpolate(values, -32768, 32767)
    assert found.bend is not None or 1 + len(found.zooms) <= tables
    assert (_off(found, values) > 1).sum() <= 8
    assert not found.wrong


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize(
    ("function", "largest", "highest"),
    [(np.sin, 200, 1), (np.cos, 4500, 1), (np.tan, 16, 200), (lambda x: np.exp(np.sin(x)), 300, 3)],
)
def test_what_tables_do_not_follow_is_counted(
    function: Callable[[Array], Array], largest: float, highest: float, precise: bool
) -> None:
    values = function(POINTS * (largest / 32768)) / (highest / 32767)
    found = interpolate(values, -32768, 32767, precise=precise)
    rounded = np.rint(values).clip(-32768, 32767)
    reach = np.maximum(np.abs(np.diff(rounded)), np.abs(np.diff(rounded, prepend=rounded[0]))[:-1]) + 1
    wrong = (_off(found, values) > 2 * reach).sum()
    assert wrong > 500
    assert found.wrong == pytest.approx(wrong, rel=0.1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_precise_ones_are_mostly_the_nearest_integer(name: str) -> None:
    function, largest, highest, _ = FUNCTIONS[name]
    values = function(POINTS * (largest / 32768)) / (highest / 32767)
    off = _off(interpolate(values, -32768, 32767, precise=True), values)
    assert (off > 0).mean() < 0.005
    assert (off > 1).sum() <= 8


def test_what_lines_do_not_follow_gets_parabolas() -> None:
    found = interpolate(np.cos(POINTS * (8 / 32768)) * 32767, -32768, 32767)
    assert found.bend is not None
    assert found.zooms == []


def _off(found: Interpolation, values: Array) -> Array:
    """How far results are from the nearest integers."""
    made = np.floor(_made(found) + 0.5).clip(-32768, 32767)
    off: Array = np.abs(made - np.rint(values[:-1]).clip(-32768, 32767))
    return off


def _made(found: Interpolation) -> Array:
    """Results before they are rounded, computed as ``Mac._interpolated`` has the target compute."""
    x = POINTS[:-1]
    total = _table(found.entries, x) / 2**TABLE_BITS
    if found.fine is not None:
        total = total + _table(found.fine, x) / 2 ** (TABLE_BITS + FINE_BITS)
    if found.bend is not None:
        beside = x - ((x + 64) >> 7 << 7)
        form = 4 * np.abs(beside) / 128 * (1 - np.abs(beside) / 128)
        total = total + np.rint(_table(found.bend, x) / 2**TABLE_BITS) / 2**BEND_BITS * form
    total = total * found.step
    for centre, shift, bits, entries in found.zooms:
        near = _table(entries, np.clip((x - centre) << shift, -32768, 32767))
        total = total + near / 2 ** (TABLE_BITS + bits)
    return total


def test_neighbours_of_a_pole_are_within_reach() -> None:
    values = np.where(POINTS < 0, -1e30, 1e30)
    entries = interpolate(values, -32768, 32767).entries.astype(int)
    assert np.abs(np.diff(entries)).max() <= 32767


def _table(entries: Array, x: Array) -> Array:
    """TABLE as TOSA 1.0 defines it for int16: 7 bits of fraction."""
    wide = entries.astype(np.int64)
    index, rest = (x + 32768) >> 7, (x + 32768) & 127
    result: Array = wide[index] * 128 + (wide[index + 1] - wide[index]) * rest
    return result


def test_lines_of_a_nearly_straight_function_lie_on_both_sides_of_it() -> None:
    values = 1000.3 + 0.4 * POINTS + 2.0**-18 * POINTS**2  # 1/64 quantum from a line between two points
    found = interpolate(values, -32768, 32767, precise=True)
    assert found.bend is None
    errors = _made(found) - values[:-1]
    assert abs(errors.mean()) < 0.002
    assert np.abs(errors).max() < 0.012


def test_a_root_of_8_bits_is_two_tables() -> None:
    """Entries count eighths of a quantum, of which half a one may be off: one finer table around 0 does."""
    values = np.sqrt(np.maximum(POINTS, 0) / 16384) * 255 * 8 - 128 * 8
    found = interpolate(values, -128 * 8, 127 * 8, limit=4)
    assert found.bend is None and [centre for centre, *_ in found.zooms] == [0]
    off = np.abs(_made(found).clip(-128 * 8, 127 * 8) - values[:-1].clip(-128 * 8, 127 * 8))
    assert (off > 4).sum() <= 8
