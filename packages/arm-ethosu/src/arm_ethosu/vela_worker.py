"""Vela, started once for many runs: a script that loads it and forks for each run. ``vela_batch`` starts it.

Each line of its input is JSON, a list of runs ``{"arguments": [...], "log": FILE, "seconds": S, "folder": FOLDER}``.
They run side by side in their folders, as many at a time as there are cores; what a run prints goes to its log, and
after S seconds it is killed. The answer is a line of JSON: the list of exit statuses; that of a run which a signal
ended is minus the signal.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any


def main() -> None:
    del sys.path[0]  # the folder of this script, whose modules are not Vela's
    from ethosu.vela.vela import main as vela

    # What Vela prints as it loads must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(_all(json.loads(line), vela)), file=answers, flush=True)


def _all(runs: list[dict[str, Any]], vela: Callable[[list[str]], int]) -> list[int]:
    statuses = [0] * len(runs)
    children: dict[int, int] = {}
    for i, run in enumerate(runs):
        if len(children) >= (os.cpu_count() or 1):
            _wait(children, statuses)
        children[_forked(run, vela)] = i
    while children:
        _wait(children, statuses)
    return statuses


def _wait(children: dict[int, int], statuses: list[int]) -> None:
    process, status = os.wait()
    statuses[children.pop(process)] = os.waitstatus_to_exitcode(status)


def _forked(run: dict[str, Any], vela: Callable[[list[str]], int]) -> int:
    if process := os.fork():
        return process
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
    """How Vela ends, as its own executable would."""
    sys.argv[1:] = arguments
    try:
        return vela(arguments)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    main()
