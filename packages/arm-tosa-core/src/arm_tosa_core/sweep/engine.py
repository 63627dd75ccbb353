"""Engines do the work of a sweep: their interface, and the one that works in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from .evaluate import guarded


class Done(NamedTuple):
    """A piece of work that has ended: its name as given to ``start``, and a result or a ``Failure``."""

    name: Any
    value: Any


class Engine(Protocol):
    """Does pieces of work side by side."""

    @property
    def free(self) -> bool:
        """Whether another piece can start at once."""

    def start(self, name: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Starts a piece of work; function and arguments are picklable."""

    def next(self) -> Done:
        """Waits for a piece of work to end; one must have been started. A worker that dies is replaced."""

    def close(self) -> None:
        """Ends the workers and their work."""


class Here:
    """This process: one piece of work at a time."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Any, Callable[..., Any], tuple[Any, ...]]] = []

    @property
    def free(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    def start(self, name: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Keeps the work for ``next``."""
        self._waiting.append((name, function, arguments))

    def next(self) -> Done:
        """Does the work."""
        name, function, arguments = self._waiting.pop(0)
        return Done(name, guarded(function, *arguments))

    def close(self) -> None:
        """Nothing is left to end."""
