"""CPU time of ``arm-tosa compile`` beside that of ``vela`` on the same ``.tflite`` file: whole processes.

    python -m benchmarks.tflite_files --fetch /tmp/files
    python -m benchmarks.tflite_cpu /tmp/files

A repeat runs, one behind the other, ``arm-tosa compile`` with an empty cache folder (``process_cpu_s`` of ours), the
same again with what that left there (``again_cpu_s``), and ``vela``. Each is a process with its children, on one
thread; their bytecode has been written, as that of installed packages is.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.processes import environment
from benchmarks.results import Measurement, Run, add_results_option, run_and_record
from benchmarks.tflite_files import TARGETS

_LIMIT = 600.0  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="files, or folders of them")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--repeat", type=int, default=3)
    add_results_option(parser, "tflite_cpu")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), lambda m: m.metrics.get("error", ""))


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("tflite_cpu")
    paths = [p for given in options.files for p in (sorted(given.glob("*.tflite")) if given.is_dir() else [given])]
    _repeat(paths[0], options.targets[0])  # which writes the bytecode
    for path in paths:
        for target in options.targets:
            case = {"file": path.stem.replace("-", "_"), "target": target}
            for _ in range(options.repeat):
                try:
                    found = _repeat(path, target)
                except subprocess.CalledProcessError as error:
                    lines = error.stderr.decode(errors="replace").strip().splitlines() or [""]
                    yield run.measured(case, Path(error.cmd[0]).name, {"error": lines[-1][:300]})
                    break
                for side, metrics in found.items():
                    yield run.measured(case, side, metrics)


def _repeat(path: Path, target: str) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory(prefix="bench_cpu_") as folder:
        ours = ["arm-tosa", "compile", str(path), "--target", target, "-o", f"{folder}/made.pte"]
        kept = {**environment(), "ARM_TOSA_CACHE_DIR": f"{folder}/cache"}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        first, again = (_seconds(ours, kept) for _ in range(2))
        other = _seconds(["vela", str(path), f"--accelerator-config={target}", f"--output-dir={folder}"], kept)
    return {"ours": {"process_cpu_s": first, "again_cpu_s": again}, "vela": {"process_cpu_s": other}}


def _seconds(command: Sequence[str], variables: Mapping[str, str]) -> float:
    """CPU time, user and system, of a command and of the processes that it has waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, timeout=_LIMIT, env=variables)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


if __name__ == "__main__":
    sys.exit(main())
