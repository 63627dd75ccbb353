"""The points of a sweep: targets with values for their options, schemes, and parameters of the model."""

from __future__ import annotations

import fnmatch
import itertools
import math
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..accuracy.scheme import ALIASES, SCHEMES, unknown_scheme
from ..exir.target_options import option_names, spec_of_name, target_of_name
from ..plugin import entry_points as plugins
from ..plugin.chip import Chip
from ..support import foreign
from ..support.errors import UsageError
from .point import AS_IS, Parameters, Point

#: In place of an option's value: the option is left out.
DEFAULT = "default"
_KEYS = ("quantize", "targets", "chips", "parameters")


@dataclass(frozen=True)
class Space:
    """All combinations of targets, options, schemes and parameters.

    Args:
        targets: for each target or chip, cheapest first, the values of its options; ``DEFAULT`` leaves an option out.
        schemes: of quantization.
        parameters: values of the parameters of the function that makes the model.
    """

    targets: Mapping[str, Mapping[str, Sequence[str]]]
    schemes: Sequence[str] = ("int8",)
    parameters: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        sizes = [math.prod(map(len, options.values())) for options in self.targets.values()]
        return sum(sizes) * len(self.schemes) * math.prod(map(len, self.parameters.values()))

    def __iter__(self) -> Iterator[Point]:
        """Every point, those of one quantized program together, and of these the targets in their order."""
        for parameters in self.all_parameters():
            for scheme in self.schemes:
                for target, options in self.targets.items():
                    for values in _combinations(options):
                        yield Point(target, scheme, _without_defaults(values), parameters)

    def all_parameters(self) -> Iterator[Parameters]:
        """Every combination of the model's parameters."""
        return _combinations(self.parameters)

    def any(self, source: random.Random) -> Point:
        """A point by chance, each as likely as any other."""
        sizes = [math.prod(map(len, options.values())) for options in self.targets.values()]
        (target,) = source.choices(list(self.targets), sizes)
        options = tuple((key, source.choice(values)) for key, values in self.targets[target].items())
        parameters = tuple((key, source.choice(values)) for key, values in self.parameters.items())
        return Point(target, source.choice(self.schemes), _without_defaults(options), parameters)

    @cached_property
    def unfit(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], str]:
        """Combinations of a target's options that it refuses, and why.

        Raises:
            UsageError: a value that no combination is taken with.
        """
        conflicts: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
        for target, options in self.targets.items():
            accepted: set[tuple[str, str]] = set()
            refused: dict[tuple[tuple[str, str], ...], str] = {}
            for values in _combinations(options):
                try:
                    spec_of_name(target, dict(_without_defaults(values)))
                    accepted.update(values)
                except UsageError as error:
                    refused[_without_defaults(values)] = str(error)
            for key, value in ((key, value) for key, values in options.items() for value in values):
                if (key, value) not in accepted:
                    raise UsageError(f"{target}: {key} = {value!r} never works: {_why(refused, key, value)}")
            conflicts |= {(target, values): reason for values, reason in refused.items()}
        return conflicts


def _why(refused: Mapping[tuple[tuple[str, str], ...], str], key: str, value: str) -> str:
    reasons = [reason for values, reason in refused.items() if (key, value) in values or value == DEFAULT]
    return next((reason for reason in reasons if value in reason), reasons[0])


def _combinations(choices: Mapping[str, Sequence[Any]]) -> Iterator[tuple[tuple[str, Any], ...]]:
    for values in itertools.product(*choices.values()):
        yield tuple(zip(choices, values, strict=True))


def _without_defaults(values: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in values if value != DEFAULT)


def read_space(path: Path, scheme: Callable[[], str] = lambda: "int8") -> Space:
    """The space that a TOML file describes.

    Args:
        scheme: gives the scheme of a file that names none.

    Raises:
        UsageError: it cannot be read, is no TOML, or holds an unknown key, target, option or scheme: names the line and
            the valid ones.
    """
    try:
        text = path.read_text("utf-8")
        data = foreign.parsed(text, tomllib.loads)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    try:
        return _Reader(text, data, scheme).space()
    except UsageError as error:
        raise UsageError(f"{path}{error}") from None


def schemes_named(names: Sequence[str]) -> list[str]:
    """Schemes by their own names, from those that users know.

    Raises:
        UsageError: one is unknown, or the file that it names is not there.
    """
    schemes = [ALIASES.get(name, name) for name in names]
    for scheme in schemes:
        if scheme.endswith(".json"):
            if not Path(scheme).is_file():
                raise UsageError(f"cannot read {scheme}: no such file")
        elif scheme not in (*SCHEMES, AS_IS):
            raise unknown_scheme(scheme, (*SCHEMES, *ALIASES, AS_IS))
    return list(dict.fromkeys(schemes))


def targets_named(pattern: str) -> list[str]:
    """The installed targets that a name or a pattern such as ``ethos-u55-*`` means; numbers in their order.

    Raises:
        UsageError: none; lists those there are.
    """
    names = fnmatch.filter(plugins.target_names(), pattern)
    if not names and any(c in pattern for c in "*?["):
        raise UsageError(f"no target is called {pattern!r}; installed: {', '.join(plugins.target_names())}")
    if not names:
        return [plugins.target(pattern).name]  # raises: it is unknown; names similar ones
    return sorted(names, key=lambda name: [(not w.isdigit(), int(w or 0) if w.isdigit() else w) for w in _words(name)])


def chips_named(pattern: str) -> list[str]:
    """The installed chips that a name or a pattern such as ``alif-*`` means, slowest NPU first; ``all``: those sold.

    Raises:
        UsageError: none; names similar ones.
    """
    chips = plugins.chips()
    if pattern == "all":
        names = [name for name, chip in chips.items() if chip.sold]
    else:
        names = fnmatch.filter(chips, pattern) or [plugins.chip(pattern).name]
    return sorted(names, key=lambda name: (chips[name].macs_per_second, _megahertz(chips[name]), name))


def _megahertz(chip: Chip) -> float:
    """Of the processor; 0: not known."""
    return float(chip.facts["cpu_mhz"].value) if "cpu_mhz" in chip.facts else 0.0


def _words(name: str) -> list[str]:
    return re.split(r"(\d+)", name)


class _Reader:
    """Reads the parts of a file; errors begin with the line, ``, line 3: ...``."""

    def __init__(self, text: str, data: Mapping[str, Any], scheme: Callable[[], str]) -> None:
        self._lines = text.splitlines()
        self._data = data
        self._scheme = scheme

    def space(self) -> Space:
        for key in self._data:
            if key not in _KEYS:
                raise self._error(key, f"unknown key {key!r}; known keys: {', '.join(_KEYS)}")
        targets, chips = self._table(self._data, "targets"), self._table(self._data, "chips")
        if not targets and not chips:
            raise self._error("targets", 'name a target at least, such as a table [targets."ethos-u55-128"]')
        devices = self._devices(targets, targets_named) | self._devices(chips, chips_named)
        space = Space(devices, self._schemes(), self._parameters())
        try:
            _ = space.unfit  # judges the values
        except UsageError as error:
            key = str(error).partition(": ")[2].partition(" = ")[0]
            raise self._error(key, str(error)) from None
        return space

    def _devices(self, tables: Mapping[str, Any], named: Callable[[str], list[str]]) -> dict[str, dict[str, list[str]]]:
        targets: dict[str, dict[str, list[str]]] = {}
        for pattern in tables:
            options = self._table(tables, pattern)
            try:
                names = named(pattern)
            except UsageError as error:
                raise self._error(pattern, str(error)) from None
            for name in names:
                self._require_options(name, options)
                values = {key: self._values(key, value) for key, value in options.items()}
                targets.setdefault(name, {}).update(values)
        return targets

    def _require_options(self, target: str, options: Mapping[str, Any]) -> None:
        valid = option_names(target_of_name(target))
        for key in options:
            if key not in valid:
                advice = f"its options are {', '.join(valid)}" if valid else "it has none"
                advice += f" ({key} stands above the first [table])" if key in _KEYS else ""
                raise self._error(key, f"target {target!r} has no option {key!r}; {advice}")

    def _schemes(self) -> list[str]:
        values = self._values("quantize", self._data["quantize"] if "quantize" in self._data else [self._scheme()])
        try:
            return schemes_named(values)
        except UsageError as error:
            raise self._error("quantize", str(error)) from None

    def _parameters(self) -> dict[str, list[Any]]:
        table = self._table(self._data, "parameters")
        return {key: self._list(key, value) for key, value in table.items()}

    def _table(self, data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        table = data.get(key, {})
        if not isinstance(table, dict):
            raise self._error(key, f"{key} is a table, [{key}], not {table!r}")
        return table

    def _values(self, key: str, value: Any) -> list[str]:
        """An option's values, as ``--option`` would have them."""
        return [str(each).lower() if isinstance(each, bool) else str(each) for each in self._list(key, value)]

    def _list(self, key: str, value: Any) -> list[Any]:
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(each, (str, int, float)) and str(each) != "nan" for each in values):
            raise self._error(key, f"{key} takes a value or a list of values, texts and numbers, not {value!r}")
        return list(dict.fromkeys(values))

    def _error(self, key: str, problem: str) -> UsageError:
        where = re.compile(rf"^\s*(\[.*)?[\"']?{re.escape(key)}[\"']?[^\w].*|^\s*\[{re.escape(key)}")
        line = next((number for number, text in enumerate(self._lines, 1) if where.match(text)), None)
        return UsageError(f", line {line}: {problem}" if line else f": {problem}")
