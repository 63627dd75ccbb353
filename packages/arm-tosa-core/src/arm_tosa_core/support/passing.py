"""Results made although a tool died: they may differ another time, and are not cached."""

from __future__ import annotations

from .errors import ToolError

_count = 0


def note(error: ToolError) -> None:
    """To be called with an error that a result is made in spite of."""
    global _count
    _count += error.passing


def failures() -> int:
    """How many passing failures this process has noted; what was made while this stayed the same may be kept."""
    return _count
