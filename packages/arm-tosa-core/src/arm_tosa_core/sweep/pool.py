"""Worker processes on this machine."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any

from ..support.errors import UsageError
from ..support.memory_size import size_text
from . import extra
from .engine import Done
from .evaluate import guarded
from .point import Failure

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Connection
else:
    from multiprocessing.connection import Connection

#: Workers that may die of one piece of work.
_DEATHS = 2
#: Bytes that a worker should have: PyTorch, ExecuTorch and MobileNetV2 take 0.5 GiB.
_NEEDED = 3 << 29
#: Bytes with which a process starts.
_LEAST = 1 << 27


def default_workers() -> int:
    """As many as this machine has cores, or has memory for."""
    return max(1, min(os.cpu_count() or 1, _memory() // _NEEDED))


def _memory() -> int:
    return int(extra.psutil().virtual_memory().total)


class Pool:
    """As many processes as asked for; one that dies is replaced, and its work done again, once.

    Each is an executor of its own, so that it is known whose work a process died of.

    Args:
        memory: bytes that each may use; None: its share of this machine's.

    Raises:
        UsageError: no process can start with so little memory.
    """

    def __init__(self, workers: int, memory: int | None = None) -> None:
        if memory is not None and memory < _LEAST:
            raise UsageError(f"--memory {size_text(memory)}: a process needs {size_text(_LEAST)} at least to start")
        share = _memory() // workers
        self._slots = [_Slot(share if memory is None else memory) for _ in range(workers)]

    @property
    def free(self) -> bool:
        """Whether a process has nothing to do."""
        return any(slot.future is None for slot in self._slots)

    def start(self, name: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Gives work to a process that has none."""
        next(slot for slot in self._slots if slot.future is None).start(name, function, arguments)

    def next(self) -> Done:
        """Waits for the first process that is done."""
        while True:
            wait([slot.future for slot in self._slots if slot.future is not None], return_when=FIRST_COMPLETED)
            for slot in self._slots:
                if slot.future is not None and slot.future.done() and (done := slot.take()) is not None:
                    return done

    def close(self) -> None:
        """Kills the processes."""
        for slot in self._slots:
            slot.close()


class _Slot:
    """One process and its work."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._new()
        self._work: tuple[Any, Callable[..., Any], tuple[Any, ...]] | None = None
        self._deaths = 0
        self.future: Future[Any] | None = None

    def _new(self) -> None:
        context = multiprocessing.get_context("spawn")  # PyTorch's threads do not survive a fork
        alive, self._lifeline = context.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(1, context, _prepare, (self._memory, alive))

    def start(self, name: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._work, self._deaths = (name, function, arguments), 0
        self._submit()

    def _submit(self) -> None:
        assert self._work is not None
        _, function, arguments = self._work
        self.future = self._executor.submit(guarded, function, *arguments)

    def take(self) -> Done | None:
        """The outcome of the work; None if the process died and the work began again."""
        assert self.future is not None and self._work is not None
        try:
            value = self.future.result()
        except BrokenProcessPool:
            self._executor.shutdown(wait=False)
            self._new()
            self._deaths += 1
            if self._deaths < _DEATHS:
                self._submit()
                return None
            died = f"its worker process died, {_DEATHS} times: it was killed, as by a system out of memory, or crashed"
            value = Failure(died, lasting=False)
        self.future = None
        return Done(self._work[0], value)

    def close(self) -> None:
        if self.future is not None:
            self._lifeline.close()  # the process is at work, and dies of it
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._lifeline.close()


def _prepare(memory: int, alive: Connection) -> None:
    """Sets up a process: one thread, bounded memory, an end when its parent ends, no messages of libraries."""
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    logging.disable(logging.WARNING)
    _bound(memory)
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()


def _bound(memory: int) -> None:
    """Bounds what this process may allocate, where the system has such a bound: not on Windows."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (memory if most < 0 else min(memory, most), most))


def _end_with_parent(alive: Connection) -> None:
    with suppress(EOFError):
        alive.recv_bytes()  # the parent sends nothing: its end is closed, by itself or by the system
    os._exit(1)
