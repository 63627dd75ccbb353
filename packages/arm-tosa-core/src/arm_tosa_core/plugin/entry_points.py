"""Finding installed targets and rules, in the entry-point groups ``arm_tosa.targets`` and ``arm_tosa.rules``.

stevedore does the loading. Names come from the packages' metadata alone; a plugin's module is imported when its target
is asked for. The results are kept for the life of the process; ``refresh`` forgets them.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import warnings
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import Any, NamedTuple

from stevedore.extension import ExtensionManager
from stevedore.named import NamedExtensionManager

from ..support.errors import UsageError
from ..support.install_advice import from_here
from .guard import PluginError as PluginError
from .guard import guarded
from .target import Target

TARGETS = "arm_tosa.targets"
RULES = "arm_tosa.rules"


class PluginWarning(UserWarning):
    """An installed plugin is broken and was left out."""


class Provider(NamedTuple):
    """One installed target: its name, the distribution it comes from, and the target or its error."""

    name: str
    distribution: str
    version: str
    target: Target | PluginError | UsageError


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
            warnings.warn(f"{text}; its operators were left out", PluginWarning, stacklevel=2)
        else:
            loaded += modules
    return tuple(dict.fromkeys(loaded))


def _with_submodules(module: ModuleType) -> list[ModuleType]:
    inner = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
    return [module, *(importlib.import_module(info.name) for info in inner)]


def packages() -> set[str]:
    """Top-level packages that hold installed targets and rules; imports none."""
    return {point.module.partition(".")[0] for group in (TARGETS, RULES) for point in _entry_points(group)}


def refresh() -> None:
    """Forgets targets and rules, for packages installed or removed while this process runs."""
    for cached in (_entry_points, _make, rule_modules):
        cached.cache_clear()


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
        kind = "target" if group == TARGETS else "rules module"
        raise UsageError(f"two plugins provide the {kind} {name!r}: {places}; uninstall one of them")


def _unknown(name: str) -> str:
    names = target_names()
    if not names:
        return f"unknown target {name!r}: no target is installed; for example: {from_here('arm-ethosu')}"
    family = [candidate for candidate in names if candidate.startswith(f"{name.lower()}-")]
    close = family or difflib.get_close_matches(name.lower(), names, n=1)
    hint = f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
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
    point = next(point for point in _entry_points(group) if point.name == name)
    kind = "target" if group == TARGETS else "rules module"
    return f"the plugin {' '.join(_distribution(point))} is broken: {kind} {name!r} ({point.value}): {problem}"


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
