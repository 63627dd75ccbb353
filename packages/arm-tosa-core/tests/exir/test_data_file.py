"""Reads what ExecuTorch writes as a ``.ptd``, and refuses a damaged one without a word of another tool."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

import pytest
from executorch.exir._serialize._cord import Cord
from executorch.exir._serialize.data_serializer import DataEntry, DataPayload
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer

from arm_tosa_core.exir.data_file import read_data_file
from arm_tosa_core.support.errors import UsageError

BLOCKS = [b"weights of a layer" * 40, b"others", bytes(300)]
NAMES = {**{hashlib.sha256(block).hexdigest(): i for i, block in enumerate(BLOCKS)}, "a constant of the CPU": 1}


@pytest.fixture(scope="module")
def file() -> bytes:
    entries = {name: DataEntry(buffer_index=index, alignment=16, tensor_layout=None) for name, index in NAMES.items()}
    return bytes(FlatTensorSerializer().serialize(DataPayload(buffers=BLOCKS, named_data=entries)))


def test_each_name_has_its_data(file: bytes) -> None:
    expected = FlatTensorSerializer().deserialize(Cord(file))
    assert read_data_file(file) == {name: BLOCKS[index] for name, index in NAMES.items()}
    assert read_data_file(file).keys() == expected.named_data.keys()


DAMAGED: dict[str, tuple[bytes | Callable[[bytes], bytes], str]] = {
    "another file": (b"PK\3\4" + bytes(90), "not a .ptd"),
    "nothing": (b"", "not a .ptd"),
    "a name that is no text": (lambda file: file.replace(b"a constant", b"\xff constant"), "can't decode byte 0xff"),
    "other data": (lambda file: file.replace(b"others", b"Others"), "has another digest"),
    "no header": (lambda file: file.replace(b"FH01", b"FH99"), "instead of b'FH01'"),
    "cut": (lambda file: file[:-400], "data ends at byte"),
    "cut in its tables": (lambda file: file[:90], "damaged .ptd of 90 bytes"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_is_refused(kind: str, file: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    change, problem = DAMAGED[kind]
    with pytest.raises(UsageError, match=problem):
        read_data_file(change(file) if callable(change) else change)
    assert capfd.readouterr() == ("", "")


def test_segments_that_overlap_are_refused(file: bytes) -> None:
    """Else a small file could ask for any memory: each of its names a copy of all of it."""
    first, second = len(BLOCKS[0]).to_bytes(8, "little"), len(BLOCKS[2]).to_bytes(8, "little")
    assert file.count(first) == file.count(second) == 1
    whole = (len(file) - file.index(BLOCKS[0])).to_bytes(8, "little")
    with pytest.raises(UsageError, match="its data has|ends at byte"):
        read_data_file(file.replace(first, whole).replace(second, whole))


def test_spoiled_files_are_read_or_refused(file: bytes) -> None:
    for seed in range(400):
        chance, spoiled = random.Random(seed), bytearray(file)
        for _ in range(chance.choice([1, 2, 8])):
            spoiled[chance.randrange(len(file))] = chance.choice([0, 0xFF, chance.randrange(256)])
        try:
            found = read_data_file(bytes(spoiled[: chance.choice([len(file), chance.randrange(len(file))])]))
        except UsageError:
            continue
        assert sum(map(len, found.values())) <= len(NAMES) * len(file)
