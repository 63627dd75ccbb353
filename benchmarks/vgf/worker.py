"""A side in a process of its own: the process, and who talks to it.

The process writes a line of JSON when it has loaded the program, and one for each line that it reads: ``run 40`` and
``device 40``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from benchmarks.vgf.sides import SIDES, Side

TIMEOUT_S = 180
#: A GPU that idled takes 0.1 s to reach its clock, and sides that wait for their turns idle.
_WARM_S = 0.3
_ROOT = Path(__file__).resolve().parents[2]
#: Where drivers and our runtime keep compiled shaders.
CACHES = ("ARM_VGF_CACHE", "MESA_SHADER_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH", "XDG_CACHE_HOME")


class SideError(Exception):
    """A side did not load or died; the last line that it printed."""


class Worker:
    """A process that has loaded a program; ``loaded`` is what it said: load times, device, memory.

    Raises:
        SideError: it did not load, or not within TIMEOUT_S. Every call may raise it.
    """

    def __init__(
        self, side: str, scheme: str, file: Path, inputs: list[Path], device: str, environment: Mapping[str, str]
    ) -> None:
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.vgf.worker", side, scheme, str(file), device, *map(str, inputs)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=_ROOT,
            env={**os.environ, **environment},
        )  # fmt: skip
        self.loaded = self._answer()

    def run(self, repeat: int) -> list[tuple[float, float]]:
        """Wall and CPU milliseconds of each run."""
        return [(wall, cpu) for wall, cpu in self._ask("run", repeat)["times"]]

    def device_ms(self, repeat: int) -> list[float]:
        """Milliseconds of each run on the device; empty: unknown."""
        return list(self._ask("device", repeat)["times"])

    def _ask(self, what: str, repeat: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it died; the answer says how
            self._process.stdin.write(f"{what} {repeat}\n")
            self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        timer = threading.Timer(TIMEOUT_S, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        late = not timer.is_alive()
        timer.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        if late:
            raise SideError(f"no answer within {TIMEOUT_S} s")
        self._errors.seek(0)
        last = [text for text in self._errors.read().splitlines() if text.strip()][-1:]
        raise SideError(f"exit status {self._process.returncode}: {''.join(last)}"[:300])

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def load_twice(
    side: str, scheme: str, file: Path, inputs: list[Path], device: str, caches: Path
) -> tuple[Worker, dict[str, float]]:
    """The worker of a second process, and load times of both; the first found the folder for caches empty.

    Raises:
        SideError: it did not load.
    """
    environment = dict.fromkeys(CACHES, str(caches))
    with Worker(side, scheme, file, inputs, device, environment) as first:
        loads = {f"load_first{clock}_ms": first.loaded[f"load{clock}_ms"] for clock in ("", "_cpu")}
    second = Worker(side, scheme, file, inputs, device, environment)
    loads |= {f"load_second_process{clock}_ms": second.loaded[f"load{clock}_ms"] for clock in ("", "_cpu")}
    return second, loads


def _timed(clocks: tuple[float, float]) -> tuple[float, float]:
    """Wall and CPU milliseconds since ``_now()``."""
    wall = time.perf_counter()
    return 1e3 * (wall - clocks[0]), 1e3 * (time.process_time() - clocks[1])


def _now() -> tuple[float, float]:
    """Clocks of wall and CPU time; the one that takes longer to read is read outside of what the other measures."""
    cpu = time.process_time()
    return time.perf_counter(), cpu


def _serve() -> None:
    channel = os.fdopen(os.dup(1), "w")  # libraries print to 1
    os.dup2(2, 1)
    name, scheme, file, device, *paths = sys.argv[1:]
    inputs = [np.load(path) for path in paths]
    for module in SIDES[name].MODULES:
        import_module(module)
    start = _now()
    side = SIDES[name](Path(file), inputs, scheme, device)
    wall, cpu = _timed(start)
    answer: dict[str, Any] = {"load_ms": wall, "load_cpu_ms": cpu, "device": side.device, **side.memory()}
    print(json.dumps(answer), file=channel, flush=True)
    for line in sys.stdin:
        what, repeat = line.split()
        answer = {"times": _times(side, int(repeat)) if what == "run" else side.device_ms(int(repeat))}
        print(json.dumps(answer), file=channel, flush=True)


def _times(side: Side, repeat: int) -> list[tuple[float, float]]:
    """Of each run, after runs that warm up."""
    start = time.perf_counter()
    side.run()
    while time.perf_counter() - start < _WARM_S:
        side.run()
    times = []
    for _ in range(repeat):
        before = _now()
        side.run()
        times.append(_timed(before))
    return times


if __name__ == "__main__":
    _serve()
