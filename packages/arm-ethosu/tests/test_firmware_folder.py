"""The folder that is deployed into: what stays in it, and that its bytes are the same each time."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from firmware_kit import model_of, program, project

from arm_cortex_m.firmware import folder
from arm_cortex_m.firmware.board import find_board
from arm_ethosu.firmware import FIRMWARE
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.support.errors import UsageError


def test_same_programs_same_bytes() -> None:
    one, other = (
        project([model_of("net", Program(program()), "ethos-u55-128")], find_board("mps3-an547")) for _ in range(2)
    )
    assert one == other and len(one) > 15


def test_deploying_again_keeps_what_the_user_wrote(tmp_path: Path) -> None:
    def deploy(board: str = "host") -> Any:
        return FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", board, tmp_path)

    deploy()
    (tmp_path / "app" / "mine.c").write_text("int mine;\n")
    assert list(deploy().changed) == []
    done = deploy("mps3-an547")
    assert "boards/host/host.c" in done.removed and not (tmp_path / "boards" / "host" / "host.c").exists()
    assert (tmp_path / "app" / "mine.c").read_text() == "int mine;\n"
    (tmp_path / "app" / "main.c").write_text("/* changed */\n")
    deploy()
    deploy()
    assert (tmp_path / "app" / "main.c").read_text() == "/* changed */\n", "the application is the user's"
    (tmp_path / "models" / "net.c").write_text("/* changed */\n")
    with pytest.raises(UsageError, match=r"models/net\.c would be overwritten"):
        deploy("mps3-an547")
    assert (tmp_path / "boards" / "host" / "host.c").exists(), "nothing was written"


def test_what_the_user_should_know_is_a_note(tmp_path: Path) -> None:
    """A file that he changed and that another model would change too; a board of another NPU; whether it runs here."""

    def deploy(name: str, board: str, target: str = "ethos-u55-128") -> Any:
        return FIRMWARE.deploy({name: Program(program(target))}, target, board, tmp_path)

    assert deploy("net", "host").runs and not deploy("net", "host").notes
    (tmp_path / "app" / "main.c").write_text("/* changed */\n")
    assert not deploy("net", "host").notes  # it would be written as it was
    (note,) = deploy("other", "host").notes
    assert note.startswith("app/main.c: kept as you changed it, so it may not fit these models.")
    assert not deploy("other", "generic").runs
    assert (
        "has an ethos-u55, and the models are for ethos-u85-256"
        in deploy("other", "mps3-an547", "ethos-u85-256").notes[1]
    )


@pytest.mark.parametrize("name", ["../victim.txt", "/absolute", "models/../../victim.txt", "link/victim.txt"])
@pytest.mark.parametrize("key", ["files", "unfinished"])
def test_files_outside_the_folder_stay(key: str, name: str, tmp_path: Path) -> None:
    """A manifest of somebody else that lists them, with their digests, is damaged."""
    victim, firmware = tmp_path / "victim.txt", tmp_path / "fw"
    victim.write_text("mine")
    firmware.mkdir()
    (firmware / "link").symlink_to(tmp_path)
    digest = hashlib.sha256(b"mine").hexdigest()
    listed = {str(victim) if name == "/absolute" else name: digest if key == "files" else [digest]}
    said = {"board": "host", "target": "ethos-u55-128", "models": [], "files": {}} | {key: listed}
    (firmware / "arm-firmware.json").write_text(json.dumps(said))
    for asked in (
        lambda: FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "host", firmware),
        lambda: FIRMWARE.run(firmware, []),
    ):
        with pytest.raises(UsageError, match=r"arm-firmware\.json is damaged: .*outside of the folder"):
            asked()
    assert victim.read_text() == "mine" and len(list(firmware.iterdir())) == 2


@pytest.mark.parametrize("link", ["arm-firmware.json", "models", "CMakeLists.txt", "app/main.c"])
def test_nothing_is_written_through_a_link(link: str, tmp_path: Path) -> None:
    """A folder of somebody else may have some, to files of the user's."""
    victim, firmware = tmp_path / "victim", tmp_path / "fw"
    (firmware / link).parent.mkdir(parents=True)
    victim.mkdir() if link == "models" else victim.write_text("{}")
    (firmware / link).symlink_to(victim)
    with pytest.raises(UsageError, match="outside of the folder"):
        FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "host", firmware)
    assert list(victim.iterdir()) == [] if link == "models" else victim.read_text() == "{}"


PORT = {"name": "x", "shape": [1], "dtype": "int8", "program_dtype": "int8"}
REFERENCE = {"steps": [], "taken": [], "given": [], "examples": []}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "../../net"}, "a model is called"),
        ({"inputs": [{"name": "../x"}]}, "inputs has the fields .'name'"),
        ({"inputs": [{**PORT, "name": "../x"}]}, "an input or output is called"),
        ({"inputs": [{**PORT, "shape": [-1]}]}, "an input or output has the size -1"),
        ({"inputs": [{**PORT, "dtype": "system(1)"}]}, "a type is called"),
        ({"inputs": [{**PORT, "dtype": "int7"}]}, "TypeError: data type 'int7' not understood"),
        ({"outputs": [{**PORT, "bounds": [0]}]}, "x has the bounds"),
        ({"inputs": 3}, "inputs is 3"),
        ({"reference": {**REFERENCE, "steps": [{"file": "/a", "reads": [], "makes": []}]}}, "outside of the folder"),
        ({"reference": {**REFERENCE, "examples": ["../a"]}}, "outside of the folder"),
    ],
)
def test_what_a_manifest_says_is_checked(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "host", tmp_path)
    manifest = tmp_path / "arm-firmware.json"
    found = json.loads(manifest.read_text())
    found["models"][0] |= change
    manifest.write_text(json.dumps(found))
    with pytest.raises(UsageError, match=f"is damaged: .*({said})"):
        FIRMWARE.run(tmp_path, [])


def test_a_folder_of_an_earlier_version_can_be_deployed_into(tmp_path: Path) -> None:
    """Its manifest does not tell of references; one that is damaged is named, with what to do."""
    programs = {"net": Program(program())}
    FIRMWARE.deploy(programs, "ethos-u55-128", "host", tmp_path)
    manifest = tmp_path / "arm-firmware.json"
    said = json.loads(manifest.read_text())
    del said["models"][0]["reference"]
    manifest.write_text(json.dumps(said))
    assert list(FIRMWARE.deploy(programs, "ethos-u55-128", "host", tmp_path).changed) == []
    manifest.write_text("{}")
    with pytest.raises(UsageError, match=r"arm-firmware\.json is damaged: Manifest has the fields \[\]\. Deploy into"):
        FIRMWARE.deploy(programs, "ethos-u55-128", "host", tmp_path)


@pytest.mark.parametrize("before", ["another model", "nothing", "another board"])
@pytest.mark.parametrize("writes", [1, 3, 10_000])
def test_what_was_cut_off_does_not_run_and_is_finished_by_the_next(
    before: str, writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the next call deploys another model than the two before it."""
    one, other = Program(program()), Program(program("ethos-u55-64"))
    if before != "nothing":
        FIRMWARE.deploy({"net": one}, "ethos-u55-128", "mps3-an547" if before == "another board" else "host", tmp_path)
    write, left = folder.write_atomic, iter(range(writes))

    def cut_off(file: Path, data: bytes | str) -> None:
        manifest = file.name == "arm-firmware.json"
        if next(left, None) is None or (writes == 10_000 and manifest and '"unfinished": {}' in str(data)):
            raise KeyboardInterrupt
        write(file, data)

    monkeypatch.setattr(folder, "write_atomic", cut_off)
    with pytest.raises(KeyboardInterrupt):
        FIRMWARE.deploy({"net": other}, "ethos-u55-64", "host", tmp_path)
    monkeypatch.undo()
    for asked in (FIRMWARE.run, FIRMWARE.verify):
        with pytest.raises(UsageError, match=r"was interrupted while it wrote the files; deploy again"):
            asked(tmp_path, [])
    for name in ("net", "third"):
        FIRMWARE.deploy({name: one}, "ethos-u55-128", "host", tmp_path)
        FIRMWARE.deploy({name: one}, "ethos-u55-128", "host", tmp_path / name / "fresh")
        fresh, again = (
            {str(file.relative_to(where)): file.read_bytes() for file in where.rglob("*") if file.is_file()}
            for where in (tmp_path / name / "fresh", tmp_path)
        )
        assert fresh.items() <= again.items() and len(fresh) > 15
        assert {path for path in again if "fresh" not in path} == fresh.keys(), "nothing of another model stays"


@pytest.mark.parametrize("path", ["models/net.c", "npu/npu.h", "CMakeLists.txt"])
@pytest.mark.parametrize("change", ["changed", "removed"])
def test_what_is_not_what_was_written_does_not_run(path: str, change: str, tmp_path: Path) -> None:
    """The manifest's scales belong to the files that were written with it."""
    FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "host", tmp_path)
    (tmp_path / "app" / "main.c").write_text("/* the user's */")
    folder.whole_firmware(tmp_path)
    (tmp_path / path).write_text("/* changed */") if change == "changed" else (tmp_path / path).unlink()
    for asked in (FIRMWARE.run, FIRMWARE.verify):
        with pytest.raises(UsageError, match=f"{path} is not what `arm-tosa deploy` wrote there"):
            asked(tmp_path, [])


def test_a_pte_cannot_be_verified(tmp_path: Path) -> None:
    FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "host", tmp_path)
    with pytest.raises(UsageError, match=r"net was deployed from a \.pte.*or compare the outputs of `arm-tosa run`"):
        FIRMWARE.verify(tmp_path, [])
