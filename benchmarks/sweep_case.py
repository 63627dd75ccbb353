"""One case of ``sweep.py`` in a process of its own.

Usage: python -m benchmarks.sweep_case STEP POINTS [WORKERS] RESULT. STEP is ``sweep``, ``alone``, ``resume`` or
``scale``.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arm_tosa_core.exir.figures import Figures
from arm_tosa_core.exir.target_options import compile_spec_for
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.sweep import run
from arm_tosa_core.sweep.engine import Here
from arm_tosa_core.sweep.limits import Limits
from arm_tosa_core.sweep.point import Evaluation, Point
from arm_tosa_core.sweep.pool import Pool
from arm_tosa_core.sweep.space import Space, targets_named
from benchmarks.probes import cpu_seconds, recorded
from benchmarks.processes import environment
from benchmarks.results import ROOT

#: Seconds that a simulated evaluation takes.
_WORK = 0.5


def main(step: str, points: str, *more: str) -> None:
    """Runs the case and writes its figures; an exception becomes the figure ``error``."""
    *workers, result_path = more
    result: dict[str, Any] = {}
    steps = {"sweep": _sweep, "alone": _alone, "resume": _resume, "scale": _scale}
    with tempfile.TemporaryDirectory(prefix="bench_sweep_") as folder, recorded(result, result_path):
        os.environ["ARM_TOSA_CACHE_DIR"] = f"{folder}/cache"
        result |= steps[step](int(points), Path(folder), *map(int, workers))


def _space(points: int) -> Space:
    """100 points of MobileNetV2: all accelerators; for a trial of the benchmark itself some on one."""
    modes, budgets = ["Shared_Sram", "Sram_Only"], ["default", "2560K", "3M"]
    u55 = {name: {"memory_mode": modes, "sram_budget": budgets} for name in targets_named("ethos-u55-*")}
    u85 = {name: {"sram_budget": [*budgets, "2304K", "4M"]} for name in targets_named("ethos-u85-*")}
    u65 = {"ethos-u65-256": {"memory_mode": ["Dedicated_Sram_384KB"]}}
    targets = {**u55, **u85, **u65}
    return Space(
        targets if points >= 100 else {"ethos-u55-128": {"sram_budget": budgets[:points]}}, ["int8", "int16x8"]
    )


@dataclass(frozen=True)
class _Network:
    """MobileNetV2, and one sample."""

    def program(self, parameters: Any) -> Any:
        import torch

        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        from models import MODELS

        torch.set_num_threads(1)
        net, inputs = MODELS["mobilenet_v2"]()
        return torch.export.export(net, inputs(0))

    def calibration(self, program: Any, parameters: Any) -> list[Any]:
        return [program.example_inputs]

    def evaluation(self, program: Any, parameters: Any) -> list[Any]:
        return [program.example_inputs]

    def metric(self) -> None:
        return None

    def digest(self) -> str:
        return "mobilenet_v2"


def _sweep(points: int, folder: Path) -> dict[str, Any]:
    space = _space(points)
    results = run.sweep(space, _Network(), folder / "study", Pool(2), limits=Limits(), judged=True, most=len(space))
    known = [result.outcome for result in results if isinstance(result.outcome, Evaluation)]
    return {"cpu_s": round(cpu_seconds(children=True), 1), "compiled": len(known)}


def _alone(points: int, folder: Path) -> dict[str, Any]:
    """The compilations of the same points, each from its quantized program in memory; all is loaded and warm.

    They too are done by two processes side by side, as cores that share a processor's units are slower then.
    """
    work: dict[str, list[Point]] = {}
    for point in _space(points):
        work.setdefault(point.scheme, []).append(point)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
        done = list(processes.map(_compiled, work.values(), [folder] * len(work)))
    return {"cpu_s": round(sum(cpu for cpu, _ in done), 1), "compiled": sum(compiled for _, compiled in done)}


def _compiled(points: list[Point], folder: Path) -> tuple[float, int]:
    """The CPU seconds of compiling points, and how many could be."""
    import torch

    from arm_ethosu import vela_batch
    from arm_tosa_core.flow import lower
    from arm_tosa_core.support.errors import ArmTosaError
    from arm_tosa_core.sweep.quantized import quantized

    torch.set_num_threads(1)
    work = []
    for point in points:
        spec = compile_spec_for(plugins.target(point.target), dict(point.options))
        work.append((quantized(_Network(), folder, (), point.scheme, spec).program, spec))
    lower(*work[0])
    vela_batch.close()  # its CPU time counts from when it has ended
    before, compiled = cpu_seconds(children=True), 0
    for program, spec in work:
        with suppress(ArmTosaError):
            lower(program, spec)
            compiled += 1
    vela_batch.close()
    return cpu_seconds(children=True) - before, compiled


def _resume(points: int, folder: Path) -> dict[str, Any]:
    """A sweep of the command line that knows all points but one, until it hands that one out."""
    timeouts = list(range(1000, 1000 + points // 8))
    (folder / "net.py").write_text("def make(): ...\n")
    table = '[targets."ethos-u55-*"]\nmemory_mode = ["Shared_Sram", "Sram_Only"]\n'
    for end in ("", ", 1"):
        (folder / "space.toml").write_text(f"{table}timeout = [{', '.join(map(str, timeouts))}{end}]\n")
        command = [sys.executable, "-m", "benchmarks.sweep_case", "first" if end else "fill", str(folder)]
        said = subprocess.run(command, env=environment(), cwd=ROOT, check=True, capture_output=True, text=True).stdout
    cpu, wall = map(float, said.split()[-2:])
    return {"cpu_s": round(cpu, 2), "clock_s": round(wall, 2)}


def fill(folder: str) -> None:
    """Makes up an evaluation of each point of ``_resume``."""
    _command(folder, Here(), _made_up)


def first(folder: str) -> None:
    """Says how long it took until the first evaluation was to start."""
    _command(folder, _First(), _made_up)


def _command(folder: str, engine: Any, evaluate: Any) -> None:
    from arm_tosa_core.cli import sweep as command

    os.chdir(folder)
    vars(command)["_engine"] = lambda *_: engine
    vars(run).update(evaluate=evaluate, identify=lambda *_: "program")
    sys.argv = ["arm-tosa", "sweep", "net.py:make", "--space", "space.toml", "--points", "100000"]
    from arm_tosa_core.cli.main import main as arm_tosa

    arm_tosa()


class _First(Here):
    """Ends the process when an evaluation is to start."""

    def start(self, name: Any, function: Any, *arguments: Any) -> None:
        if function is not _made_up:
            super().start(name, function, *arguments)
            return
        started = time.clock_gettime(time.CLOCK_BOOTTIME) - _process_start()
        print(cpu_seconds(children=True), started, file=sys.__stdout__, flush=True)
        os._exit(0)


def _process_start() -> float:
    """When this process began, seconds since the machine did."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


def _made_up(sources: Any, folder: str, point: Point) -> Evaluation:
    number = sum(map(ord, str(point)))
    figures = Figures(9, 0, 1, 1e6 + number, 1e9, 4096 + number, 0, 0, 65536 + number % 7, 0.0)
    return Evaluation(figures, None, "program", 0.0)


def _scale(points: int, folder: Path, workers: int) -> dict[str, Any]:
    """Points that sleep, on workers of dask that are threads of this process."""
    from distributed import Client, LocalCluster

    from arm_tosa_core.sweep.dask_engine import Dask

    vars(run)["evaluate"] = _sleep
    space = Space({"tosa-int": {}}, ["int8"], {"n": list(range(points))})
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, Client(cluster) as client:
        began, before = time.perf_counter(), cpu_seconds(children=False)
        run.sweep(space, _Network(), folder, Dask(client), limits=Limits(), judged=False, most=points)
        took, cpu = time.perf_counter() - began, cpu_seconds(children=False) - before
    ideal = points * _WORK / workers
    return {"clock_s": round(took, 1), "ideal_s": ideal, "cpu_s": round(cpu, 1), "efficiency": round(ideal / took, 3)}


def _sleep(sources: Any, folder: str, point: Point) -> Evaluation:
    time.sleep(_WORK)
    return _made_up(sources, folder, point)


if __name__ == "__main__":
    step, *arguments = sys.argv[1:]
    {"fill": fill, "first": first}.get(step, lambda *words: main(step, *words))(*arguments)
