"""The README does what it says: its Python and shell blocks run in order, as a reader would type them.

``test_docs.py`` checks its links and its other commands, as those of every page.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from documents import ROOT, blocks, commands, play

README = ROOT / "README.md"


def test_the_readme_does_what_it_says(tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="`arm-tosa run` needs it: nox builds arm-runtime-cpp")
    play(README, tmp_path, forked=False)
    assert b"EthosUBackend" in (tmp_path / "model.pte").read_bytes()
    assert list(tmp_path.glob("graphs/*/ethos-u55-128.tosa"))
    assert (tmp_path / "y.npy").is_file()
    assert sum(line.startswith("arm-tosa ") for _, line in commands(README)) >= 4


def test_the_entry_point_shown_is_that_of_the_example() -> None:
    (block,) = [block for block in blocks(README) if block.language == "toml"]
    example = tomllib.loads((ROOT / "tests/plugins/acme-npu/pyproject.toml").read_text())
    shown = tomllib.loads(block.text)["project"]["entry-points"]["arm_tosa.targets"]
    assert shown == example["project"]["entry-points"]["arm_tosa.targets"]


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 110
