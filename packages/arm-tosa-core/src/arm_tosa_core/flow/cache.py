"""Lowered programs on disk, so that the same request is not worked out twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..exir.pte import InputTensor
from ..exir.report import Report
from ..support import foreign
from ..support.atomic_files import write_atomic
from ..support.cache_folder import cache_folder
from ..support.errors import UsageError

if TYPE_CHECKING:
    from ..aten.integer_edges import Integers

#: Beyond this many bytes in all, the entries that nobody used for longest go.
LIMIT = 2 * 2**30

_SUFFIX = ".lowered"
_MAGIC = b"ARMTOSA3"
_DIGEST = hashlib.sha256().digest_size


class Entry(NamedTuple):
    """What is kept of a lowered program."""

    buffer: bytes
    report: Report
    integers: Mapping[str, Integers]
    inputs: Sequence[InputTensor | None]


@dataclass(frozen=True)
class _Integers:
    """``Integers.to_json``."""

    scale: float
    zero_point: int
    low: int
    high: int
    dtype: str

    def integers(self) -> Integers:
        from ..aten.integer_edges import Integers  # late: it loads PyTorch, and few programs have any
        from ..lowering.values import INTEGER_RANGES

        dtypes = {str(dtype): dtype for dtype in INTEGER_RANGES}
        if self.dtype not in dtypes:
            raise UsageError(f"{self.dtype} is no type of quantized integers")
        return Integers(self.scale, self.zero_point, self.low, self.high, dtypes[self.dtype])


@dataclass(frozen=True)
class _Header:
    """The line before the program."""

    report: Report
    integers: dict[str, _Integers]
    inputs: list[InputTensor | None]


def load(key: str) -> Entry | None:
    """The entry of this key; None if there is none that is whole."""
    path = _path(key)
    try:
        content = path.read_bytes()
    except OSError:
        return None
    with suppress(OSError):  # a folder that others write
        os.utime(path)  # it was used: ``_shrink`` goes by this
    magic, digest, rest = content[: len(_MAGIC)], content[len(_MAGIC) :][:_DIGEST], content[len(_MAGIC) + _DIGEST :]
    if magic != _MAGIC or hashlib.sha256(rest).digest() != digest:
        return None  # cut short, or not ours: it will be written anew
    header, _, buffer = rest.partition(b"\n")
    try:
        said = foreign.record(_Header, foreign.parsed(header))
        for one in said.inputs:
            if one is not None:
                foreign.axes(one.order, len(foreign.sizes(one.sizes, "an input")), "an input")
        return Entry(buffer, said.report, {name: row.integers() for name, row in said.integers.items()}, said.inputs)
    except UsageError:  # somebody else's, with a digest of its own
        return None


def store(key: str, entry: Entry) -> None:
    """Keeps an entry, all of it or nothing; where the folder cannot be written, nothing."""
    integers = {name: row.to_json() for name, row in entry.integers.items()}
    inputs = [None if one is None else asdict(one) for one in entry.inputs]
    header = {"report": entry.report.to_json(), "integers": integers, "inputs": inputs}
    rest = json.dumps(header).encode() + b"\n" + entry.buffer
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        write_atomic(_path(key), _MAGIC + hashlib.sha256(rest).digest() + rest)
        _shrink()
    except (OSError, UsageError):
        return  # a cache is a convenience: the program has been made


def _path(key: str) -> Path:
    return cache_folder() / f"{key}{_SUFFIX}"


def _shrink() -> None:
    entries = [(file.stat(), file) for file in cache_folder().glob(f"*{_SUFFIX}")]
    total = sum(stat.st_size for stat, _ in entries)
    for stat, file in sorted(entries, key=lambda entry: entry[0].st_mtime):
        if total <= LIMIT:
            return
        file.unlink(missing_ok=True)
        total -= stat.st_size
