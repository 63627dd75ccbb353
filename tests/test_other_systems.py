"""The ahead-of-time packages on macOS and Windows, as far as Linux can tell: without the names missing there."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import arm_tosa_core
import on_another_system
from arm_tosa_core.support import process_groups
from arm_tosa_core.tosa import reference_model

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("system", sorted(on_another_system.NAMES))
def test_every_module_imports_and_vela_is_called(system: str, tmp_path: Path) -> None:
    command = [sys.executable, on_another_system.__file__, system]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    core = len(list(Path(arm_tosa_core.__file__).parent.rglob("*.py")))
    assert int(done.stdout.splitlines()[-1]) > core


def test_a_name_that_is_taken_away_is_missed(tmp_path: Path) -> None:
    """As a module of ours with ``import fcntl`` would."""
    modules = "[('needs_fcntl', on.Path('needs_fcntl.py'))]"
    script = f"import on_another_system as on\non.modules = lambda: {modules}\non.main('win32')"
    (tmp_path / "needs_fcntl.py").write_text("import fcntl\n")
    where = os.pathsep.join([str(tmp_path), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": where},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "import of fcntl halted" in done.stderr


def test_windows_kills_a_process_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], **process_groups.OPTIONS)
    asked: list[list[str]] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: asked.append(command))
    process_groups.kill(process)
    assert asked == [["taskkill", "/T", "/F", "/PID", str(process.pid)]]
    assert process.wait(20) != 0


def test_windows_flushes_what_its_c_library_has_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ctypes.CDLL
    asked: list[str | None] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: (asked.append(name), real(None))[1])
    assert reference_model._captured(lambda: 3) == (3, "")
    assert asked == ["ucrtbase"]  # an error with None, as on Linux: tried in Wine


@pytest.mark.parametrize("package", ["arm-tosa-core", "arm-cortex-m", "arm-ethosu", "arm-vgf"])
def test_metadata_and_the_page_name_the_same_systems(package: str) -> None:
    project = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]
    prefix = "Operating System :: "
    systems = [line.removeprefix(prefix) for line in project["classifiers"] if line.startswith(prefix)]
    assert systems == ["MacOS", "Microsoft :: Windows", "POSIX :: Linux"]
    (row,) = (line for line in (ROOT / "docs/how-to/install.md").read_text().splitlines() if f"| `{package}` |" in line)
    assert row.split("|")[4].strip() == "Linux, macOS, Windows"
