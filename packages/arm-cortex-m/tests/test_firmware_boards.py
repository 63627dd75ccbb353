"""Boards: those that there are, and their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_cortex_m.firmware.board import find_board
from arm_tosa_core.support.errors import UsageError


def test_an_unknown_board_lists_those_that_there_are() -> None:
    with pytest.raises(
        UsageError, match="there is no board 'arduino'; boards are: generic, host, mps2-an386, mps2-an500, mps3-an547"
    ):
        find_board("arduino")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("description = ", "Invalid value"),
        ("descripton = 'x'", "descripton = 'x'"),
        ("description = 'x'\nrun = 'qemu'", "run = 'qemu'"),
        ("run = ['qemu']", "description is missing"),
        ("description = 'x'\nshares = ['mine']", "shares 'mine'; what there is to share: cortex-m"),
    ],
)
def test_a_wrong_board_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    (tmp_path / "board.toml").write_text(text)
    monkeypatch.setattr("arm_cortex_m.firmware.board.boards", lambda: {"mine": tmp_path})
    with pytest.raises(UsageError, match=reason):
        find_board("mine")
