"""Several runs of Vela side by side, each in a process of its own."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer

from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.external_tools import how_it_ended, run_tool, without_usage

# Seconds that loading Vela may take; it takes half a second.
_LOADING = 120.0
# Seconds after which a worker that was told to end is killed.
_ENDING = 5.0
# A script, which is not imported: it is for Linux alone.
_WORKER = Path(__file__).with_name("vela_worker.py")
# How its runs end when their time is over, and without memory or disk: SIGALRM, EX_TEMPFAIL; Windows lacks the names.
_SIGALRM, _OUT_OF_SOMETHING = 14, 75


@dataclass(frozen=True)
class Order:
    """One run of Vela.

    Args:
        arguments: after the name of the executable; paths are absolute.
        log: file for its printed text.
        kept: where its input stays, for errors.
    """

    arguments: Sequence[str]
    log: Path
    kept: str


def run_all(executable: str, orders: Sequence[Order], timeout: float) -> list[str | ToolError]:
    """The text that each run printed, or its error.

    The Vela of this Python's environment is loaded once, by a worker process that forks for each run; that of another
    environment is started for each.

    Args:
        timeout: seconds after which a run is killed.

    Raises:
        ToolError: Vela cannot be loaded.
    """
    if not _forks(executable):
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            return list(pool.map(lambda order: _started(executable, order, timeout), orders))
    statuses = _worker().ask(orders, timeout)
    return [_outcome(status, executable, order, timeout) for status, order in zip(statuses, orders, strict=True)]


def warm_up(executable: str) -> None:
    """Starts loading Vela, if it is one that is loaded once; returns at once."""
    if _forks(executable):
        _worker()


def _forks(executable: str) -> bool:
    """Whether the executable is that of this Python's environment, on Linux.

    Windows has no fork. macOS has, but its libraries may hang in a process that was forked from one with threads, and
    Vela's numbers have some.
    """
    beside = Path(executable).parent == Path(sys.executable).parent
    return beside and sys.platform == "linux" and find_spec("ethosu") is not None


def _started(executable: str, order: Order, timeout: float) -> str | ToolError:
    try:
        return run_tool("vela", [executable, *order.arguments], timeout=timeout, kept=order.kept)
    except ToolError as error:
        return error


def _outcome(status: int, executable: str, order: Order, timeout: float) -> str | ToolError:
    output = order.log.read_text(errors="replace") if order.log.exists() else ""
    if status == 0:
        return output
    output = without_usage(output)
    timed_out = status == -_SIGALRM
    passing = status < 0 or status == _OUT_OF_SOMETHING
    problem = f"did not finish within {timeout:g} s and was killed" if timed_out else how_it_ended(status)
    command = [executable, *order.arguments]
    return ToolError("vela", problem, command=command, output=output, kept=order.kept, passing=passing)


class _Worker:
    """The process that has loaded Vela. It ends with this one, whose end of the pipe it reads from."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.lock = Lock()
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process; it has no name to leave behind
        self._process = subprocess.Popen(
            [sys.executable, str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            text=True,
            start_new_session=True,  # signals of a terminal are for this process, which then ends it
        )

    def ask(self, orders: Sequence[Order], timeout: float) -> list[int]:
        """The exit statuses of runs.

        Raises:
            ToolError: Vela cannot be loaded.
        """
        runs = [
            {"arguments": list(order.arguments), "log": str(order.log), "seconds": timeout, "folder": os.getcwd()}
            for order in orders
        ]
        with self.lock:
            answer = self._answer(json.dumps(runs), timeout * len(runs) + _LOADING)
            if not answer:
                raise self._broken(orders[0].kept)
        statuses: list[int] = json.loads(answer)
        return statuses

    def _answer(self, line: str, timeout: float) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        guard = Timer(timeout, self.kill)  # runs end by themselves; loading Vela may hang
        guard.start()
        try:
            print(line, file=self._process.stdin, flush=True)
            return self._process.stdout.readline()
        except BrokenPipeError:
            return ""
        except BaseException:
            self.kill()
            raise
        finally:
            guard.cancel()

    def _broken(self, input_place: str) -> ToolError:
        self.kill()
        self._printed.seek(0)
        output = self._printed.read().decode(errors="replace")
        self.close()
        return ToolError("vela", "could not be loaded", output=output, kept=input_place)

    @property
    def usable(self) -> bool:
        """Whether it runs, and for this process: not for one that this was forked from."""
        return self.owner == os.getpid() and self._process.poll() is None

    def kill(self) -> None:
        """Ends the process and its runs at once."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:  # it hangs while it loads Vela, and has no runs
            self._process.kill()

    def close(self) -> None:
        """Lets the process end."""
        if self.owner != os.getpid():
            return
        self.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._printed.close()


_lock = Lock()
_kept: _Worker | None = None


def _worker() -> _Worker:
    """The worker of this process."""
    global _kept
    with _lock:
        if _kept is None or not _kept.usable:
            if _kept is not None:
                _kept.close()
            _kept = _Worker()
        return _kept


@atexit.register
def close() -> None:
    """Lets the worker of this process end, if there is one; the next run starts another."""
    if _kept is not None:
        _kept.close()
