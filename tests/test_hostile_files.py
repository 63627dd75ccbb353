"""Spoiled files of every format, and one for each that was made to do harm: a sample of ``nox -s hostile``.

What a file may do beside is tested where its reader is: ``test_foreign_pt2.py``, ``test_firmware_folder.py``,
``test_firmware_executorch.py``, ``test_report_page.py``.
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hostile.mutations import spoiled
from hostile.openings import OPENINGS

NAMES = {f"{opening.seed}, {opening.name}": number for number, opening in enumerate(OPENINGS)}


class Opener:
    """A process that forks for each file: this one may have threads, and sessions that a fork has no part in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        words = [sys.executable, "-m", "hostile", "--serve", str(folder)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, cwd=Path(__file__).parent, env=env, stdin=pipe, stdout=pipe, text=True)
        assert self._answer() == "ready"

    def good(self, name: str) -> bytes:
        return (self.folder / "seeds" / OPENINGS[NAMES[name]].seed).read_bytes()

    def fault(self, name: str, content: bytes) -> str:
        """What goes wrong when such a file is opened; empty: nothing."""
        (self.folder / "opened").write_bytes(content)
        assert self.process.stdin is not None
        print(NAMES[name], file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        answer: str = json.loads(self.process.stdout.readline())
        return answer


@pytest.fixture(scope="module")
def opener(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    made = Opener(tmp_path_factory.mktemp("hostile"))
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait(60)


@pytest.mark.parametrize("name", NAMES)
def test_spoiled_files_are_opened_or_refused(name: str, opener: Opener) -> None:
    """No crash, no hang, no traceback, no more than 1 GiB."""
    for number in range(OPENINGS[NAMES[name]].often):
        assert not opener.fault(name, spoiled(opener.good(name), random.Random(f"{name} {number}"))), number


def _npy(header: str) -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def _npz_of_bytes(_good: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.npy", b"no array")
    return buffer.getvalue()


def _with_planned_memory(good: bytes) -> bytes:
    from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary

    file = deserialize_pte_binary(good)
    file.program.execution_plan[0].non_const_buffer_sizes[1] = 2 << 30
    return bytes(serialize_pte_binary(file))


def _with_pickle(good: bytes) -> bytes:
    """An archive of PyTorch whose example inputs run a program, beside its folder, as they are loaded."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"cos\nsystem\n(S'touch ../owned'\ntR." if name.endswith(".pt") else old.read(name))
    return buffer.getvalue()


def _at(place: int, number: int) -> Callable[[bytes], bytes]:
    """The file with a number of 64 bits at a place."""
    return lambda good: good[:place] + number.to_bytes(8, "little") + good[place + 8 :]


DEEP = b"[" * 100_000
HOSTILE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "an array of 8 TiB": (
        "x.npy, run",
        lambda _: _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2199023255552,)}"),
    ),
    "planned memory of 2 GiB": ("npu.pte, run", _with_planned_memory),
    "a header that is code": ("x.npy, run", lambda _: _npy("{'descr': __import__('os'), 'shape': (1,)}")),
    "a header that does not end": ("x.npy, run", lambda _: _npy("{'descr': '<f4', 'shape': (((((")),
    "a member that is no array": ("data.npz, bundle", _npz_of_bytes),
    "nested objects": ("scheme.json, read", lambda _: DEEP),
    "nested lists": ("space.toml, read", lambda _: b"x = " + DEEP),
    "a nested manifest": ("fw/arm-firmware.json, read", lambda _: DEEP),
    "a nested entry": ("entry.lowered, load", lambda good: good[:40] + DEEP + b"\n"),
    "a board that is a path": (
        "fw/arm-firmware.json, deploy",
        lambda good: json.dumps({**json.loads(good), "files": {"../../x": "0" * 64}}).encode(),
    ),
    "an area that is code": ("vela.ini, read", lambda good: good.replace(b"axi0_port=Sram", b"axi0_port=*/ x")),
    "weights outside of the folder": ("net.onnx, explain", lambda good: good.replace(b"./weights", b"/etc/host")),
    "a vector beyond the end": ("net.tflite, explain", lambda good: good[: len(good) // 2]),
    "a section of a VGF at the end of 64 bits": ("net.vgf, run", _at(16, 2**64 - 16)),
    "a section of a VGF that is larger than the file": ("net.vgf, explain", _at(24, 2**40)),
    "data of a .ptd at the end of 64 bits": ("weights.ptd, extract", _at(32, 2**64 - 16)),
    "data of a .ptd that is not what its name says": (
        "weights.ptd, extract",
        lambda good: good[:0x100] + bytes([good[0x100] ^ 1]) + good[0x101:],
    ),
    "a nested recipe": ("recipe.toml, read", lambda _: b"nodes = " + DEEP),
    "a scheme of a recipe with controls": ("recipe.toml, read", lambda _: b'scheme = "\\u001b]0;x\\u0007"\n'),
    "a board that shares a folder of the system": (
        "board/board.toml, read",
        lambda good: good.replace(b'"cortex-m"', b'"../../../../../etc"'),
    ),
    "a description of a board that is a number": (
        "board/board.toml, read",
        lambda good: good.replace(b'"ACME"', b"9" * 4000),
    ),
    "a nested chip": ("chips/acme.toml, read", lambda good: good.replace(b'"640K"', DEEP)),
    "an option of a chip that is a path": (
        "chips/acme.toml, read",
        lambda good: good.replace(b'"640K"', b'"./../../x"'),
    ),
    "a nested tokenizer": ("tokenizer.json, read", lambda _: DEEP),
    "a tokenizer with numbers that are none": (
        "tokenizer.json, read",
        lambda good: good.replace(b'"good": 0', b'"good": 1e400'),
    ),
    "a nested line of a journal": ("study/journal.log, read", lambda good: good + b'{"op_code": ' + DEEP + b"\n"),
    "a cost in a journal that is no number": (
        "study/journal.log, read",
        lambda good: good.replace(b'"cycles": 1000000.0', b'"cycles": 1' + b"0" * 400),
    ),
    "a nested record of a quantized program": ("kept.json, read", lambda _: b'{"accuracy": ' + DEEP),
    "a quantized program that is code": ("kept.pt2, read", _with_pickle),
    "a payload that is larger than it": ("npu.vela, run", lambda good: good[: len(good) // 2]),
    "a name with controls": ("net.tosa, compile", lambda good: good.replace(b"relu/CLAMP", b"\x1b]0;/CLAMP")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str, opener: Opener) -> None:
    opening, change = HOSTILE[name]
    good = opener.good(opening)
    assert change(good) != good
    assert not opener.fault(opening, change(good))
