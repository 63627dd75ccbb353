"""Runs the TOSA operator tests that ship in the rival's wheel on this project's compiler.

``python -m benchmarks.rival_suite --shard 1/20`` takes every twentieth file, the first included; ``--only add`` takes
files by name. Prints how many tests passed, failed and were left out, the failures, and the reasons of what was left
out. Files run in processes of their own: some of them change what others import.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ENDED = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (?:\[(\d+)\] )?(.*)$")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="every Nth file from the Kth on")
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for a file (default 3600)")
    options = parser.parse_args()
    shard, shards = (int(number) for number in options.shard.split("/"))
    found = importlib.util.find_spec("executorch")
    assert found is not None and found.submodule_search_locations is not None
    tests = Path(found.submodule_search_locations[0], "backends", "arm", "test")
    files = [file for file in sorted((tests / "ops").glob("test_*.py")) if options.only in file.name]
    counts: collections.Counter[str] = collections.Counter()
    left_out: collections.Counter[str] = collections.Counter()
    failures = []
    for file in files[shard - 1 :: shards]:
        for outcome, number, text in _run(file, tests, options.timeout):
            counts[outcome] += number
            if outcome == "left out":
                left_out[text] += number
            if outcome == "failed":
                failures.append(text)
        print(f"{file.name}: so far {_counted(counts)}", flush=True)
    print("\n".join(["", *failures, "", *(f"{number:6} {why}" for why, number in left_out.most_common())]))
    print(_counted(counts))


def _counted(counts: collections.Counter[str]) -> str:
    return ", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "left out"))


def _run(file: Path, tests: Path, timeout: int) -> list[tuple[str, int, str]]:
    """Outcome, how many, and the test's name or the reason."""
    options = ["-q", "-rA", "--tb=line", "--no-header", "-p", "no:cacheprovider", "-p", "benchmarks.rival_suite.plugin"]
    command = [sys.executable, "-m", "pytest", str(file), "-k", "tosa_FP or tosa_INT", *options, f"--rootdir={tests}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, check=False)
    except subprocess.TimeoutExpired:
        return [("failed", 1, f"{file.name}: no end after {timeout} s")]
    ended = [match.groups() for line in done.stdout.splitlines() if (match := _ENDED.match(line))]
    if not ended and done.returncode not in (0, 5):  # 5: nothing was selected
        return [("failed", 1, f"{file.name}: {(done.stdout + done.stderr).strip().splitlines()[-1]}")]
    names = {"PASSED": "passed", "XPASS": "passed", "SKIPPED": "left out", "XFAIL": "left out"}
    return [
        (names.get(outcome, "failed"), int(number or 1), _reason(outcome, text.removeprefix(str(tests))))
        for outcome, number, text in ended
    ]


def _reason(outcome: str, text: str) -> str:
    if outcome == "XFAIL":
        return "the rival expects it to fail"
    return text.split(": ", 1)[-1] if outcome == "SKIPPED" else text


if __name__ == "__main__":
    main()
