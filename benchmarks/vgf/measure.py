"""Programs of a folder on every side, in turn."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.results import Measurement, Run
from benchmarks.vgf.manifest import Manifest, Program
from benchmarks.vgf.worker import SideError, Worker, load_twice

OURS = ("native", "compute", "layer")


@dataclass
class Turn:
    """A side that takes turns with others, and what it was seen to do."""

    side: str
    program: Program
    worker: Worker | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    times: list[tuple[float, float]] = field(default_factory=list)

    def fail(self, error: SideError) -> None:
        """It takes no more turns."""
        self.worker = None
        self.metrics = {"error": str(error)}


def measured(
    folder: Path, sides: Sequence[str], repeat: int, rounds: int, networks: Sequence[str] = ()
) -> Iterator[Measurement]:
    """Measurements of the programs in a folder, network by network.

    Args:
        sides: names of ``sides.SIDES``, in the order of their turns.
        networks: only these; empty: all.
    """
    manifest = Manifest.read(folder)
    for network in dict.fromkeys(program.network for program in manifest.programs):
        if networks and network not in networks:
            continue
        of_network = [program for program in manifest.programs if program.network == network]
        turns = [Turn(side, program) for side in sides for program in of_network if program.kind == kind_of(side)]
        device = take_turns(folder, turns, repeat, rounds)
        here = Run.here("vgf", gpu=device)
        run = replace(here, commit=manifest.commit, versions={**manifest.versions, **here.versions})
        for turn in turns:
            engine = turn.side if turn.side in OURS else "vulkan"
            case = {"network": network, "scheme": turn.program.scheme, "engine": engine}
            yield run.measured(case, "ours" if turn.side in OURS else turn.side, turn.metrics)


def kind_of(side: str) -> str:
    """The kind of program that a side takes."""
    return "vgf" if side in OURS else side


def take_turns(folder: Path, turns: Iterable[Turn], repeat: int, rounds: int) -> str:
    """Measures; returns the device that the first of ours ran on, on which peers run too."""
    device = ""
    with ExitStack() as stack:
        for turn in turns:
            _load(folder, turn, device, stack)
            device = device or str(turn.metrics.pop("device", ""))
        for _ in range(rounds):
            for turn in turns:
                _ask(turn, repeat)
        for turn in turns:
            _finish(turn, repeat)
    return device


def _load(folder: Path, turn: Turn, device: str, stack: ExitStack) -> None:
    program = turn.program
    if program.error:
        turn.fail(SideError(program.error))
        return
    caches = stack.enter_context(tempfile.TemporaryDirectory())
    inputs = [folder / name for name in program.inputs]
    try:
        worker, loads = load_twice(turn.side, program.scheme, folder / program.file, inputs, device, Path(caches))
    except SideError as error:
        turn.fail(error)
        return
    turn.worker = stack.enter_context(worker)
    known: dict[str, Any] = {
        name: worker.loaded[name] for name in ("device", "memory_mib", "saved_mib") if name in worker.loaded
    }
    turn.metrics = {**loads, **known}


def _ask(turn: Turn, repeat: int) -> None:
    if turn.worker is not None:
        try:
            turn.times += turn.worker.run(repeat)
        except SideError as error:
            turn.fail(error)


def _finish(turn: Turn, repeat: int) -> None:
    if turn.worker is None:
        return
    turn.metrics.pop("device", None)
    walls, cpus = zip(*turn.times, strict=True)
    turn.metrics |= {
        "latency_ms": statistics.median(walls),
        "fastest_ms": min(walls),
        "cpu_ms": statistics.median(cpus),
        "load": os.getloadavg()[0],
    }
    try:
        if times := turn.worker.device_ms(repeat):
            turn.metrics["device_ms"] = statistics.median(times)
    except SideError as error:
        turn.fail(error)
