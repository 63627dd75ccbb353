"""Opens a file in a fork of this process, with limits: what came of it."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

from .openings import Opening

_MEMORY, _CPU_SECONDS, _SECONDS = 1 << 30, 60, 240
#: Status of a fork in which an exception got out of the command.
_ESCAPED = 99


def fault(opening: Opening, content: bytes, seeds: Path, folder: Path) -> str:
    """What went wrong when a file with this content was opened; empty: it was opened, or refused with an error.

    Args:
        seeds: the good files; the folder is copied.
        folder: where it happens; emptied first.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(seeds, folder)
    (folder / opening.seed).write_bytes(content)
    log = folder.with_suffix(".log")
    before = _listing(folder.parent, folder, log)
    child = os.fork()
    if child == 0:
        _open(opening, folder, log)
    status = _wait(child)
    said = log.read_text(errors="replace") if log.exists() else ""
    found = _judged(status, said)
    if not found and (more := _listing(folder.parent, folder, log) - before):
        found = f"wrote outside of its folder: {sorted(more)[:3]}"
    return f"{found}\n{said[-3000:]}" if found else ""


def _open(opening: Opening, folder: Path, log: Path) -> None:
    status = _ESCAPED
    try:
        os.setpgid(0, 0)  # with the tools that it starts
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.chdir(folder)
        os.environ["ARM_TOSA_CACHE_DIR"] = str(folder / "cache")
        size = int(re.findall(r"VmSize:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, size + _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        opening.run(folder)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(child: int) -> int | None:
    """The fork's status; None: it was still running."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _judged(status: int | None, said: str) -> str:
    if status is None or status == -signal.SIGXCPU:
        return "hangs"
    if status < 0:
        return f"crashes: {signal.Signals(-status).name}"
    if "MemoryError" in said or "not enough memory" in said or "bad_alloc" in said:
        return "needs more than 1 GiB"
    if "This was not foreseen" in said:
        return "was not foreseen"
    if status == _ESCAPED or "Traceback (most recent call last)" in said:
        return "shows a traceback"
    if re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x9b]", said):
        return "prints control characters"
    return ""


def _listing(around: Path, *but: Path) -> set[str]:
    return {str(path) for path in around.iterdir() if path not in but}
