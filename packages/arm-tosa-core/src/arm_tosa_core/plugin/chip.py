"""Chips by name: a target with the options for one device, and facts about the device, each with its source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..support import foreign
from ..support.errors import UsageError

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
        UsageError: a field is of another type, the name is no word, a fact is unknown or without a source.
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
            if not isinstance(getattr(self, key), str):
                raise UsageError(f"{key} of a chip is a text, not {getattr(self, key)!r}")
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"the name of a chip is of small letters, digits, '-', '_' and '.', not {self.name!r}")
        if not isinstance(self.sold, bool):
            raise UsageError(f"sold of chip {self.name!r} is true or false, not {self.sold!r}")
        if not all(isinstance(word, str) for row in self.options.items() for word in row):
            raise UsageError(f"options of chip {self.name!r} are texts, not {dict(self.options)!r}")
        for key, fact in self.facts.items():
            if key not in FACTS:
                raise UsageError(f"chip {self.name!r} has no fact {key!r}; facts are: {', '.join(FACTS)}")
            kinds, kind = ((int, float), "number") if key in _NUMBERS else ((str,), "text")
            if not isinstance(fact, Fact) or type(fact.value) not in kinds:
                raise UsageError(f"{key} of chip {self.name!r} is a Fact with a {kind}, not {fact!r}")
            if not fact.sources or not all(str(source).startswith("https://") for source in fact.sources):
                raise UsageError(f"{key} of chip {self.name!r} has no source, an address that begins with https://")

    @property
    def macs_per_second(self) -> float:
        """The most multiply-accumulates that its NPU does in a second; 0: it has none, or this is not known."""
        macs, clock = (self.facts[key].value if key in self.facts else 0 for key in ("macs", "npu_mhz"))
        return float(macs) * float(clock) * 1e6


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
        sources = data.pop("sources", {})
        facts = {key: _fact(key, row, sources) for key, row in data.pop("facts", {}).items()}
        options = {
            key: str(path.parent / value[2:]) if str(value).startswith("./") else value
            for key, value in data.pop("options", {}).items()
        }
        return Chip(name=path.stem, **data, options=options, facts=facts)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (UsageError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


def _fact(key: str, row: Any, sources: Mapping[str, str]) -> Fact:
    if not isinstance(row, list) or len(row) < 2:
        raise UsageError(f"the fact {key} is a list [value, source, ...], not {row!r}")
    return Fact(row[0], [sources.get(source, source) for source in row[1:]])
