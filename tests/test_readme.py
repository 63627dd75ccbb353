"""The README does what it says: its Python and shell blocks run in order, as a reader would type them.

Set-up commands are not run here, they are what runs this; instead, what they name must exist.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]


class Block(NamedTuple):
    """A fenced code block: language, text, and the line where it starts."""

    language: str
    text: str
    line: int


def blocks(file: Path) -> list[Block]:
    """Every fenced code block of a Markdown file."""
    text = file.read_text()
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(match[1], match[2], text.count("\n", 0, match.start()) + 2) for match in found]


README = blocks(ROOT / "README.md")
COMMANDS = [(block.line, line) for block in README if block.language == "sh" for line in block.text.splitlines()]
SETUP = [(line, text) for line, text in COMMANDS if not text.startswith("arm-tosa ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the README's Python blocks have run, one after the other."""
    folder = tmp_path_factory.mktemp("readme")
    namespace: dict[str, object] = {"__name__": "readme"}
    with contextlib.chdir(folder):
        for block in README:
            if block.language == "python":
                # Padded, so that a traceback shows the README's own line.
                source = "\n" * (block.line - 1) + block.text
                exec(compile(source, str(ROOT / "README.md"), "exec"), namespace)
    return folder


def test_the_python_flow_writes_a_program_for_the_device(folder: Path) -> None:
    assert b"EthosUBackend" in (folder / "model.pte").read_bytes()


def test_the_commands_work_in_the_order_in_which_they_stand(folder: Path) -> None:
    pytest.importorskip("arm_runtime", reason="`arm-tosa run` needs it: nox builds arm-runtime-cpp")
    commands = [text for _, text in COMMANDS if text.startswith("arm-tosa ")]
    assert len(commands) >= 5
    # The command of this environment, which need not be activated.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            shlex.split(command), cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
    assert list((folder / "payloads").iterdir())


@pytest.mark.parametrize(("line", "command"), SETUP, ids=[f"line-{line}" for line, _ in SETUP])
def test_set_up_commands_name_what_exists(line: int, command: str) -> None:
    for part in command.split("&&"):
        words = shlex.split(part)
        match words:
            case ["python", "-m", "pip", "install", *names]:
                for name in names:
                    assert name == "nox" or (ROOT / name.partition("[")[0] / "pyproject.toml").is_file(), name
            case ["nox", "-s", session]:
                assert re.search(rf'^def {session}\(|name="{session}"', (ROOT / "noxfile.py").read_text(), re.MULTILINE)
            case ["pytest", "--arm-target=acme", "--pyargs", "arm_tosa_core.testing"]:
                # What the session "plugin" runs.
                assert '"--arm-target=acme", "--pyargs", "arm_tosa_core.testing"' in (ROOT / "noxfile.py").read_text()
            case _:
                pytest.fail(f"README line {line}: nothing here knows how to try {command!r}")


def test_the_entry_point_shown_is_that_of_the_example() -> None:
    (block,) = [block for block in README if block.language == "toml"]
    example = tomllib.loads((ROOT / "tests/plugins/acme-npu/pyproject.toml").read_text())
    shown = tomllib.loads(block.text)["project"]["entry-points"]["arm_tosa.targets"]
    assert shown == example["project"]["entry-points"]["arm_tosa.targets"]
