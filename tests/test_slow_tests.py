"""Slow tests are left out where nothing that they are there for has changed, and only from a run of all tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import changes
import slow_tests

ROOM = "packages/arm-tosa-core/src/arm_tosa_core/quantize/scales.py"
SLOW = """import pytest

@pytest.fixture(scope="session")
def cpus():
    return 2

def test_slow(cpus):
    pass
"""
QUANTIZE = "packages/arm-tosa-core/tests/quantize/test_quantizer.py"


@pytest.mark.parametrize(
    ("test", "changed", "wanted"),
    [
        (QUANTIZE, ROOM, True),
        (QUANTIZE, QUANTIZE, True),
        (QUANTIZE, "packages/arm-tosa-core/tests/conftest.py", True),
        (QUANTIZE, "packages/arm-tosa-core/tests/quantizer_kit.py", True),
        (QUANTIZE, "packages/arm-tosa-core/tests/sweep_kit.py", False),
        (QUANTIZE, "packages/arm-tosa-core/tests/quantize/test_other.py", False),
        (QUANTIZE, "packages/arm-tosa-core/src/arm_tosa_core/quantize_other.py", False),
        (QUANTIZE, "packages/arm-tosa-core/src/arm_tosa_core/rules/add.py", False),
        ("packages/arm-tosa-core/tests/test_report_page.py", ROOM, True),
        ("packages/arm-ethosu/tests/test_vela.py", "packages/arm-ethosu/src/arm_ethosu/vela.py", True),
        ("packages/arm-ethosu/tests/test_vela.py", ROOM, False),
        ("packages/arm-runtime-cpp/tests/vgf/test_run.py", "packages/arm-runtime-cpp/cmake/find.cmake", True),
        ("packages/arm-runtime-cpp/tests/vgf/test_run.py", "packages/arm-runtime-cpp/src/ethosu/model/dma.cpp", False),
        ("packages/arm-runtime-cpp/tests/cpp/test_units.py", "packages/arm-runtime-cpp/src/ethosu/model/dma.cpp", True),
        ("packages/arm-tosa-core/src/arm_tosa_core/testing/test_operators.py", ROOM, True),
        ("tests/test_zoo.py", "tests/nets.py", True),
        ("tests/test_zoo.py", "tests/example_scripts.py", True),
        ("tests/test_zoo.py", "tests/documents.py", False),
        ("tests/test_programs.py", "tests/programs/run.py", True),
        ("tests/test_programs.py", "tests/quantization/test_digits.py", False),
        ("tests/test_zoo.py", ROOM, False),
    ],
)
def test_what_a_slow_test_is_there_for(test: str, changed: str, wanted: bool) -> None:
    assert slow_tests.runs(test, {changed}) is wanted


def test_what_is_slow() -> None:
    seconds = {
        "a.py::one": 3.0,
        "a.py::two": 0.5,
        "b.py::one": 2.5,
        "b.py::two": 1.5,
        "b.py::three": 1.5,
        "c.py::one": 9.0,
    }
    found = slow_tests.record(seconds, {"c.py::one"}, {"packages::build": 60.0, "::quick": 0.1})
    assert found["seconds"] == {"a.py::one": 3.0, "b.py::one": 2.5}
    assert found["files"] == ["a.py"] and found["fixtures"] == {"packages::build": 60.0}
    assert (found["tests"], found["cpu_seconds"]) == (6, 78)
    slow = [test for test in [*seconds, "packages/x.py::y"] if slow_tests.is_slow(test, ["build"], found)]
    assert slow == ["a.py::one", "a.py::two", "b.py::one", "packages/x.py::y"]  # not the one that failed
    assert slow_tests.is_slow("d.py::one", ["extra_build"], found)
    assert not slow_tests.is_slow("c.py::one", ["extra_build"], found)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tests, and the plugin; all is committed, and one test is listed as slow on that commit."""
    root = tmp_path_factory.mktemp("repository")
    (root / "tests" / "results").mkdir(parents=True)
    for module in (slow_tests, changes):
        shutil.copy(str(module.__file__), root / "tests")
    (root / "conftest.py").write_text('pytest_plugins = ["slow_tests"]\n')
    (root / "pytest.ini").write_text("[pytest]\ntestpaths = tests\npythonpath = tests\n")
    (root / "tests" / "test_slow.py").write_text(SLOW)
    (root / "tests" / "test_quick.py").write_text("def test_quick():\n    pass\n")
    git(root, "init", "-q")
    return root


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def run(root: Path, *words: str) -> dict[str, int]:
    """What pytest counts in its last line."""
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    xdist = ("-p", "xdist.plugin") if "-n" in words else ()
    command = [sys.executable, "-m", "pytest", *xdist, "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return {what: int(count) for count, what in re.findall(r"(\d+) (passed|deselected)", done.stdout.splitlines()[-1])}


def test_a_run_of_all_tests_leaves_out_slow_ones(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = repository / "tests" / "results" / "slow_tests.json"
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "all")
    assert run(repository, "-n", "1", f"--record-slow={listed}") == {"passed": 2}
    recorded = json.loads(listed.read_text())
    assert (recorded["commit"], recorded["tests"], recorded["seconds"]) == (git(repository, "rev-parse", "HEAD"), 2, {})
    recorded["fixtures"] = {"::cpus": 9.0}  # none is that slow here
    listed.write_text(json.dumps(recorded))
    for words, wanted in [
        ((), {"passed": 1, "deselected": 1}),
        (("-n", "1"), {"passed": 1}),  # the workers deselect
        (("--slow",), {"passed": 2}),
        (("tests/test_slow.py",), {"passed": 1}),
        (("--leave-out-slow", "tests/test_slow.py", "tests/test_quick.py"), {"passed": 1, "deselected": 1}),
    ]:
        assert run(repository, *words) == wanted, words
    (repository / "tests" / "test_slow.py").write_text("def test_slow():\n    pass\n")
    assert run(repository) == {"passed": 2}
    listed.write_text(json.dumps(recorded | {"commit": "0" * 40}))  # a clone without this commit
    git(repository, "checkout", "-q", "tests/test_slow.py")
    assert run(repository) == {"passed": 2}
