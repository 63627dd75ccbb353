"""Vela, started once for many runs: a script that loads it and forks for each run. ``vela_batch`` starts it, on Linux.

Each line of its input is JSON, a list of runs ``{"arguments": [...], "log": FILE, "seconds": S, "folder": FOLDER}``.
They run side by side in their folders, as many at a time as there are cores. Text of a run goes to its log, and after
S seconds it is killed. The answer is a line of JSON: the list of exit statuses; that of a run which a signal
ended is minus the signal.

Each run has a process group of its own; no process of it outlives the run. When nobody holds the other end of the input
any more, because the process there ended in whatever way, this one kills its runs and itself.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

assert sys.platform == "linux"  # it forks
#: The runs that are going on: their numbers in the request, by their processes.
_runs: dict[int, int] = {}


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The thread holds nothing that a run could wait for.
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
    del sys.path[0]  # the folder of this script, whose modules are not Vela's
    from ethosu.vela.vela import main as vela

    # Text that Vela prints as it loads must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(_all(json.loads(line), vela)), file=answers, flush=True)


def _all(runs: list[dict[str, Any]], vela: Callable[[list[str]], int]) -> list[int]:
    statuses = [0] * len(runs)
    for i, run in enumerate(runs):
        if len(_runs) >= (os.cpu_count() or 1):
            _wait(statuses)
        _runs[_forked(run, vela)] = i
    while _runs:
        _wait(statuses)
    return statuses


def _wait(statuses: list[int]) -> None:
    process, status = os.wait()
    _kill(process)  # processes that the run started and left behind
    statuses[_runs.pop(process)] = os.waitstatus_to_exitcode(status)


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _end_with_parent() -> None:
    closed = select.poll()
    closed.register(0, 0)  # that the other end is closed is always told
    closed.poll()
    for group in (*_runs, os.getpid()):
        _kill(group)


def _forked(run: dict[str, Any], vela: Callable[[list[str]], int]) -> int:
    parent = os.getpid()
    if process := os.fork():
        return process
    os.setpgid(0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it ended before it knew of this run
    signal.setitimer(signal.ITIMER_REAL, run["seconds"])
    log = os.open(run["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(run["folder"])
    status = _status(run["arguments"], vela)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _status(arguments: list[str], vela: Callable[[list[str]], int]) -> int:
    """Vela's exit status, as that of its own executable."""
    sys.argv[1:] = arguments
    try:
        return vela(arguments)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        traceback.print_exc()
        return os.EX_TEMPFAIL if isinstance(error, OSError | MemoryError) else 1


if __name__ == "__main__":
    main()
