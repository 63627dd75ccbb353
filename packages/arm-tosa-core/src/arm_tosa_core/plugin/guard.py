"""Calls of a plugin's functions: a mistake of the plugin becomes an error that names the plugin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..support.errors import ArmTosaError, Rejected
from .target import Target


class PluginError(ArmTosaError):
    """A plugin does not work."""


#: The functions that the compiler and the commands call, by the parts of a target.
_CALLED = {
    "compiler": (
        *("compile", "compile_in_detail", "of_program", "outputs_in_order", "ports", "require_options", "sizes"),
        *("warm_up", "with_names", "without_names"),
    ),
    "host": ("run", "profile", "plan"),
    "report": ("estimate", "timing", "extract"),
}

#: What they return, where ExecuTorch would otherwise tell of another type in words of its own.
_RETURNED: dict[str, tuple[type, ...]] = {"compile": (bytes,)}


def guarded(target: Target, who: str, *, checks: bool = True) -> Target:
    """The target, whose mistakes are errors that begin with ``who``.

    Args:
        who: the target and its distribution, such as ``target 'acme' (acme-npu 0.1)``.
        checks: its checks as well, which are asked about every operator.
    """
    parts: dict[str, Any] = {}
    for part, names in _CALLED.items():
        owner = getattr(target, part)
        functions = {name: function for name in names if (function := getattr(owner, name))}
        calls = {name: _guarded(each, who, name, _RETURNED.get(name, (object,))) for name, each in functions.items()}
        parts[part] = replace(owner, **calls)
    target_checks = [
        _guarded(check, who, f"the check {getattr(check, '__name__', check)}", (Rejected, type(None)))
        if checks
        else check
        for check in target.checks
    ]
    return replace(target, checks=target_checks, **parts)


@dataclass(frozen=True)
class _Guarded:
    """A function of a plugin; those of equal targets are equal."""

    function: Callable[..., Any]
    who: str
    callback: str
    results: tuple[type, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            result = self.function(*args, **kwargs)
        except (ArmTosaError, MemoryError):
            raise
        except Exception as error:
            raise PluginError(f"{self.who}: {self.callback} raised {type(error).__name__}: {error}") from error
        if not isinstance(result, self.results):
            kinds = " or ".join("None" if kind is type(None) else kind.__name__ for kind in self.results)
            raise PluginError(f"{self.who}: {self.callback} returned {type(result).__name__}, not {kinds}")
        return result


def _guarded(function: Callable[..., Any], who: str, callback: str, results: tuple[type, ...]) -> Callable[..., Any]:
    return function if isinstance(function, _Guarded) else _Guarded(function, who, callback, results)
