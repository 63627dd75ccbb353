"""The C++ unit tests, under the address and undefined-behaviour sanitizers: ``NAME_test.cpp`` is one program."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
UNITS = sorted(str(file.relative_to(FOLDER).with_suffix("")) for file in FOLDER.rglob("*_test.cpp"))


@pytest.fixture(scope="session")
def programs(extra_build: Callable[..., Path]) -> Path:
    """The folder of the programs; skips without GoogleTest."""
    if compiler := shutil.which("c++"):
        look = [compiler, "-x", "c++", "-E", "-include", "gtest/gtest.h", "/dev/null"]
        if subprocess.run(look, capture_output=True, check=False, timeout=60).returncode != 0:
            pytest.skip("no GoogleTest: apt install libgtest-dev")
    return extra_build("host-asan", "unit_tests") / "tests" / "cpp"


@pytest.mark.parametrize("unit", UNITS)
def test_unit(unit: str, programs: Path, tmp_path: Path) -> None:
    """Names the cases that fail, and what they expected."""
    report = tmp_path / "report.json"
    program = programs / unit.replace("/", "_")
    done = subprocess.run(  # without what nox -s sanitize preloads: the program has its own sanitizers
        [str(program), f"--gtest_output=json:{report}"],
        cwd=tmp_path, env={}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert report.is_file(), f"{program.name} ended early:\n{(done.stdout + done.stderr)[-4000:]}"
    cases = [case for suite in json.loads(report.read_text())["testsuites"] for case in suite["testsuite"]]
    failed = [
        f"{case['classname']}.{case['name']}: {failure['failure']}"
        for case in cases
        for failure in case.get("failures", ())
    ]
    assert cases and not failed, "\n".join(failed)
    assert done.returncode == 0, done.stderr[-4000:]
