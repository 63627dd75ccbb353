"""Chips by name: a target with the options for one device, and facts about the device, each with its source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard, cast

from ..support import foreign
from ..support.errors import UsageError
from ..support.printable import printable

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")

#: The facts that a chip may have, with their labels for people. Those with a unit are numbers.
FACTS = {
    "npu": "NPU",
    "macs": "MACs per cycle",
    "npu_mhz": "clock of the NPU, MHz",
    "cpu": "CPU",
    "cpu_mhz": "clock of the CPU, MHz",
    "sram": "largest block of SRAM",
    "memories": "other memories",
    "nonvolatile": "non-volatile memory",
    "dram": "DRAM",
    "timing": "timing of the memories",
}
_NUMBERS = ("macs", "npu_mhz", "cpu_mhz")
_LARGEST = 10**9  # no chip has as many MACs or MHz, and a product of two of them is a floating-point number
_KEYS = ("title", "target", "note", "sold", "options", "facts", "sources")


@dataclass(frozen=True)
class Fact:
    """A fact about a chip.

    Args:
        value: a text, or a number in the unit of ``FACTS``.
        sources: addresses of the public documents that say so.
    """

    value: str | int | float
    sources: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Chip:
    """A device by its name.

    Args:
        name: the argument of ``--chip``; no target has it.
        title: maker and name, for people.
        target: what models are compiled for, a name from ``arm-tosa targets``.
        options: of the target, as ``--option`` takes them.
        facts: by the keys of ``FACTS``.
        note: what a user must know before relying on figures; a sentence or two.
        sold: people can buy it; False: a simulator.

    Raises:
        UsageError: a field is of another type, a text has more than one line or controls of terminals, the name is no
            word, a fact is unknown or without a source, a number is not above 0.
    """

    name: str
    title: str
    target: str
    options: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Fact] = field(default_factory=dict)
    note: str = ""
    sold: bool = True

    def __post_init__(self) -> None:
        for key in ("name", "title", "target", "note"):
            if not _is_line(getattr(self, key)):
                raise UsageError(f"{key} of a chip is a text of one line, not {getattr(self, key)!r}")
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"the name of a chip is of small letters, digits, '-', '_' and '.', not {self.name!r}")
        if not isinstance(self.sold, bool):
            raise UsageError(f"sold of chip {self.name!r} is true or false, not {self.sold!r}")
        if not all(_is_line(word) and word for row in self.options.items() for word in row):
            raise UsageError(f"options of chip {self.name!r} are texts of one line, not {dict(self.options)!r}")
        for key, fact in self.facts.items():
            if key not in FACTS:
                raise UsageError(f"chip {self.name!r} has no fact {key!r}; facts are: {', '.join(FACTS)}")
            is_number = key in _NUMBERS
            if not isinstance(fact, Fact) or not (_is_count(fact.value) if is_number else _is_line(fact.value)):
                kind = f"number above 0, at most {_LARGEST:,}" if is_number else "text of one line"
                raise UsageError(f"{key} of chip {self.name!r} is a Fact with a {kind}, not {fact!r}")
            if not fact.sources or not all(_is_line(each) and each.startswith("https://") for each in fact.sources):
                raise UsageError(f"{key} of chip {self.name!r} has no source, an address that begins with https://")

    @property
    def macs_per_second(self) -> float:
        """The most multiply-accumulates that its NPU does in a second; 0: it has none, or this is not known."""
        macs, clock = (self.facts[key].value if key in self.facts else 0 for key in ("macs", "npu_mhz"))
        return float(macs) * float(clock) * 1e6


def _is_line(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and "\n" not in text and "\t" not in text and printable(text) == text


def _is_count(number: object) -> bool:
    return type(number) in (int, float) and 0 < cast(float, number) <= _LARGEST


def read_chips(folder: Path) -> list[Chip]:
    """The chips of a folder: each ``NAME.toml`` is one.

    A file has the keys of :class:`Chip`. A fact is a list, ``[value, source, ...]``, where a source is a key of the
    table ``sources`` or an address. An option that begins with ``./`` is a file in the folder.

    Raises:
        UsageError: a file cannot be read, or says something else: names it.
    """
    return [_read(path) for path in sorted(folder.glob("*.toml"))]


def _read(path: Path) -> Chip:
    try:
        data = foreign.parsed(path.read_text("utf-8"), tomllib.loads)
        for key in data:
            if key not in _KEYS:
                raise UsageError(f"unknown key {key!r}; keys are: {', '.join(_KEYS)}; the file's name is the chip's")
        for key in ("title", "target"):
            if key not in data:
                raise UsageError(f'it has no {key}: write {key} = "..."')
        options, facts, sources = (_table(data, key) for key in ("options", "facts", "sources"))
        return Chip(
            name=path.stem,
            **data,
            options={key: _option(path.parent, key, value) for key, value in options.items()},
            facts={key: _fact(key, row, sources) for key, row in facts.items()},
        )
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (UsageError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    table = data.pop(key, {})
    if not isinstance(table, dict):
        raise UsageError(f"{key} is a table, [{key}], not {table!r}")
    return table


def _option(folder: Path, key: str, value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith("./"):
        return value
    if ".." in Path(value).parts:
        raise UsageError(f"the option {key} is {value!r}: it would lie outside of the folder")
    return str(folder / value[2:])


def _fact(key: str, row: Any, sources: Mapping[str, Any]) -> Fact:
    if not isinstance(row, list) or len(row) < 2 or not all(isinstance(source, str) for source in row[1:]):
        raise UsageError(f"the fact {key} is a list [value, source, ...], each source a text, not {row!r}")
    return Fact(row[0], [sources.get(source, source) for source in row[1:]])
