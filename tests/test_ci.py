"""``.ci/run``: fails if any of its steps does, runs the later ones all the same, and ends with pytest's last line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / ".ci" / "run"
SUMMARY = "=========== 2 failed, 7790 passed, 3 skipped, 1 warning in 1234.56s (0:20:34) ==========="
#: Stands in for ``python -m pip``, ``python -m nox`` and ``nox``; each ends with the status in a variable.
COMMAND = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case "$(basename "$0") $*" in
    "python -m pip"*) exit "$PIP" ;;
    "python -m nox"*) echo "==== 5 passed in 1.00s ===="; echo "nox > * lint: failed"; exit "$CHECKS" ;;
    "nox -s tests") echo "$SUMMARY"; echo "nox > Session tests ended."; exit "$TESTS" ;;
esac
exit 99
"""


def run(folder: Path, summary: str = SUMMARY, **ends: int) -> tuple[int, list[str]]:
    """The exit status and the lines printed, where ``pip``, ``checks`` and ``tests`` end with these statuses."""
    (folder / ".ci").mkdir()
    script = folder / ".ci" / "run"
    script.write_text(RUN.read_text())
    script.chmod(0o755)
    for name in ("python", "nox"):
        (folder / name).write_text(COMMAND)
        (folder / name).chmod(0o755)
    statuses = {name.upper(): str(ends.get(name, 0)) for name in ("pip", "checks", "tests")}
    env = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "CALLS": str(folder / "calls"), "SUMMARY": summary}
    done = subprocess.run([str(script)], env=env | statuses, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.splitlines()


def test_it_passes_if_all_steps_do(tmp_path: Path) -> None:
    status, lines = run(tmp_path)
    assert (status, lines[-1]) == (0, SUMMARY)
    calls = (tmp_path / "calls").read_text().splitlines()
    sessions = [call.partition(" -s ")[2] for call in calls if " -s " in call]
    assert sessions[-1] == "tests"
    beside = "wheels pythons plugin"  # in a lane of its own: anywhere among the others
    others = [call for call in sessions[:-1] if call != beside]
    assert beside in sessions and others == ["docs types lint", "operators-sample programs-sample rival-sample"]


@pytest.mark.parametrize("failing", ["checks", "tests"])
def test_it_fails_if_a_step_does_and_runs_the_tests_all_the_same(tmp_path: Path, failing: str) -> None:
    status, lines = run(tmp_path, **{failing: 1})
    assert (status, lines[-1]) == (1, SUMMARY)


def test_it_fails_without_nox(tmp_path: Path) -> None:
    assert run(tmp_path, pip=1)[0] == 1


def test_it_does_not_pass_another_run_off_as_the_tests(tmp_path: Path) -> None:
    status, lines = run(tmp_path, "error: no environment", tests=1)
    assert status == 1 and "passed" not in lines[-1]
