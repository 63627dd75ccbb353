"""Boards: those that there are, and their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from arm_cortex_m.firmware.board import Board, find_board
from arm_cortex_m.firmware.run import build
from arm_tosa_core.cli.main import app
from arm_tosa_core.support.errors import ToolError, UsageError


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


@pytest.mark.parametrize(
    ("target", "board", "reason"),
    [
        ("cortex-m4", "mps3-an547", "board 'mps3-an547' has a cortex-m55, and the models are for cortex-m4"),
        ("cortex-m4", "arduino", "there is no board 'arduino'; boards are: generic, host"),
        ("tosa-int", "host", "target 'tosa-int' makes no firmware; those of Ethos-U and Cortex-M do"),
    ],
)
def test_a_board_that_does_not_fit_is_refused_before_a_model_is_read(
    target: str, board: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "empty.py").touch()
    words = ["deploy", f"{tmp_path / 'empty.py'}:net", "--target", target, "--board", board, "-o", "firmware"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1 and reason in done.stderr


@pytest.mark.parametrize(
    ("said", "lacking"),
    [
        ("ld: region `FLASH' overflowed by 4233459 bytes\n", "FLASH lacks 4,233,459 bytes"),
        ("ld.lld: error: section '.bss' will not fit in region 'RAM': overflowed by 12 bytes\n", "RAM lacks 12 bytes"),
        (
            "ld: region `FLASH' overflowed by 9 bytes\nld: region `SRAM' overflowed by 8 bytes\n",
            "FLASH lacks 9 bytes and SRAM lacks 8 bytes",
        ),
        ("ld: undefined reference to `malloc'\n", ""),
    ],
)
def test_a_memory_that_is_full_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, lacking: str
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise ToolError("cmake", "exited with status 2", output=said)

    monkeypatch.setattr("arm_cortex_m.firmware.run.run_tool", fail)
    monkeypatch.setattr("shutil.which", lambda _name: "/bin/true")
    with pytest.raises(UsageError if lacking else ToolError, match=lacking or "exited") as caught:
        build(tmp_path, Board("mine", tmp_path, ""))
    assert (type(caught.value) is UsageError) == bool(lacking)
