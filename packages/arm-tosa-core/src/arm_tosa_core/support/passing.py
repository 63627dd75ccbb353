"""Results that are not cached: made although a tool died, they may differ another time; or they come with a warning."""

from __future__ import annotations

from .errors import ToolError

_count = 0


def note(error: ToolError) -> None:
    """To be called with an error that a result is made in spite of."""
    global _count
    _count += error.passing


def note_warning() -> None:
    """To be called beside a warning about a result, which would come from the cache without it."""
    global _count
    _count += 1


def failures() -> int:
    """The count of passing failures and of such warnings here. Results made while it stays the same may be cached."""
    return _count
