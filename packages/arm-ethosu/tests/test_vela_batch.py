"""Several runs of Vela at a time: by a worker that has loaded it, and by an executable from elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arm_ethosu import vela_batch
from arm_ethosu.vela_batch import Order, run_all
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.external_tools import find_tool

VELA = find_tool("vela", package="ethos-u-vela")


def order(folder: Path, name: str, *arguments: str) -> Order:
    return Order(arguments, folder / name, "the input")


def executable(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_runs_have_outcomes_of_their_own(tmp_path: Path) -> None:
    orders = [
        order(tmp_path, "a", "--version"),
        order(tmp_path, "b", "--nonsense"),
        order(tmp_path, "c", "--list-config-files"),
    ]
    version, nonsense, configs = run_all(VELA, orders, 60)
    assert version == "5.2.0\n"
    assert isinstance(nonsense, ToolError) and "exited with status 2" in str(nonsense)
    assert "--nonsense" in str(nonsense) and "its input was kept in the input" in str(nonsense)
    assert isinstance(configs, str) and "Arm/vela.ini" in configs


def test_a_run_that_takes_too_long_is_killed_and_others_go_on(tmp_path: Path) -> None:
    (late,) = run_all(VELA, [order(tmp_path, "a", "--supported-ops-report")], 1e-4)
    assert isinstance(late, ToolError) and "did not finish within 0.0001 s and was killed" in str(late)
    assert run_all(VELA, [order(tmp_path, "b", "--version")], 60) == ["5.2.0\n"]


def test_a_worker_that_died_is_replaced(tmp_path: Path) -> None:
    run_all(VELA, [order(tmp_path, "a", "--version")], 60)
    before = vela_batch._worker()
    os.killpg(before._process.pid, signal.SIGKILL)
    before._process.wait()
    assert run_all(VELA, [order(tmp_path, "b", "--version")], 60) == ["5.2.0\n"]
    assert vela_batch._worker() is not before


def test_vela_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "worker.py"
    script.write_text("import sys\nsys.exit('no Vela today')\n")
    monkeypatch.setattr(vela_batch, "_WORKER", script)
    monkeypatch.setattr(vela_batch, "_kept", None)
    with pytest.raises(
        ToolError, match=r"vela could not be loaded\n.*\n +no Vela today\nits input was kept in the input"
    ):
        run_all(VELA, [order(tmp_path, "a", "--version")], 60)


def test_an_executable_from_elsewhere_is_started_for_each(tmp_path: Path) -> None:
    other = executable(tmp_path / "vela", '[ "$1" != bad ] && echo "ran $1" && exit 0; exit 3')
    first, bad, last = run_all(other, [order(tmp_path, name, name) for name in ("one", "bad", "two")], 60)
    assert (first, last) == ("ran one\n", "ran two\n")
    assert isinstance(bad, ToolError) and "exited with status 3" in str(bad)


def test_a_forked_process_has_a_worker_of_its_own(tmp_path: Path) -> None:
    run_all(VELA, [order(tmp_path, "a", "--version")], 60)
    if (child := os.fork()) == 0:
        ours = False
        try:
            ours = run_all(VELA, [order(tmp_path, "b", "--version")], 60) == ["5.2.0\n"]
            vela_batch.close()
        finally:
            os._exit(0 if ours else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert run_all(VELA, [order(tmp_path, "c", "--version")], 60) == ["5.2.0\n"]


def ended(process: int) -> bool:
    """Whether a process ends within 10 s; one that nobody waited for has ended, too."""
    for _ in range(200):
        stat = Path(f"/proc/{process}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


#: A Vela that starts a process, says both, and hangs.
HANGS = """
import os, subprocess, sys, time
def main(arguments):
    other = subprocess.Popen(["sleep", "300"])
    with open(arguments[0] + ".new", "w") as file:
        print(os.getpid(), other.pid, file=file)
    os.rename(arguments[0] + ".new", arguments[0])
    time.sleep(300)
"""


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the Vela that is loaded says its processes."""
    package = tmp_path / "site" / "ethosu" / "vela"
    package.mkdir(parents=True)
    for file in (package.parent / "__init__.py", package / "__init__.py"):
        file.write_text("")
    (package / "vela.py").write_text(HANGS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    monkeypatch.setattr(vela_batch, "_kept", None)
    return tmp_path / "processes"


def test_what_a_run_started_ends_with_it(hanging: Path, tmp_path: Path) -> None:
    (late,) = run_all(VELA, [order(tmp_path, "a", str(hanging))], 2)
    assert isinstance(late, ToolError) and "was killed" in str(late)
    assert all(map(ended, map(int, hanging.read_text().split())))
    vela_batch.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_runs_end_with_the_process_that_asked(number: signal.Signals, hanging: Path, tmp_path: Path) -> None:
    """However it ends: what ``timeout``, CI and Docker send, or nothing that it could answer to. No file is left."""
    script = (
        "import os\nfrom pathlib import Path\nfrom arm_ethosu import vela_batch\n"
        f"order = vela_batch.Order([{str(hanging)!r}], Path({str(tmp_path / 'log')!r}), '')\n"
        f"vela_batch.run_all({VELA!r}, [order], 600)"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    asking = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(temporary)})
    while not hanging.exists():
        assert asking.poll() is None
        time.sleep(0.05)
    asking.send_signal(number)
    assert asking.wait(10) == -number
    assert all(map(ended, map(int, hanging.read_text().split())))
    assert list(temporary.iterdir()) == []


def test_the_worker_ends_with_its_process(tmp_path: Path) -> None:
    script = (
        f"from arm_ethosu import vela_batch\nvela_batch.warm_up({VELA!r})\nprint(vela_batch._worker()._process.pid)\n"
    )
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(made.stdout), 0)
