"""Runs tests in processes forked from one that has imported what they need: some of them change what others import."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from benchmarks.rival_suite import report, selection
from benchmarks.rival_suite.report import Record

_FORK = multiprocessing.get_context("fork")
#: Tests of one process: it imports their files, and starts Vela once.
_BATCH = 24
_OURS = "benchmarks.rival_suite.plugin"


def prepare(side: str) -> None:
    """Imports, once for all tests, what they need; on our side, with our classes where theirs are imported from."""
    needed = ["executorch.exir", "executorch.runtime", "torchao.quantization.pt2e.quantize_pt2e"]
    for name in [*needed, *([_OURS, "arm_runtime"] if side == "ours" else [])]:
        importlib.import_module(name)
    if side == "ours":
        _compile_once()
    gc.freeze()  # what is imported is not looked at again in each process


def _compile_once() -> None:
    """Quantizes, exports and compiles a module, since the libraries import much when they are first used."""
    import torch

    from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, get_symmetric_quantization_config, lower
    from arm_tosa_core.testing.harness import export_quantized

    spec = TosaCompileSpec("TOSA-1.0+INT")
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    lower(export_quantized(torch.nn.Conv2d(1, 1, 1), (torch.ones(1, 1, 2, 2),), quantizer), spec)


@dataclass(frozen=True)
class Limits:
    """How tests run.

    Args:
        jobs: processes at once.
        timeout: seconds for a test.
        minutes: no process begins later.
    """

    jobs: int
    timeout: float
    minutes: float


def run(names: Sequence[str], side: str, limits: Limits) -> Iterator[list[Record]]:
    """How each test ended, a few at a time."""
    todo = list(reversed(list(_groups(names))))
    running: dict[int, _Running] = {}
    end = time.monotonic() + 60 * limits.minutes
    while todo or running:
        if time.monotonic() > end:
            todo.clear()
        while todo and len(running) < limits.jobs:
            started = _Running(todo.pop(), side, limits.timeout)
            running[started.process.sentinel] = started
        wait(list(running), timeout=1)
        for sentinel, found in list(running.items()):
            found.end_if_late()
            if not found.process.is_alive():
                del running[sentinel]
                records, left = found.ended()
                if left:
                    todo.append(left)
                yield records


def _groups(names: Sequence[str]) -> Iterable[list[str]]:
    for start in range(0, len(names), _BATCH):
        yield sorted(names[start : start + _BATCH])


class _Running:
    """A process with some tests."""

    def __init__(self, names: list[str], side: str, timeout: float) -> None:
        self.names, self.side, self.timeout = names, side, timeout
        self.folder = tempfile.TemporaryDirectory()
        self.kept = Path(self.folder.name, "records.jsonl")
        self.kept.touch()
        self.process: BaseProcess = _FORK.Process(target=_child, args=(names, side, self.kept))
        self.process.start()
        self.last = (0, time.monotonic())
        self.late = False

    def end_if_late(self) -> None:
        """Kills the process, and those that it started, when a test takes too long."""
        done = self.kept.stat().st_size
        if done != self.last[0]:
            self.last = (done, time.monotonic())
        elif time.monotonic() - self.last[1] > self.timeout and self.process.is_alive() and self.process.pid:
            self.late = True
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.join()

    def ended(self) -> tuple[list[Record], list[str]]:
        """The records, and the tests that are still to run because the one before took the process down."""
        self.process.join()
        records = report.parse(self.kept.read_text(), self.side)
        self.folder.cleanup()
        seen = {record.test for record in records}
        left = [name for name in self.names if name not in seen]
        if not left:
            return records, []
        code = self.process.exitcode
        why = f"no end after {self.timeout:.0f} s" if self.late else f"the process ended with status {code}"
        return [*records, Record(left[0], self.side, "failed", why)], left[1:]


def _child(names: Sequence[str], side: str, kept: Path) -> None:
    import pytest

    os.setpgid(0, 0)
    selection.silence()
    os.environ["RIVAL_SUITE_RECORDS"] = str(kept)
    root = selection.folder()
    pytest.main(
        [*selection.arguments(root), "-q", "-p", "benchmarks.rival_suite.recorder", *(f"{root}/{n}" for n in names)]
    )
