"""Tests of the rival's for devices pass here: from a module to what ExecuTorch's runtime gives with our delegates."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert done.returncode == 0, done.stderr[-2000:]
    return {record["test"]: record["outcome"] for record in map(json.loads, kept.read_text().splitlines())}


def test_programs_of_devices_compute_what_pytorch_does(tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime")
    kept = tmp_path / "records.jsonl"
    failed = [{"test": test, "side": "ours", "outcome": "failed"} for test in TESTS]
    kept.write_text("".join(json.dumps(record) + "\n" for record in failed))
    assert _outcomes(tmp_path, "--failed", "--only", "test_abs") == dict.fromkeys(TESTS, "passed")
