"""Processes with a group of their own, on every system: what they start ends with them.

A process is started with ``OPTIONS``. Signals of a terminal do not reach it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any, TypedDict


class _Options(TypedDict):
    start_new_session: bool
    creationflags: int


#: Of ``subprocess.Popen``: the first makes the group on POSIX, the second on Windows; each is nothing on the other.
OPTIONS: _Options = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
}


def kill(process: subprocess.Popen[Any]) -> None:
    """Kills a process that nobody has waited for, and every process that it started."""
    if sys.platform == "win32":
        # Windows keeps no groups that could be killed; this command, a part of it, looks for the children.
        command = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses a group in which all have ended
            os.killpg(process.pid, signal.SIGKILL)
