"""Measuring instruments: a CPU stopwatch and limit, an operator count of TOSA flatbuffers, Vela's own summary."""

from __future__ import annotations

import csv
import json
import logging
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Both sides' graphs are given to Vela with these same flags.
_VELA_FLAGS = {
    "ethos-u55-128": ["--system-config=Ethos_U55_High_End_Embedded", "--memory-mode=Shared_Sram"],
    "ethos-u85-256": ["--system-config=Ethos_U85_SYS_DRAM_Mid", "--memory-mode=Sram_Only"],
}


def cpu_seconds(children: bool) -> float:
    """User and system time of this process so far, on all its threads; with its finished children if asked."""
    usage = [resource.getrusage(resource.RUSAGE_SELF)]
    if children:
        usage.append(resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in usage)


@contextmanager
def recorded(result: dict[str, Any], path: str) -> Iterator[None]:
    """Writes a case's figures to a JSON file when the block ends; an exception becomes the figure ``error``."""
    logging.disable(logging.WARNING)
    result["load"] = os.getloadavg()[0]
    try:
        yield
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        result["error"] = f"{type(error).__name__}: {lines[0]}"[:300]
        raise
    finally:
        Path(path).write_text(json.dumps(result))


class OutOfTime(BaseException):
    """The CPU limit was reached. No Exception, so that no handler on the way swallows it."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raises OutOfTime once the block has used this much CPU time."""

    def stop(*_: Any) -> None:
        raise OutOfTime

    signal.signal(signal.SIGXCPU, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(cpu_seconds(children=False)) + seconds, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


class Stopwatch:
    """Adds up the CPU seconds of this process inside functions; nested calls count once, child processes not at all."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside = False

    def watch(self, owner: Any, name: str) -> None:
        """Replaces the function or method ``owner.name`` by a timed one."""
        static = not isinstance(owner, type) or not _takes_self(owner, name)
        timed = self._timed(getattr(owner, name))
        setattr(owner, name, staticmethod(timed) if static and isinstance(owner, type) else timed)

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return function(*args, **kwargs)
            self._inside = True
            start = cpu_seconds(children=False)
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds += cpu_seconds(children=False) - start
                self._inside = False

        return wrapper


def _takes_self(owner: type, name: str) -> bool:
    for base in owner.__mro__:
        if name in vars(base):
            return not isinstance(vars(base)[name], (staticmethod, classmethod))
    raise AttributeError(name)


def tosa_operators(flatbuffers: Iterable[bytes]) -> Counter[str]:
    """How often each TOSA operator occurs, constants included."""
    from tosa.Op import Op
    from tosa.TosaGraph import TosaGraph

    names = {number: name for name, number in vars(Op).items() if isinstance(number, int)}
    counts: Counter[str] = Counter()
    for flatbuffer in flatbuffers:
        graph = TosaGraph.GetRootAs(flatbuffer, 0)
        for region in map(graph.Regions, range(graph.RegionsLength())):
            for block in map(region.Blocks, range(region.BlocksLength())):
                counts.update(names[block.Operators(i).Op()] for i in range(block.OperatorsLength()))
    return counts


def vela(flatbuffers: Iterable[bytes], target: str) -> dict[str, float]:
    """Vela's estimate: total cycles, KiB of SRAM (the largest delegate's) and KiB of flash.

    Raises:
        RuntimeError: Vela refused a graph; its last line is quoted.
    """
    total = {"cycles": 0.0, "sram_kib": 0.0, "flash_kib": 0.0}
    for flatbuffer in flatbuffers:
        with tempfile.TemporaryDirectory(prefix="bench_vela_") as folder:
            source = Path(folder, "graph.tosa")
            source.write_bytes(flatbuffer)
            flags = [f"--accelerator-config={target}", "--config=Arm/vela.ini", *_VELA_FLAGS[target]]
            command = [str(Path(sys.executable).parent / "vela"), str(source), *flags, f"--output-dir={folder}"]
            done = subprocess.run([*command, "--output-format=raw"], capture_output=True, text=True, timeout=900)
            summaries = list(Path(folder).glob("*summary*.csv"))
            if not summaries:
                raise RuntimeError(f"Vela: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
            with summaries[0].open(newline="") as file:
                row = next(csv.DictReader(file))
        total["cycles"] += float(row["cycles_total"])
        total["sram_kib"] = max(total["sram_kib"], float(row["sram_memory_used"]))
        total["flash_kib"] += float(row["on_chip_flash_memory_used"]) + float(row["off_chip_flash_memory_used"])
    return total
