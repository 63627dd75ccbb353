"""Results made although a tool died: they may differ another time, and are not cached."""

from __future__ import annotations

from .errors import ToolError

_count = 0


def note(error: ToolError) -> None:
    """To be called with an error that a result is made in spite of."""
    global _count
    _count += error.passing


def failures() -> int:
    """The count of passing failures in this process. Results made while it stays the same may be cached."""
    return _count
