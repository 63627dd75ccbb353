"""Workers of a dask cluster, on this machine or others."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import chdir
from typing import Any

from ..support.errors import UsageError
from . import extra
from .engine import Done
from .evaluate import guarded
from .point import Failure

#: Seconds to wait for a scheduler.
_PATIENCE = 15


class Dask:
    """A cluster's workers: one piece of work for each thread of theirs.

    dask itself does the work of a worker that dies again on another, and gives up where several died of it. Memory is
    bounded by the workers' own ``--memory-limit``. Workers see the current folder, by the same path. A process
    evaluates one point at a time: give workers one thread each.

    Args:
        scheduler: its address, such as ``tcp://10.0.0.1:8786``, or a ``distributed.Client``.

    Raises:
        UsageError: dask is not installed, or no scheduler answers there.
    """

    def __init__(self, scheduler: Any) -> None:
        self._distributed = extra.distributed()
        self._own = isinstance(scheduler, str)
        self._client = _connected(scheduler) if self._own else scheduler
        self._running: dict[Any, Any] = {}

    @property
    def free(self) -> bool:
        """Whether a worker has a thread with nothing to do."""
        threads = sum(self._client.nthreads().values())
        return len(self._running) < max(int(threads), 1)

    def start(self, name: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Gives work to the scheduler."""
        # A key of its own for each: dask would otherwise take two calls for one.
        self._running[self._client.submit(_in_folder, os.getcwd(), function, *arguments, pure=False)] = name

    def next(self) -> Done:
        """Waits for the first that is done."""
        wait = self._distributed.wait
        future = next(iter(wait(list(self._running), return_when="FIRST_COMPLETED").done))
        name = self._running.pop(future)
        if future.status == "finished":
            return Done(name, future.result())
        error = future.exception()
        return Done(name, Failure(f"its dask workers died or lost it: {error}", lasting=False))

    def close(self) -> None:
        """Cancels the remaining work; the caller's client stays connected."""
        self._client.cancel(list(self._running))
        if self._own:
            self._client.close()


def _in_folder(folder: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Work where the user is: paths on the command line are relative to it."""
    try:
        with chdir(folder):
            return guarded(function, *arguments)
    except OSError as error:
        return Failure(
            f"a dask worker cannot see {folder} ({error.strerror}): sweep in a folder that all machines share"
        )


def _connected(address: str) -> Any:
    try:
        return extra.distributed().Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"no dask scheduler answers at {address}: {error}; start one with: dask scheduler") from error
