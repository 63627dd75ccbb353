"""The time that a search takes, which other work on the machine changes little."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """CPU time of the thread that asks, and by the clock on the wall what it waits for other programs.

    On an idle machine that is the time on the wall.
    """

    def __init__(self) -> None:
        self._waited = 0.0

    def seconds(self) -> float:
        """Since some moment."""
        return time.thread_time() + self._waited

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within, another program may work for this one."""
        wall, own = time.monotonic(), time.thread_time()
        try:
            yield
        finally:
            self._waited += max(time.monotonic() - wall - (time.thread_time() - own), 0.0)
