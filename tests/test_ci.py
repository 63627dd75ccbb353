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
    "python tests/night.py "*)
        shift
        for name; do case " $LEFT_OUT " in *" $name "*) ;; *) echo "$name" ;; esac; done ;;
    "python -m nox"*) echo "==== 5 passed in 1.00s ===="; echo "nox > * lint: failed"; exit "$CHECKS" ;;
    "nox -s tests") echo "$SUMMARY"; echo "nox > Session tests ended."; exit "$TESTS" ;;
    *) exit 99 ;;
esac
"""


def run(folder: Path, summary: str = SUMMARY, left_out: str = "", **ends: int) -> tuple[int, list[str]]:
    """The exit status and the lines printed, where ``pip``, ``checks`` and ``tests`` end with these statuses.

    Args:
        folder: where it runs.
        summary: pytest's last line.
        left_out: sessions that a night has passed.
        ends: statuses.
    """
    (folder / ".ci").mkdir()
    script = folder / ".ci" / "run"
    script.write_text(RUN.read_text())
    script.chmod(0o755)
    for name in ("python", "nox"):
        (folder / name).write_text(COMMAND)
        (folder / name).chmod(0o755)
    statuses = {name.upper(): str(ends.get(name, 0)) for name in ("pip", "checks", "tests")}
    env = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "CALLS": str(folder / "calls"), "SUMMARY": summary}
    env["LEFT_OUT"] = left_out
    done = subprocess.run([str(script)], env=env | statuses, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.splitlines()


def sessions(folder: Path) -> list[str]:
    """What nox was asked for, in order; at the same time, other calls may come between."""
    calls = (folder / "calls").read_text().splitlines()
    return [call.partition(" -s ")[2] for call in calls if " -s " in call]


def test_it_passes_if_all_steps_do(tmp_path: Path) -> None:
    status, lines = run(tmp_path)
    assert (status, lines[-1]) == (0, SUMMARY)
    found, beside = sessions(tmp_path), "tests-environments wheels pythons plugin"
    assert beside in found[:-1]  # in a lane of its own
    found.remove(beside)
    assert found == ["docs types lint", "operators-sample programs rival-sample", "tests"]


@pytest.mark.parametrize(
    ("left_out", "wanted"),
    [
        ("wheels pythons", {"tests-environments plugin", "operators-sample programs rival-sample"}),
        ("wheels pythons plugin rival-sample", {"tests-environments", "operators-sample programs"}),
    ],
)
def test_it_leaves_out_what_a_night_has_passed(tmp_path: Path, left_out: str, wanted: set[str]) -> None:
    assert run(tmp_path, left_out=left_out)[0] == 0
    assert {*sessions(tmp_path)} == {*wanted, "docs types lint", "tests"}


@pytest.mark.parametrize("failing", ["checks", "tests"])
def test_it_fails_if_a_step_does_and_runs_the_tests_all_the_same(tmp_path: Path, failing: str) -> None:
    status, lines = run(tmp_path, SUMMARY, "", **{failing: 1})
    assert (status, lines[-1]) == (1, SUMMARY)


def test_it_fails_without_nox(tmp_path: Path) -> None:
    assert run(tmp_path, pip=1)[0] == 1


def test_it_does_not_pass_another_run_off_as_the_tests(tmp_path: Path) -> None:
    status, lines = run(tmp_path, "error: no environment", tests=1)
    assert status == 1 and "passed" not in lines[-1]
