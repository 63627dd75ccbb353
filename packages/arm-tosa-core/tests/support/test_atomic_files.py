"""Outputs that are no ordinary files: they stay what they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from arm_tosa_core.support.atomic_files import require_writable, write_atomic
from arm_tosa_core.support.errors import UsageError


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("target", ["file", "sub/file", "/absolute"])
def test_a_link_stays_and_its_file_is_replaced(target: str, there: bool, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    file = tmp_path / ("absolute" if target.startswith("/") else target)
    if there:
        file.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(file if target.startswith("/") else target)
    require_writable(link)
    write_atomic(link, "new")
    assert link.is_symlink() and file.read_text() == "new"
    assert sorted(p.name for p in (*tmp_path.iterdir(), *file.parent.iterdir()) if p.name.endswith(".tmp")) == []


def test_a_pipe_stays_and_its_reader_gets_the_bytes(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    require_writable(pipe)
    write_atomic(pipe, b"data")
    reader.join(10)
    assert got == [b"data"] and pipe.is_fifo()


@pytest.mark.parametrize("name", ["/dev/null", "link"])
def test_a_device_stays(name: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    path = link if name == "link" else Path(name)
    require_writable(path)
    write_atomic(path, b"data")
    assert Path("/dev/null").is_char_device() and link.is_symlink()


@pytest.mark.parametrize("out", ["pipe", "file"])
def test_the_standard_output_by_its_name(out: str, tmp_path: Path) -> None:
    code = "from arm_tosa_core.support.atomic_files import write_atomic; write_atomic('/dev/stdout', b'data')"
    with (tmp_path / "out").open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE if out == "pipe" else file, check=True, timeout=60
        )
    assert (done.stdout if out == "pipe" else (tmp_path / "out").read_bytes()) == b"data"


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to("none/d")
    for name, said in (("a", "cannot write .*symbolic links"), ("c", "there is no folder")):
        with pytest.raises(UsageError, match=said):
            require_writable(tmp_path / name)
        with pytest.raises(UsageError, match=f"cannot write {tmp_path / name}"):
            write_atomic(tmp_path / name, b"data")
