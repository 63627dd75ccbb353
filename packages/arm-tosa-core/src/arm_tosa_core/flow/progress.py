"""How far a compilation is, for whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable

#: Called with the stage (``lower``: to TOSA; ``compile``: by the target's compiler; ``write``: as a ``.pte``) and the
#: part of it that is done, from 0 to 1.
Progress = Callable[[str, float], None]


def silent(_stage: str, _done: float) -> None:
    """No progress."""
