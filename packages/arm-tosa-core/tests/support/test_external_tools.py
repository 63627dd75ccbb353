"""Running tools and writing files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arm_tosa_core.support.atomic_files import require_folder, require_writable, write_atomic
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import find_tool, run_tool


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_and_error_come_back_together() -> None:
    code = "import sys; print('to out', flush=True); print('to err é', file=sys.stderr)"
    assert run_tool("tool", python(code), timeout=20) == "to out\nto err é\n"


@pytest.mark.parametrize(
    ("command", "timeout", "reason"),
    [
        (
            python("print('the reason'); raise SystemExit(3)"),
            20,
            "tool exited with status 3\nits last lines:\n    the reason",
        ),
        (python("import os; os.abort()"), 20, "tool was killed by signal SIGABRT"),
        (python("print('busy', flush=True); import time; time.sleep(60)"), 0.5, "did not finish within 0.5 s"),
        (["/nonexistent tool"], 20, "could not be started: No such file or directory"),
    ],
)
def test_failures_name_tool_reason_input_and_fix(command: list[str], timeout: float, reason: str) -> None:
    with pytest.raises(ToolError, match=reason) as caught:
        run_tool("tool", command, timeout=timeout, kept="/kept here", fix="do this")
    assert "its input was kept in /kept here" in str(caught.value) and str(caught.value).endswith("do this")


def test_a_hanging_tools_children_die_with_it(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    child = f"import time, pathlib; time.sleep(1.5); pathlib.Path({str(alive)!r}).touch()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with pytest.raises(ToolError, match="was killed"):
        run_tool("tool", python(parent), timeout=0.5)
    time.sleep(1.5)
    assert not alive.exists()


def test_a_command_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    """SIGTERM, which ``timeout``, CI and Docker send: neither tools nor files of it."""
    started, temporary = tmp_path / "started", tmp_path / "temporary"
    temporary.mkdir()
    say = f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {started}; sleep 300"
    script = f"""
import tempfile
from arm_tosa_core.cli import main
from arm_tosa_core.support.external_tools import run_tool

def app():
    with tempfile.TemporaryDirectory(dir={str(temporary)!r}):
        run_tool("tool", ["sh", "-c", {say!r}], timeout=300)

main.app = app
main.main()
"""
    command = subprocess.Popen(python(script))
    while not started.exists():
        assert command.poll() is None
        time.sleep(0.05)
    command.send_signal(signal.SIGTERM)
    assert command.wait(20) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert list(temporary.iterdir()) == []


def test_a_command_is_told_to_end_in_code_whose_exits_it_takes() -> None:
    """That of a plugin or of a user may call ``sys.exit``, which is an error of it: the command goes on."""
    script = """
import os, signal, sys
from pathlib import Path
from arm_tosa_core.cli import main
from arm_tosa_core.cli.model import _user_code
from arm_tosa_core.support.errors import UsageError

def app():
    try:
        _user_code(Path("own.py"), "own.py:make", sys.exit)
    except UsageError:
        _user_code(Path("own.py"), "own.py:make", lambda: os.kill(os.getpid(), signal.SIGTERM))

main.app = app
main.main()
"""
    done = subprocess.run(python(script), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")


def test_tools_beside_this_python_come_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Windows' Python outside a virtual environment has its scripts in a folder beside it.
    places = [
        tmp_path / "beside" / "some-tool",
        tmp_path / "beside" / "Scripts" / "some-tool",
        tmp_path / "path" / "some-tool",
    ]
    for tool in places:
        tool.parent.mkdir(exist_ok=True)
        tool.write_text("")
        tool.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "beside" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for tool in places:
        assert find_tool("some-tool", package="p") == str(tool)
        tool.unlink()


@pytest.mark.parametrize("data", ["text é", b"\x00bytes"])
def test_write_atomic_replaces_a_file_and_leaves_nothing_else(tmp_path: Path, data: str | bytes) -> None:
    path = tmp_path / "name with é"
    path.write_text("old")
    write_atomic(path, data)
    assert path.read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert os.listdir(tmp_path) == [path.name]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_unwritable_places(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write .*missing/file: No such file or directory"):
        write_atomic(tmp_path / "missing" / "file", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot write .*folder: Is a directory"):
        write_atomic(tmp_path / "folder", "x")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_tool_that_refuses_its_arguments_gives_the_reason_alone() -> None:
    code = "import argparse; p = argparse.ArgumentParser('tool'); p.add_argument('--good'); p.parse_args(['--bad'])"
    with pytest.raises(ToolError) as caught:
        run_tool("tool", python(code), timeout=20)
    assert "tool: error: unrecognized arguments: --bad" in str(caught.value) and "usage:" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "reason"), [("none/x", "there is no folder"), ("full", "it is a folder"), ("f/x", "there is no folder")]
)
def test_a_place_that_cannot_be_written_is_found_early(tmp_path: Path, path: str, reason: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "f").touch()
    with pytest.raises(UsageError, match=f"cannot write .*{reason}"):
        require_writable(tmp_path / path)
    require_writable(tmp_path / "full" / "x")
    assert not list((tmp_path / "full").iterdir())


def test_a_folder_that_is_to_be_made_is_looked_for_early(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    require_folder(tmp_path / "none" / "of" / "these")
    assert [file.name for file in tmp_path.iterdir()] == ["f"]
    for path in ("f", "f/x"):
        with pytest.raises(UsageError, match="cannot make the folder .*f is a file"):
            require_folder(tmp_path / path)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc")
def test_a_folder_that_takes_no_files_whatever_its_permissions_is_found_early() -> None:
    with pytest.raises(UsageError, match="cannot write /proc/x: no file can be made in /proc: "):
        require_writable("/proc/x")
    with pytest.raises(UsageError, match="cannot write /proc/x/y: no file can be made in /proc: "):
        require_folder("/proc/x/y")
