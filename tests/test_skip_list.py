"""The list of skips: a run fails for a skip that is not on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import skip_list

SKIPS = "import pytest\n\ndef test_one():\n    pytest.skip('no tool: install it')\n\ndef test_two():\n    pass\n"
ROW = "test_it.py::test_one | no tool: * | not everybody has it"


def run(folder: Path, rows: str, *options: str, test: str = SKIPS, ci: bool = False) -> tuple[int, str]:
    """Exit status and output of a run of one file under a list."""
    (folder / "test_it.py").write_text(test)
    (folder / "skips.txt").write_text(rows)
    # No configuration of the repository, and its plugin alone.
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = .\n")
    env = {name: value for name, value in os.environ.items() if name != "CI"} | ({"CI": "true"} if ci else {})
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    env["PYTHONPATH"] = os.pathsep.join([str(Path(skip_list.__file__).parent), env.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-p", "skip_list", "--skip-list=skips.txt", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *options], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("-p", "xdist.plugin", "-n", "1")], ids=["alone", "with xdist"])
@pytest.mark.parametrize(
    "row, ci, status",
    [("", False, 1), (f"always | {ROW}", True, 0), (f"missing | {ROW}", False, 0), (f"missing | {ROW}", True, 1)],
    ids=["not listed", "listed", "a tool is missing", "a tool is missing on CI"],
)
def test_a_run_fails_for_a_skip_that_is_not_listed(
    tmp_path: Path, row: str, ci: bool, status: int, options: tuple[str, ...]
) -> None:
    code, said = run(tmp_path, row, *options, ci=ci)
    assert code == status, said
    assert ("test_it.py::test_one: no tool: install it" in said) == (status == 1)
    assert ("add a row to tests/skips.txt" in said) == (status == 1)
    assert ("1 of test_it.py::test_one: not everybody has it" in said) == (status == 0)


@pytest.mark.parametrize("options", [(), ("-p", "xdist.plugin", "-n", "1")], ids=["alone", "with xdist"])
def test_a_module_may_not_skip_as_a_whole(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, said = run(tmp_path, "", *options, test="import pytest\npytest.importorskip('no_such_module')\n" + SKIPS)
    assert code != 0 and "test_it.py skips as a whole" in said


def test_rows_without_a_skip_are_reported_by_a_whole_run(tmp_path: Path) -> None:
    rows = f"always | {ROW}\nalways | test_it.py::test_gone | * | it was there once\nmissing | x | y | z\n"
    assert "test_it.py::test_gone | *" in run(tmp_path, rows)[1]
    assert "x | y" not in run(tmp_path, rows)[1]
    assert "test_gone" not in run(tmp_path, rows, "-k", "test_one")[1]


@pytest.mark.parametrize("line", ["always | a | b", "sometimes | a | b | c", "always | a |  | c"])
def test_other_lines_are_refused(tmp_path: Path, line: str) -> None:
    code, said = run(tmp_path, f"# comment\n{line}\n")
    assert code == pytest.ExitCode.USAGE_ERROR and "skips.txt:2: expected 'WHERE | TEST | REASON | WHY'" in said


def test_the_list_is_read() -> None:
    assert skip_list.read(skip_list.LIST)
