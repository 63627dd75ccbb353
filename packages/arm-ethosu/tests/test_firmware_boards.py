"""Boards: those that there are, and those that a package brings."""

from __future__ import annotations

from pathlib import Path

import pytest
from firmware_kit import program

from arm_ethosu.firmware import FIRMWARE
from arm_tosa_core.plugin.firmware import Program


def test_a_package_brings_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the entry point ``arm_tosa.boards`` of an installed distribution."""
    board = tmp_path / "site" / "acme_boards" / "acme-one"
    board.mkdir(parents=True)
    (board / "board.toml").write_text('description = "ACME one"\nshares = ["cortex-m"]\n')
    (board / "board.cmake").write_text("# of ACME one\n")
    made = "from pathlib import Path\n\nACME_ONE = Path(__file__).parent / 'acme-one'\n"
    (tmp_path / "site" / "acme_boards" / "__init__.py").write_text(made)
    installed = tmp_path / "site" / "acme_boards-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-boards\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[arm_tosa.boards]\nacme-one = acme_boards:ACME_ONE\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert FIRMWARE.boards()["acme-one"] == "ACME one"
    FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "acme-one", tmp_path / "firmware")
    assert (tmp_path / "firmware" / "boards" / "acme-one" / "board.cmake").read_text() == "# of ACME one\n"
    assert (tmp_path / "firmware" / "boards" / "cortex-m" / "start.c").is_file()
    assert "include(boards/acme-one/board.cmake)" in (tmp_path / "firmware" / "CMakeLists.txt").read_text()
