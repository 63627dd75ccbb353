"""What a measurement is, and the JSON Lines files in ``benchmarks/results`` that keep them.

Every benchmark appends its measurements to ``results/BENCHMARK.jsonl``; ``page.py`` makes ``docs/benchmarks.md`` of
all of them. A later measurement of a case replaces an earlier one there, figure by figure; nothing is deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
_PACKAGES = (
    "torch",
    "torchao",
    "executorch",
    "tosa-tools",
    "ethos-u-vela",
    "ai-ml-sdk-model-converter",
    "ai-ml-emulation-layer-for-vulkan",
    "iree-base-compiler",
    "iree-base-runtime",
    "ncnn",
    "pnnx",
    "transformers",
)
_TEXT = ("benchmark", "side", "commit", "date", "machine", "command", "source")
#: The names that JSON has and Python cannot: ``from`` is a keyword.
_RENAMED = {"source": "from"}


@dataclass(frozen=True)
class Measurement:
    """One side of one case of a benchmark.

    Args:
        benchmark: the module of this folder that measures, without ``benchmarks.``.
        case: what was measured, such as ``{"network": "resnet18", "target": "ethos-u55-128"}``.
        side: ``ours``, ``rival``, or another implementation.
        metrics: figures by name; the unit is the end of the name (``_s`` seconds, ``_kib`` KiB, ``_db`` dB). ``error``
            is the text of a failure.
        commit: of this repository; ``+`` at its end: the sources had changes that were not committed.
        date: ISO 8601; equal for all measurements of one run, so that figures of one run can be told.
        machine: processor, number of cores, and GPU where one was used.
        versions: of the packages that the figures depend on.
        command: what measures it again.
        source: where a figure was copied from; empty for what a benchmark wrote itself.
    """

    benchmark: str
    case: dict[str, str]
    side: str
    metrics: dict[str, Any]
    commit: str
    date: str
    machine: str
    versions: dict[str, str]
    command: str
    source: str = ""

    def __post_init__(self) -> None:
        for name in _TEXT:
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{_RENAMED.get(name, name)} is not a text: {getattr(self, name)!r}")
        if not re.fullmatch(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?", self.date):
            raise ValueError(f"date is {self.date!r}; wanted YYYY-MM-DD or YYYY-MM-DDThh:mm:ss")
        for name in ("case", "metrics", "versions"):
            if not isinstance(getattr(self, name), dict):
                raise ValueError(f"{name} is not an object: {getattr(self, name)!r}")

    def to_json(self) -> str:
        """One line of JSON."""
        row = {_RENAMED.get(field.name, field.name): getattr(self, field.name) for field in fields(self)}
        if not self.source:
            del row["from"]
        return json.dumps(row, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Measurement:
        """The measurement of a line.

        Raises:
            ValueError: it is no JSON object, or a field is missing, unknown or of the wrong type.
        """
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ValueError("not a JSON object")
        names = {_RENAMED.get(field.name, field.name): field.name for field in fields(cls)}
        if unknown := sorted(set(row) - set(names)):
            raise ValueError(f"unknown fields: {', '.join(unknown)}")
        if missing := [name for name in names if name not in row and name != "from"]:
            raise ValueError(f"missing fields: {', '.join(missing)}")
        return cls(**{names[name]: value for name, value in row.items()})


@dataclass(frozen=True)
class Run:
    """What all measurements of one run have in common; ``Run.here`` finds it out."""

    benchmark: str
    commit: str
    date: str
    machine: str
    versions: dict[str, str]
    command: str

    @classmethod
    def here(cls, benchmark: str, gpu: str = "", command: str = "") -> Run:
        """The run that begins now; its command is that which started this process, unless another is given."""
        program = Path(sys.argv[0])
        words = [program.parent.name if program.stem == "__main__" else program.stem, *sys.argv[1:]]
        return cls(
            benchmark=benchmark,
            commit=commit_of(ROOT),
            date=time.strftime("%Y-%m-%dT%H:%M:%S"),
            machine=", ".join(
                text for text in (_processor(), f"{os.cpu_count()} cores", platform.machine(), gpu) if text
            ),
            versions={"python": platform.python_version(), **_versions()},
            command=command or f"python -m benchmarks.{shlex.join(words)}",
        )

    def measured(self, case: Mapping[str, str], side: str, metrics: Mapping[str, Any]) -> Measurement:
        """A measurement of this run."""
        return Measurement(case=dict(case), side=side, metrics=dict(metrics), **vars(self))


def commit_of(root: Path) -> str:
    """The commit that is checked out in a folder; ``unknown`` outside of a git checkout.

    ``+`` at its end: the sources have changes. Results and documents are none.
    """

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.strip()

    sources = (":/", ":(top,exclude)benchmarks/results", ":(top,exclude)docs")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *sources)
    return (git("rev-parse", "--short=7", "HEAD") or "unknown") + ("+" if changed else "")


def _processor() -> str:
    """The name of the processor, where Linux says it."""
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return found[1] if found else platform.processor()


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def default_file(benchmark: str) -> Path:
    """Where a benchmark's measurements are kept."""
    return RESULTS / f"{benchmark}.jsonl"


def add_results_option(parser: argparse.ArgumentParser, benchmark: str) -> None:
    """``--results FILE``, the file that measurements are appended to."""
    parser.add_argument(
        "--results",
        type=Path,
        default=default_file(benchmark),
        metavar="FILE",
        help=f"measurements are appended to it (default: {default_file(benchmark).relative_to(ROOT)})",
    )


def record(path: Path, measurements: Iterable[Measurement]) -> Iterator[Measurement]:
    """Appends each measurement to a file as soon as it is made, and passes it on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for measurement in measurements:
        with path.open("a", encoding="utf-8") as file:
            file.write(measurement.to_json() + "\n")
        yield measurement


def read(path: Path) -> list[Measurement]:
    """The measurements of a file, or of all files of a folder, in the order in which they stand there.

    Raises:
        ValueError: a line is no measurement; file and line are named.
    """
    made = []
    for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            try:
                made.append(Measurement.from_json(line))
            except ValueError as error:
                raise ValueError(f"{file}, line {number}: {error}") from error
    return made


def progress(measurement: Measurement) -> str:
    """A measurement on one line, for who waits."""
    shown = [f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
             for name, value in measurement.metrics.items() if isinstance(value, (int, float, str))]  # fmt: skip
    return f"{measurement.side:>5} {' '.join(measurement.case.values())}: {' '.join(shown)}"


def run_and_record(path: Path, measurements: Iterable[Measurement], wrong: Callable[[Measurement], str]) -> int:
    """Records measurements and prints each; the exit status is 1 if ``wrong`` finds a fault in any."""
    faults = 0
    for measurement in record(path, measurements):
        print(progress(measurement), flush=True)
        if text := wrong(measurement):
            faults += 1
            print(f"  WRONG: {text}", flush=True)
    return int(faults > 0)
