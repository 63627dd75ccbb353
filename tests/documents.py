"""Markdown files as tests read them: their code blocks, and a folder in which these run in order."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import forked_commands

ROOT = Path(__file__).parents[1]


class Block(NamedTuple):
    """A fenced code block: language, text, the line where it starts, and the file that its ``title`` names, if any."""

    language: str
    text: str
    line: int
    title: str = ""


def blocks(file: Path) -> list[Block]:
    """Every fenced code block of a Markdown file."""
    text = file.read_text()
    found = re.finditer(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)
    return [Block(m[1], m[3], text.count("\n", 0, m.start()) + 2, m[2] or "") for m in found]


def commands(file: Path) -> list[tuple[int, str]]:
    """The lines of every shell block with their numbers; a line that ends with a backslash goes on in the next."""
    found: list[tuple[int, str]] = []
    for block in blocks(file):
        if block.language == "sh":
            rows = block.text.replace("\\\n", " ").splitlines()
            found += [(block.line + i, row.partition(" #")[0].strip()) for i, row in enumerate(rows) if row.strip()]
    return found


def play(file: Path, folder: Path, *, forked: bool = True) -> dict[str, object]:
    """Does in ``folder`` what a reader of the page does, in order; gives the names that its Python defines.

    Python runs, but where a title names a file, the block is written there. A ``pyproject.toml`` makes its package an
    installed one for what follows. ``arm-tosa`` and ``arm_runner`` run, and the page's own scripts and operator cases;
    other commands do not.

    Args:
        forked: ``arm-tosa`` runs in forks, else in processes of its own, as a reader's.
    """
    module = ModuleType("page")  # a module that can be found by its name, as torch.export does with classes
    names = vars(module)
    sys.modules["page"] = module
    with contextlib.chdir(folder), _importable(folder):
        for block in blocks(file):
            if block.title:
                path = folder / block.title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
                if path.name == "pyproject.toml":
                    _install(folder, tomllib.loads(block.text)["project"])
            elif block.language == "python":
                # Padded, so that a traceback shows the page's own line.
                exec(compile("\n" * (block.line - 1) + block.text, str(file), "exec"), names)
            elif block.language == "sh":
                for line in block.text.replace("\\\n", " ").splitlines():
                    script = re.match(r"python (\S+\.py)", line)
                    own = (script and (folder / script[1]).is_file()) or "--arm-cases=" in line
                    if line.startswith(("arm-tosa ", "arm_runner ")) or own:
                        command(line.partition(" #")[0], folder, forked)
    return names


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """What lies in a folder, or in its ``src``, can be imported, as in a Python that was started there, and is
    forgotten behind it."""
    known, places = set(sys.modules), [str(folder), str(folder / "src")]
    sys.path[:0] = places
    try:
        yield
    finally:
        for place in places:
            sys.path.remove(place)
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]


def command(line: str, folder: Path, forked: bool) -> str:
    """Runs a command of this environment, which need not be activated; what it printed."""
    paths = [str(folder), str(folder / "src"), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTEST_ADDOPTS": f"--confcutdir={ROOT / 'packages'}",  # the repository's own plugins are not a reader's
    }
    words = shlex.split(line)
    done: subprocess.CompletedProcess[str] | forked_commands.Done
    if forked and words[0] == "arm-tosa":
        done = forked_commands.run(words[1:], folder, env, 900)
    else:
        done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def _install(folder: Path, project: dict[str, dict[str, dict[str, str]]]) -> None:
    """What ``pip install --editable`` would leave of a package: metadata with its entry points."""
    name, version = project["name"], project["version"]
    info = folder / f"{str(name).replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project.get("entry-points", {})
    rows = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    info.joinpath("entry_points.txt").write_text("\n".join(rows))
