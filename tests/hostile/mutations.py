"""Ways to spoil a file: flipped bits, cut and repeated parts, numbers at their ends, and texts that mean something."""

from __future__ import annotations

import io
import json
import random
import zipfile
from typing import Any

_NUMBERS = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 16, 2**63, 2**64 - 1)
_TEXTS = (
    b"../../x", b"/etc/passwd", b'")\nfile(WRITE x y)', b"\x1b]0;x\x07", b"<script>", b"\0", b"\xff\xfe", b"-1",
    b"99999999999999999999", b"1e999", b"NaN", b"[" * 3000, b"{}", b"null", b'"', b"__import__('os')", b"a" * 300,
)  # fmt: skip
#: In place of a value of JSON.
_VALUES = (
    None, True, -1, 0, 0.5, 2**63, 10**400, float("inf"), float("nan"), "", "1", "../../x", "\x1b]0;x\x07", "a" * 300,
    [], {}, [[]], [-1], {"x": 1},
)  # fmt: skip


def spoiled(data: bytes, draw: random.Random) -> bytes:
    """The file with one to four changes; of an archive sometimes one of its members."""
    if data[:2] == b"PK" and draw.random() < 0.7:
        return _member_spoiled(data, draw)
    if draw.random() < 0.5 and (other := _value_spoiled(data, draw)) is not None:
        return other
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        data = draw.choice((_flip, _number, _text, _text, _cut, _repeat, _drop, _swap))(data, draw)
    return data


def _member_spoiled(data: bytes, draw: random.Random) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        chosen = draw.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, spoiled(content, draw) if name == chosen else content)
    return buffer.getvalue()


def _value_spoiled(data: bytes, draw: random.Random) -> bytes | None:
    """A file in JSON, or with lines in it, with another value at a place; None: there is no JSON."""
    lines = [data] if data[:1] == b"{" and data.count(b"\n{") == 0 else data.split(b"\n")
    places = [number for number, line in enumerate(lines) if b"{" in line]
    if not places:
        return None
    number = draw.choice(places)
    before, brace, text = lines[number].partition(b"{")
    try:
        value = json.loads(brace + text)
    except (ValueError, RecursionError):
        return None
    _spoil(value, draw)
    lines[number] = before + json.dumps(value).encode()
    return b"\n".join(lines)


def _spoil(value: Any, draw: random.Random) -> None:
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = draw.choice(keys)
    if isinstance(value[key], (dict, list)) and value[key] and draw.random() < 0.8:
        _spoil(value[key], draw)
    elif draw.random() < 0.2:
        del value[key]
    else:
        value[key] = draw.choice(_VALUES)


def _at(data: bytes, draw: random.Random, size: int = 1) -> int:
    """A place; the beginning, where sizes are, as often as the rest."""
    most = max(len(data) - size, 0)
    return draw.randint(0, min(most, 256) if draw.random() < 0.5 else most)


def _flip(data: bytes, draw: random.Random) -> bytes:
    out = bytearray(data or b"\0")
    out[_at(out, draw)] ^= 1 << draw.randrange(8)
    return bytes(out)


def _number(data: bytes, draw: random.Random) -> bytes:
    size = draw.choice((1, 2, 4, 4, 8))
    at = _at(data, draw, size) // size * size
    return data[:at] + (draw.choice(_NUMBERS) % 2 ** (8 * size)).to_bytes(size, "little") + data[at + size :]


def _text(data: bytes, draw: random.Random) -> bytes:
    at, text = _at(data, draw), draw.choice(_TEXTS)
    return data[:at] + text + data[at + (len(text) if draw.random() < 0.7 else 0) :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: _at(data, draw)]


def _repeat(data: bytes, draw: random.Random) -> bytes:
    at, size = _at(data, draw), draw.choice((1, 16, 256))
    return data[: at + size] + data[at : at + size] * draw.choice((1, 1, 64)) + data[at + size :]


def _drop(data: bytes, draw: random.Random) -> bytes:
    at = _at(data, draw)
    return data[:at] + data[at + draw.choice((1, 4, 64)) :]


def _swap(data: bytes, draw: random.Random) -> bytes:
    out, size = bytearray(data), draw.choice((1, 4, 32))
    one, other = _at(data, draw, size), _at(data, draw, size)
    out[one : one + size], out[other : other + size] = out[other : other + size], out[one : one + size]
    return bytes(out)
