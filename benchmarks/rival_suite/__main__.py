"""Runs the tests that ship in the rival's wheel on this project's compiler.

``python -m benchmarks.rival_suite --records r.jsonl`` runs its operator tests for TOSA. ``--folders models misc`` names
folders of its tests, ``--targets u55 u85 vgf`` targets: there a module becomes a ``.pte``, which ExecuTorch's runtime
runs with our delegates. ``--shard 1/20`` runs every twentieth file, the first included, ``--only add`` files by name,
``--missing`` only files of which there is no record for these targets, to go on after a break, ``--sample 300`` so many
tests, chosen by the seed ``--seed``. Results go to the records file, test by test, a later one replacing an earlier.
``--rival`` then runs those that failed on the rival itself. ``--report`` runs nothing: it prints how many tests
passed, failed and were left out, the failures, and the reasons of what was left out; ``--update FILE`` writes that
into a document. Files run in processes of their own: some of them change what others import.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.rival_suite import report
from benchmarks.rival_suite.report import Record

ROOT = Path(__file__).resolve().parents[2]

#: Of the rival's tests, those that run a module on a target; passes and its own tools are not ours.
_FOLDERS = ("ops", "models", "misc", "modules", "quantizer")

#: What the names of a target's tests contain.
_TARGETS = {
    "tosa": ("tosa_FP", "tosa_INT"),
    "u55": ("u55_INT", "u55_a16w8"),
    "u65": ("u65_INT", "u65_a16w8"),
    "u85": ("u85_INT", "u85_a16w8"),
    "vgf": ("vgf_quant", "vgf_no_quant", "vgf_INT", "vgf_FP"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="every Nth file from the Kth on")
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--folders", nargs="+", default=["ops"], choices=_FOLDERS, help="folders (default ops)")
    parser.add_argument("--targets", nargs="+", default=["tosa"], choices=_TARGETS, help="targets (default tosa)")
    parser.add_argument("--missing", action="store_true", help="only files that have no record for these targets")
    parser.add_argument("--sample", type=int, metavar="N", help="N tests, chosen by --seed, of the files")
    parser.add_argument("--seed", type=int, default=0, help="of --sample (default 0)")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for a file (default 3600)")
    parser.add_argument("--records", type=Path, help="where results are kept (default: nowhere)")
    parser.add_argument("--failed", action="store_true", help="only the tests that the records say we failed")
    parser.add_argument("--rival", action="store_true", help="run the tests that we failed on the rival itself")
    parser.add_argument("--report", action="store_true", help="run nothing, print what the records say")
    parser.add_argument("--update", type=Path, metavar="FILE", help="write the report into this document")
    options = parser.parse_args()
    if (options.rival or options.failed or options.report or options.update) and not options.records:
        parser.error("--rival, --failed, --report and --update need --records FILE")
    records = report.read(options.records) if options.records else {}
    if not (options.report or options.update):
        shard, shards = (int(number) for number in options.shard.split("/"))
        side = "rival" if options.rival else "ours"
        words = " or ".join(word for target in options.targets for word in _TARGETS[target])
        files = [f for f in _files(options.folders) if options.only in f.name][shard - 1 :: shards]
        chosen = _sample(files, words, options.sample, options.seed) if options.sample else {}
        for file in files:
            wanted = chosen.get(file) if options.sample else _wanted(file, records, options.failed, options.rival)
            if options.missing and _recorded(file, records, options.targets):
                continue
            if wanted is not None:
                made = _run(file, wanted, words, side, options.timeout)
                records |= {(record.test, side): record for record in made}
                if options.records:
                    report.append(options.records, made)
            print(f"{file.name}: so far {report.counted(records)}", flush=True)
    print(report.text(records))
    if options.update:
        report.update(options.update, records)


def _tests() -> Path:
    found = importlib.util.find_spec("executorch")
    assert found is not None and found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0], "backends", "arm", "test")


def _files(folders: Sequence[str]) -> list[Path]:
    return sorted(file for folder in folders for file in (_tests() / folder).rglob("test_*.py"))


def _recorded(file: Path, records: dict[tuple[str, str], Record], targets: Sequence[str]) -> bool:
    """Whether each target has a record of a test of this file."""
    names = [test for (test, side) in records if side == "ours" and test.split("::")[0].endswith(f"/{file.name}")]
    return all(any(word in name for name in names for word in _TARGETS[target]) for target in targets)


def _sample(files: Sequence[Path], words: str, size: int, seed: int) -> dict[Path, list[str]]:
    """So many of the tests of these files, by file; the same ones for one seed."""
    tests = _tests()
    command = [sys.executable, "-m", "pytest", *map(str, files), "-k", words, "-q", "--collect-only", "--no-header"]
    command += [f"--rootdir={tests}", "-p", "no:cacheprovider", "-p", "benchmarks.rival_suite.plugin"]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=3600).stdout
    names = [line for line in said.splitlines() if "::" in line and line.startswith(tuple(_FOLDERS))]
    chosen = random.Random(seed).sample(names, min(size, len(names)))
    return {
        file: found for file in files if (found := [n for n in chosen if str(tests / n.split("::")[0]) == str(file)])
    }


def _wanted(file: Path, records: dict[tuple[str, str], Record], failed: bool, rival: bool) -> list[str] | None:
    """The names of the tests of a file to run; an empty list for all, None for nothing."""
    if not (failed or rival):
        return []
    mine = [r for (_, side), r in records.items() if side == "ours" and r.file == file.name and r.outcome == "failed"]
    names = [r.test for r in mine if not (rival and (r.test, "rival") in records)]
    return names or None


def _run(file: Path, names: list[str], words: str, side: str, timeout: int) -> list[Record]:
    """Runs a file, or some of its tests, and gives how each ended."""
    tests = _tests()
    plugins = ["-p", "no:cacheprovider", "-p", "benchmarks.rival_suite.recorder"]
    plugins += ["-p", "benchmarks.rival_suite.plugin"] if side == "ours" else []
    what = [f"{tests}/{name}" for name in names] or [str(file), "-k", words]
    command = [sys.executable, "-m", "pytest", *what, "-q", "--tb=line", "--no-header", f"--rootdir={tests}", *plugins]
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "records.jsonl")
        environment = {**os.environ, "RIVAL_SUITE_RECORDS": str(kept)}
        last = ""
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, env=environment, check=False
            )
            if done.returncode not in (0, 1, 5):  # 1: some failed, 5: nothing was selected
                last = ([*(done.stdout + done.stderr).strip().splitlines()] or [f"exit status {done.returncode}"])[-1]
        except subprocess.TimeoutExpired:
            last = f"no end after {timeout} s"
        made = report.parse(kept.read_text(), side) if kept.exists() else []
    if last:
        made.append(Record(str(file.relative_to(tests)), side, "failed", last))
    return made


if __name__ == "__main__":
    main()
