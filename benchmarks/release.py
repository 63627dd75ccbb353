"""One measured release: all that the pages show, measured on one commit, one process at a time.

    nox -s bench-all                                # goes on where the run of this commit stopped; hours
    nox -s bench-all -- --list                      # the steps, their times, the commit of their newest rows
    nox -s bench-all -- lowering real               # these steps
    nox -s bench-all -- --litert /tmp/litert/bin/python --cmsis-nn FOLDER
    python -m benchmarks.release --pages            # what pages show of other commits than the last run's

Rows go to ``benchmarks/results``. The file ``release.json`` there has the commit of the run and the seconds of each
command that ended well; a command that is not there is run. A step whose needs are not met is left out and named. What
needs a GPU is prepared in a folder, which the last line names with what to do. ``release_steps.py`` lists the steps.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import gallery
from benchmarks.documents import write
from benchmarks.figures import Case, Figure, Figures
from benchmarks.processes import environment
from benchmarks.release_steps import STEPS, Step
from benchmarks.results import RESULTS, ROOT, Measurement, commit_of, read

RECORD = RESULTS / "release.json"
WORK = ROOT / "build" / "bench-all"
_RUNTIME = ROOT / "packages" / "arm-runtime-cpp" / "build"

Options = argparse.Namespace
#: What a step may need: where it is (empty: not here), and how to get it.
NEEDS: Mapping[str, tuple[Callable[[Options], str], str]] = {
    "compiler": (
        lambda _: shutil.which("arm-none-eabi-gcc") or "",
        "apt-get install gcc-arm-none-eabi qemu-system-arm",
    ),
    "wheels": (lambda _: str(next((ROOT / "build" / "dist").glob("*.whl"), "")), "nox -s wheels"),
    "packages": (
        lambda _: os.environ.get("BENCH_SITES", ""),
        "the packages of networks, which nox -s bench-all fetches",
    ),
    "peers": (
        lambda _: _modules("ncnn", "iree.compiler", "iree.runtime"),
        "ncnn and IREE, which nox -s bench-all fetches",
    ),
    "vgf_frame": (lambda _: str(next(_RUNTIME.rglob("vgf_frame"), "")), "vgf_frame, which nox -s tests builds"),
    "torchvision": (lambda _: _modules("torchvision"), "a torchvision that fits the installed PyTorch"),
    "litert": (lambda options: options.litert, "--litert PYTHON, with litert-torch and ai-edge-quantizer"),
    "cmsis_nn": (lambda options: options.cmsis_nn, "--cmsis-nn FOLDER, a checkout"),
    "estimator": (lambda _: _estimator(), "Arm's estimator: docs/how-to/estimate-vgf.md"),
}


def _modules(*names: str) -> str:
    """``yes`` where all are installed."""
    try:
        return "yes" if all(find_spec(name) for name in names) else ""
    except ModuleNotFoundError:  # of a package that the name is in
        return ""


def _estimator() -> str:
    from arm_vgf.nx_estimator import find_program

    return str(find_program() or "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what the command line asks for; the exit status is 1 if a command failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="NAME", help="steps (default: all)")
    parser.add_argument("--list", action="store_true", help="print the steps, and run nothing")
    parser.add_argument("--pages", action="store_true", help="print what pages show of other commits, and run nothing")
    parser.add_argument("--litert", default="", metavar="PYTHON", help="of an environment with litert-torch")
    parser.add_argument("--cmsis-nn", default="", metavar="FOLDER", help="a checkout of CMSIS-NN")
    options = parser.parse_args(arguments)
    sys.path += os.environ.get("BENCH_SITES", "").split(os.pathsep)
    if unknown := sorted(set(options.steps) - {step.name for step in STEPS}):
        parser.error(f"no such step: {', '.join(unknown)}; steps are: {', '.join(step.name for step in STEPS)}")
    chosen = [step for step in STEPS if not options.steps or step.name in options.steps]
    if options.list or options.pages:
        print("\n".join(listed(chosen, options) if options.list else pages(read(RESULTS), _record()["commit"])))
        return 0
    try:
        return run(chosen, options)
    except ValueError as error:
        parser.error(str(error))


def run(chosen: Sequence[Step], options: Options, record: Path = RECORD) -> int:
    """Runs the commands that the record of this commit lacks.

    Raises:
        ValueError: sources have changes, or the record is of another commit and not complete.
    """
    commit = commit_of(ROOT)
    if commit.endswith("+"):
        raise ValueError("the sources have changes: commit first, then measure")
    state = _record(record)
    if state["commit"] != commit:
        if rest := [step.name for step in STEPS if state["commit"] and _left(step, state, options)]:
            raise ValueError(
                f"the run of {state['commit']} is not complete, for want of {', '.join(rest)}: check that commit out "
                f"to go on, or remove {record} to begin anew with {commit}"
            )
        state = {"commit": commit, "done": {}, "failed": []}
    WORK.mkdir(parents=True, exist_ok=True)
    failed = state["failed"]
    for step in chosen:
        if lacking := _lacking(step, options):
            print(f"{step.name} is left out: it needs {'; '.join(lacking)}", flush=True)
        for command in [*_left(step, state, options), *(each for each in commands(step, options) if each in failed)]:
            print(f"{step.name}: python -m benchmarks.{command}", flush=True)
            began = time.monotonic()
            ended = subprocess.run(_words(command), cwd=ROOT, env=_environment(step), check=False)
            failed[:] = [*(each for each in failed if each != command), *([command] if ended.returncode else [])]
            if not ended.returncode:
                state["done"].setdefault(step.name, {})[command] = round(time.monotonic() - began)
            write(record, json.dumps(state, indent=1) + "\n")
    for step in chosen:
        if step.device and not _gpu() and step.name in state["done"]:
            command = _filled(step.device, options)
            print(f"On a machine with a GPU, with {WORK.relative_to(ROOT)} from here: python -m benchmarks.{command}")
    for command in failed:
        print(f"FAILED: python -m benchmarks.{command}")
    return int(bool(failed))


def _record(path: Path = RECORD) -> dict[str, Any]:
    """``commit``; ``done``, seconds by step and command; ``failed``, commands, which the next run tries again."""
    return json.loads(path.read_text()) if path.exists() else {"commit": "", "done": {}, "failed": []}


def _gpu() -> bool:
    return shutil.which("nvidia-smi") is not None


def _lacking(step: Step, options: Options) -> list[str]:
    return [how for need in step.needs for where, how in [NEEDS[need]] if not where(options)]


def _filled(command: str, options: Options, each: str = "") -> str:
    """A command with what stands in its braces."""
    places = {need: where(options) for need, (where, _) in NEEDS.items() if f"{{{need}}}" in command}
    return command.format(**places, each=each, python=sys.executable, work=WORK.relative_to(ROOT))


def commands(step: Step, options: Options) -> list[str]:
    """What a step runs on this machine; nothing where something lacks."""
    if _lacking(step, options):
        return []
    found = []
    for command in [*step.commands, *([step.device] if step.device and _gpu() else [])]:
        found += [_filled(command, options, each) for each in names(step)] if "{each}" in command else [
            _filled(command, options)
        ]  # fmt: skip
    return found


def names(step: Step) -> list[str]:
    """What ``{each}`` stands for."""
    module, _, attribute = step.each.partition(":")
    found = getattr(importlib.import_module(module), attribute) if module else []
    return list(found() if callable(found) else found)


def _left(step: Step, state: Mapping[str, Any], options: Options) -> list[str]:
    """The commands that have not run."""
    ended = {*state["done"].get(step.name, {}), *state["failed"]}
    return [command for command in commands(step, options) if command not in ended]


def _words(command: str) -> list[str]:
    module, *arguments = shlex.split(command)
    return [sys.executable, "-m", f"benchmarks.{module}", *arguments]


def _environment(step: Step) -> dict[str, str]:
    sites = os.environ.get("BENCH_SITES", "") if {"packages", "peers"} & set(step.needs) else ""
    paths = [path for path in (sites, os.environ.get("PYTHONPATH", "")) if path]
    # Not how many threads: that is the benchmarks' own.
    return {**os.environ, "PATH": environment()["PATH"], "PYTHONPATH": os.pathsep.join(paths)}


def listed(chosen: Iterable[Step], options: Options, results: Path = RESULTS) -> Iterator[str]:
    """A line for each step: commands done of this commit's, seconds of the last run, newest rows, what it needs."""
    state, here = _record(results / RECORD.name), commit_of(ROOT).rstrip("+")
    yield f"{'step':18}{'done':>9}{'minutes':>11}  {'newest rows':20}needs"
    for step in chosen:
        done = state["done"].get(step.name, {})
        of_commit = len(done) if state["commit"] == here else 0
        seconds = f"{sum(done.values()) / 60:.1f}" if done else f"about {step.about}" if step.about else "–"
        file = results / f"{step.name}.jsonl"
        newest = max(read(file), key=lambda row: row.date, default=None) if file.exists() else None
        rows = f"{newest.date[:10]} {newest.commit}" if newest else "none"
        needs = [*_lacking(step, options), *(["a GPU, for a part"] if step.device and not _gpu() else [])]
        count = f"{of_commit} of {len(commands(step, options)) or '?'}"
        yield f"{step.name:18}{count:>9}{seconds:>11}  {rows:20}{'; '.join(needs)}".rstrip()


class Shown(Figures):
    """Figures that remember which of them were asked for: ``asked`` has benchmark, case and commit of each."""

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        super().__init__(measurements)
        self.asked: list[tuple[str, Case, str]] = []

    def figure(self, benchmark: str, case: Case, side: str, metric: str) -> Figure | None:
        found = super().figure(benchmark, case, side, metric)
        self.asked += [(benchmark, case, found.commit)] if found else []
        return found

    def newest(self, benchmark: str, case: Case, side: str, metric: str) -> Measurement | None:
        found = super().newest(benchmark, case, side, metric)
        self.asked += [(benchmark, case, found.commit)] if found else []
        return found


def shown(rows: Sequence[Measurement]) -> dict[str, list[tuple[str, Case, str]]]:
    """By page and block: the figures there."""
    from benchmarks.page import PAGES
    from benchmarks.prose import SPANS

    found = {}
    for page in (*PAGES, *SPANS):
        for name, block in {**PAGES.get(page, {}), **SPANS.get(page, {})}.items():
            figures = Shown(rows)
            block(figures)
            found[f"{page.name}: {name}"] = figures.asked
    cells = gallery.cells(rows)
    found["gallery.md"] = [("", {"network": cell.network}, cell.commit) for cell in cells]
    return found


def pages(rows: Sequence[Measurement], release: str) -> Iterator[str]:
    """Which blocks of pages show figures of other commits than the release's, and how many of which."""
    yield f"The last run is of {release}." if release else "There was no run yet: all figures are of other commits."
    for block, figures in shown(rows).items():
        counts: dict[str, int] = defaultdict(int)
        for _, _, commit in figures:
            counts[commit] += 1
        if others := {commit: count for commit, count in counts.items() if commit != release}:
            most = sorted(others.items(), key=lambda item: -item[1])
            text = ", ".join(f"{count} of {commit}" for commit, count in most)
            yield f"{block}: {sum(others.values())} of {len(figures)} figures are older: {text}"


if __name__ == "__main__":
    sys.exit(main())
