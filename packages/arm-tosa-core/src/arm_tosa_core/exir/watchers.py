"""Who is shown each delegate when it has been compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..tosa.graph import Graph

#: Is given a delegate's graph and its payload.
Watcher = Callable[[Graph, bytes], None]
_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Within it, ``watcher`` is given each delegate that this thread compiles, in order."""
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)


def show_watchers(graph: Graph, payload: bytes) -> None:
    """Gives a delegate to the watchers of this thread."""
    for watcher in _watchers.get():
        watcher(graph, payload)
