"""REDUCE_SUM on Ethos-U55 and U65, which Vela computes as a convolution over channels."""

from __future__ import annotations

LONGEST = 1 << 16  # Vela: channels of a convolution


def part_of(size: int) -> int:
    """The longest part of an axis that it is a multiple of and Vela can sum; 1 if there is none."""
    return next(part for part in range(min(size, LONGEST), 0, -1) if size % part == 0)


def why_no_parts(size: int) -> tuple[str, str] | None:
    """What is against SUMS_OF_PARTS along an axis of this size, and what to do about it."""
    if size // part_of(size) <= LONGEST:
        return None
    return f"{size} elements cannot be summed in parts of {LONGEST} at most", "pad the axis with zeros"
