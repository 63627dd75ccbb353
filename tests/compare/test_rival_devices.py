"""Tests of the rival's for devices pass here: from a module to what ExecuTorch's runtime gives with our delegates."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.rival_suite import report, selection

ROOT = Path(__file__).parents[2]
TESTS = [
    f"ops/test_abs.py::test_abs_{kind}[{data}]"
    for kind, data in (
        ("u55_INT", "randn_4d"),
        ("u85_INT", "randn_4d"),
        ("vgf_quant", "randn_4d"),
        ("vgf_no_quant", "randn_4d"),
        ("vgf_no_quant", "randn_4d_fp16"),
    )
]


def _outcomes(folder: Path, *words: str) -> dict[str, str]:
    kept = folder / "records.jsonl"
    # in a process of its own: ours stand where the rival's classes are imported from
    command = [sys.executable, "-m", "benchmarks.rival_suite", "--records", str(kept), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    records, _ = report.read(kept)
    return {test: record.outcome for (test, _), record in records.items()}


def test_programs_of_devices_compute_what_pytorch_does(tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime")
    kept = tmp_path / "records.jsonl"
    report.append(kept, [report.Record(test, "ours", "failed") for test in TESTS])
    words = ("--failed", "--only", "test_abs", "--targets", "u55", "u85", "vgf", "--jobs", "2")
    assert _outcomes(tmp_path, *words) == dict.fromkeys(TESTS, "passed")


def test_records_pack_and_say_when_they_were_made(tmp_path: Path) -> None:
    kept = tmp_path / "records.jsonl"
    run = report.begin(kept, {})
    report.append(kept, [report.Record(f"ops/test_a.py::test_a[{n}]", "ours", "failed", "no", run=run) for n in "ab"])
    report.append(kept, [report.Record("ops/test_a.py::test_a[b]", "ours", "passed", run=run)])
    records, runs = report.read(kept)
    assert report.begin(kept, runs) == run and set(runs[run]) == {"commit", "date", "machine"}
    report.pack(kept, records, runs)
    assert report.read(kept) == (records, runs)
    assert {test: record.outcome for (test, _), record in records.items()} == {
        "ops/test_a.py::test_a[a]": "failed",
        "ops/test_a.py::test_a[b]": "passed",
    }


def test_known_failures_may_fail_and_must(tmp_path: Path) -> None:
    listed = tmp_path / "known.txt"
    listed.write_text("# the tests that fail\n\nops/test_a.py::test_a[b] # the cause\n")
    known = report.known_failures(listed)
    assert known == {"ops/test_a.py::test_a[b]"}
    ended = {"b": "failed", "c": "failed", "d": "passed"}
    records = [report.Record(f"ops/test_a.py::test_a[{n}]", "ours", how, "why") for n, how in ended.items()]
    assert report.surprises(records, known) == ["ops/test_a.py::test_a[c] fails: why"]
    passed = [report.Record("ops/test_a.py::test_a[b]", "ours", "passed")]
    (found,) = report.surprises(passed, known)
    assert found == "ops/test_a.py::test_a[b] is listed as a known failure and passed: take it off the list"
    expected = [report.Record("ops/test_a.py::test_a[e]", "ours", "failed", expected_to_fail=True)]
    assert report.surprises(expected, known) == []


def test_shards_share_one_order_and_the_first_of_it_is_the_sample() -> None:
    names = [f"test_{number}" for number in range(20)]
    order = selection.in_order(names, "seed", "1/1")
    assert selection.in_order(reversed(names), "seed", "1/1") == order != names
    assert [*selection.in_order(names, "seed", "1/2"), *selection.in_order(names, "seed", "2/2")] == order[::2] + order[
        1::2
    ]
