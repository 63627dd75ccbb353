"""TRANSPOSE on Ethos-U55 and U65: the axes that Vela makes of those that there are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from arm_tosa_core.tosa.ir import fewest_axes

from ..accelerators import MAX_AXIS

#: Axes that Vela moves as they are; of more, TRANSPOSE_OF_FEW_AXES leaves as few as there can be.
NATIVE_RANK = 4


def few_axes(shape: Sequence[int], perms: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The axes that Vela is given, and their order."""
    return (shape, perms) if len(shape) <= NATIVE_RANK else fewest_axes(shape, perms, MAX_AXIS)


def joined(shape: Sequence[int], perms: Sequence[int]) -> int:
    """Elements at most of the axes that Vela makes by joining others; 0: it joins none.

    It moves the last three axes at once. Of more it swaps two at a time and joins others into one.
    """
    outer = len(shape) - 3
    if outer <= 0 or (prod(shape[:outer]) == 1 and tuple(perms[:outer]) == tuple(range(outer))):
        return 0
    return prod(sorted(shape)[2:])


def joined_behind_one(shape: Sequence[int], perms: Sequence[int]) -> int:
    """The same for tensors with one more axis of one element in front, which stays: with four others exactly.

    The axis that comes first is swapped with the first one, and all others are joined, with the one and with the other.
    """
    if len(shape) != NATIVE_RANK:
        return joined((1, *shape), (0, *(1 + axis for axis in perms)))
    return prod(shape) // min(shape[0], shape[perms[0]]) if perms[0] else 0
