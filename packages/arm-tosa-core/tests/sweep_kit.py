"""What tests of sweeps share: made-up evaluations, sources that hold nothing, and work for worker processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from arm_tosa_core.exir.figures import Figures
from arm_tosa_core.sweep.point import Accuracy, Evaluation, Point


def evaluation(
    sram: int | None = 1024,
    file: int = 2048,
    latency: float | None = 1e-3,
    metric: float | None = None,
    sqnr: float | None = None,
    program: str | None = "p",
    dram: int | None = 0,
) -> Evaluation:
    """An evaluation of which only this matters; the float model's metric is 1."""
    cycles, clock = (None, None) if latency is None else (latency * 1e9, 1e9)
    figures = Figures(3, 0, 1, cycles, clock, sram, dram, 0, file, 0.1)
    accuracy = None
    if metric is not None or sqnr is not None:
        accuracy = Accuracy(metric, None if metric is None else 1.0, sqnr)
    return Evaluation(figures, accuracy, program, 0.1)


class NoSources:
    """Sources for evaluations that ask nothing of them."""

    def __init__(self, name: str = "net") -> None:
        self.name = name

    def digest(self) -> str:
        return self.name


def _note(folder: str, word: str) -> None:
    """Adds a line to what workers did."""
    with Path(folder, "done.txt").open("a") as file:
        file.write(f"{word}\n")


def notes(folder: Path) -> list[str]:
    """The lines."""
    file = folder / "done.txt"
    return file.read_text().splitlines() if file.exists() else []


def square(folder: str, number: int) -> int:
    """Work that is noted once it is done."""
    time.sleep(0.02)
    _note(folder, str(number))
    return number * number


def square_or_die(folder: str, number: int, deadly: int, times: int) -> int:
    """``square``, but the process is killed by ``deadly``, so many times."""
    died = notes(Path(folder)).count("died")
    if number == deadly and died < times:
        _note(folder, "died")
        os.kill(os.getpid(), signal.SIGKILL)
    return square(folder, number)


def fill(size: int) -> int:
    """Takes memory."""
    return len(bytearray(size))


def fail(text: str) -> Any:
    """Fails with an error that does not survive the way back from a process."""

    class Local(Exception):
        pass

    raise Local(text)


def slow(folder: str, seconds: float) -> None:
    """Says who works, then works for long."""
    _note(folder, str(os.getpid()))
    time.sleep(seconds)


def made_up(sources: Any, folder: str, point: Point) -> Evaluation:
    """An evaluation that depends on the point alone, noted in the folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    _note(folder, str(point))
    number = sum(map(ord, str(point)))
    return evaluation(1024 + number % 7, 2048 + number % 11, 1e-3 * (1 + number % 5), metric=1 - number % 3 / 100)
