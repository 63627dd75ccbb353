"""Finding what is installed, in the entry-point groups ``arm_tosa.targets``, ``arm_tosa.rules`` and ``arm_tosa.chips``.

stevedore does the loading. Names come from the packages' metadata alone; a plugin's module is imported when its target
is asked for. The results are kept for the life of the process; ``refresh`` forgets them.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import warnings
from collections import Counter
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import Any, NamedTuple

from stevedore.extension import ExtensionManager
from stevedore.named import NamedExtensionManager

from ..support.errors import UsageError
from ..support.install_advice import from_here
from .chip import Chip
from .guard import PluginError as PluginError
from .guard import guarded
from .target import Target

TARGETS = "arm_tosa.targets"
RULES = "arm_tosa.rules"
CHIPS = "arm_tosa.chips"
_KINDS = {TARGETS: "target", RULES: "rules module", CHIPS: "chips"}


class PluginWarning(UserWarning):
    """An installed plugin is broken and was left out."""


class Provider(NamedTuple):
    """One installed target: its name, the distribution it comes from, and the target or its error."""

    name: str
    distribution: str
    version: str
    target: Target | PluginError | UsageError


class ChipProvider(NamedTuple):
    """One chip: its name, the distribution it comes from, and the chip, or the error of its entry point."""

    name: str
    distribution: str
    version: str
    chip: Chip | PluginError


def target_names() -> list[str]:
    """Names of the installed targets, sorted; imports no plugin."""
    return sorted({point.name for point in _entry_points(TARGETS)})


def target(name: str) -> Target:
    """The installed target of this name.

    Raises:
        UsageError: no target, or more than one, has this name.
        PluginError: the plugin does not load or makes no target of this name.
    """
    _refuse_duplicates(TARGETS, name)
    outcome = _make(name)
    if isinstance(outcome, PluginError):
        raise outcome
    return outcome


def described(name: str) -> str:
    """A target and its distribution, as errors name them."""
    origins = [f" ({' '.join(_distribution(point))})" for point in _entry_points(TARGETS) if point.name == name]
    return f"target {name!r}{origins[0] if origins else ''}"


def targets() -> dict[str, Target]:
    """All installed targets that work, by name; warns of the others (``PluginWarning``).

    Raises:
        UsageError: two distributions provide a target of one name.
    """
    working: dict[str, Target] = {}
    for name in target_names():
        _refuse_duplicates(TARGETS, name)
        outcome = _make(name)
        if isinstance(outcome, PluginError):
            warnings.warn(f"{outcome}; it was left out", PluginWarning, stacklevel=2)
        else:
            working[name] = outcome
    return working


def providers() -> list[Provider]:
    """Every target that a distribution declares, broken and duplicate ones included, in order of name."""
    rows: list[Provider] = []
    for point in sorted(_entry_points(TARGETS), key=lambda point: (point.name, _distribution(point))):
        state: Target | PluginError | UsageError
        try:
            state = target(point.name)
        except (PluginError, UsageError) as error:
            state = error
        rows.append(Provider(point.name, *_distribution(point), state))
    return rows


@cache
def chip_providers() -> tuple[ChipProvider, ...]:
    """Every chip that a distribution declares, broken ones included, in order of name."""
    rows: list[ChipProvider] = []
    for point in _entry_points(CHIPS):
        for found in _chips_of(point):
            name = point.name if isinstance(found, PluginError) else found.name
            rows.append(ChipProvider(name, *_distribution(point), found))
    counts = Counter(row.name for row in rows if isinstance(row.chip, Chip))
    for index, row in enumerate(rows):
        if counts[row.name] > 1 and isinstance(row.chip, Chip):
            places = " and ".join(f"{other.distribution} {other.version}" for other in rows if other.name == row.name)
            text = f"two plugins provide the chip {row.name!r}: {places}; uninstall one of them"
            rows[index] = row._replace(chip=PluginError(text))
    return tuple(sorted(rows, key=lambda row: row[:3]))


def chips() -> dict[str, Chip]:
    """All installed chips that work, by name."""
    return {row.name: row.chip for row in chip_providers() if isinstance(row.chip, Chip)}


def chip(name: str) -> Chip:
    """The installed chip of this name.

    Raises:
        UsageError: no chip has this name.
        PluginError: several have it.
    """
    for row in chip_providers():
        if row.name == name:
            if isinstance(row.chip, PluginError):
                raise row.chip
            return row.chip
    if name in target_names():
        how = f"give --target {name}, --targets to compare, or [targets.{name}] in a space"
        raise UsageError(f"{name!r} is a target, not a chip: {how}")
    names = list(chips())
    close = [each for each in names if name.lower() in each] or difflib.get_close_matches(name.lower(), names)
    hint = f" (did you mean {' or '.join(map(repr, close[:5]))}?)" if name and close else ""
    broken = any(isinstance(row.chip, PluginError) for row in chip_providers())
    more = ", and says which packages of chips are broken" if broken else ""
    raise UsageError(f"unknown chip {name!r}{hint}; `arm-tosa chips` lists all{more}")


def _chips_of(point: metadata.EntryPoint) -> list[Chip | PluginError]:
    """The chips of one entry point; errors in place of those that cannot be used."""
    try:
        made = list(point.load()())
    except (Exception, SystemExit) as error:  # whatever a third party's factory raises must not stop the others
        return [PluginError(_broken_point(CHIPS, point, f"it does not load: {_reason(error)}"))]
    chips: list[Chip | PluginError] = []
    for each in made:
        problem = ""
        if not isinstance(each, Chip):
            problem = f"its factory made {type(each).__name__}, not a Chip"
        elif each.name in target_names():
            problem = f"a target is called {each.name!r}, too"
        elif each.target not in target_names():
            problem = f"chip {each.name!r} is for the target {each.target!r}, which is not installed"
        chips.append(PluginError(_broken_point(CHIPS, point, problem)) if problem else each)
    return chips


#: Names in the group ``arm_tosa.rules`` of modules that do not import.
_left_out: set[str] = set()


@cache
def rule_modules() -> tuple[ModuleType, ...]:
    """The modules that the group ``arm_tosa.rules`` names, in order of name; of a package its own modules as well.

    Leaves out modules that do not import, with a ``PluginWarning``.

    Raises:
        UsageError: two distributions declare rules under one name.
    """
    loaded: list[ModuleType] = []
    for name in sorted({point.name for point in _entry_points(RULES)}):
        _refuse_duplicates(RULES, name)
        module, error = _load(RULES, name)
        try:
            modules = [] if error is not None else _with_submodules(module)
        except Exception as caught:  # whatever a third party's module raises must not stop the others
            error = caught
        if error is not None:
            text = _broken(RULES, name, f"it does not import: {_reason(error)}")
            _left_out.add(name)
            warnings.warn(f"{text}; its operators were left out", PluginWarning, stacklevel=2)
        else:
            loaded += modules
    return tuple(dict.fromkeys(loaded))


def rules_left_out() -> bool:
    """Whether ``rule_modules`` left one out, so that programs lack its operators; what breaks it may pass."""
    return bool(_left_out)


def _with_submodules(module: ModuleType) -> list[ModuleType]:
    inner = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
    return [module, *(importlib.import_module(info.name) for info in inner)]


def packages() -> set[str]:
    """Top-level packages that hold installed targets and rules; imports none."""
    return {point.module.partition(".")[0] for group in (TARGETS, RULES) for point in _entry_points(group)}


def refresh() -> None:
    """Forgets targets and rules, for packages installed or removed while this process runs."""
    for cached in (_entry_points, _make, rule_modules, chip_providers):
        cached.cache_clear()
    _left_out.clear()


@cache
def _entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    # stevedore's own scan drops the distributions, and its cache on disk keys on times rounded to minutes, so that a
    # plugin corrected and installed again at once would stay broken. Reading the metadata takes 5 ms.
    points = list(metadata.entry_points(group=group))
    ExtensionManager.ENTRY_POINT_CACHE[group] = points
    return tuple(points)


def _distribution(point: metadata.EntryPoint) -> tuple[str, str]:
    return (point.dist.name, point.dist.version) if point.dist else ("unknown distribution", "")


def _refuse_duplicates(group: str, name: str) -> None:
    points = [point for point in _entry_points(group) if point.name == name]
    if not points:
        raise UsageError(_unknown(name))
    if len(points) > 1:
        places = " and ".join(f"{' '.join(_distribution(point))} ({point.value})" for point in points)
        raise UsageError(f"two plugins provide the {_KINDS[group]} {name!r}: {places}; uninstall one of them")


def _unknown(name: str) -> str:
    names = target_names()
    if not names:
        return f"unknown target {name!r}: no target is installed; for example: {from_here('arm-ethosu')}"
    family = [candidate for candidate in names if candidate.startswith(f"{name.lower()}-")]
    close = family or difflib.get_close_matches(name.lower(), names, n=1)
    hint = f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
    if name in chips():
        hint = f" (it is a chip: give --chip {name}, --chips to compare, or [chips.{name}] in a space)"
    return f"unknown target {name!r}{hint}; installed: {', '.join(names)}"


@cache
def _make(name: str) -> Target | PluginError:
    factory, error = _load(TARGETS, name)
    if error is None:
        try:
            result = factory()
        except Exception as caught:  # whatever a third party's factory raises must not stop the other targets
            error = caught
        else:
            if not isinstance(result, Target):
                return PluginError(
                    _broken(TARGETS, name, f"its factory returned {type(result).__name__}, not a Target")
                )
            if result.name != name:
                return PluginError(_broken(TARGETS, name, f"its factory made a target named {result.name!r}"))
            return guarded(result, described(name))
    return PluginError(_broken(TARGETS, name, f"it does not load: {_reason(error)}"))


def _load(group: str, name: str) -> tuple[Any, BaseException | None]:
    """The object behind the one entry point of this name, or None and why it could not be imported."""
    errors: list[BaseException] = []
    _entry_points(group)
    try:
        manager: NamedExtensionManager[Any] = NamedExtensionManager(
            group,
            [name],
            on_load_failure_callback=lambda _manager, _point, error: errors.append(error),
            on_missing_entrypoints_callback=lambda _names: None,
        )
    except (AssertionError, SystemExit) as error:  # stevedore lets these two through
        errors.append(error)
    return (None, errors[0]) if errors else (manager[name].plugin, None)


def _broken(group: str, name: str, problem: str) -> str:
    return _broken_point(group, next(point for point in _entry_points(group) if point.name == name), problem)


def _broken_point(group: str, point: metadata.EntryPoint, problem: str) -> str:
    who = f"{_KINDS[group]} {point.name!r} ({point.value})"
    return f"the plugin {' '.join(_distribution(point))} is broken: {who}: {problem}"


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
