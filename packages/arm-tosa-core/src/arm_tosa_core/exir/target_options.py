"""The options that a target has, and from their text to a compile spec."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..plugin import entry_points as plugins
from ..plugin.target import CompileSpec, Target
from ..support.errors import UsageError
from .compile_spec import ArmCompileSpec, TargetCompileSpec, require_option


def compile_spec_for(target: Target, options: Mapping[str, str]) -> ArmCompileSpec:
    """The target's compile spec with these options.

    Raises:
        UsageError: the target has no such option; lists those that it has. Or what the target makes is no compile spec.
    """
    if target.compiler.compile_spec is None:
        return TargetCompileSpec(target.name, **options)
    known = _keywords(target.compiler.compile_spec)
    for key in options:
        require_option(target.name, key, known)
    spec = target.compiler.compile_spec(**{key: _value(key, text, known[key]) for key, text in options.items()})
    return checked_spec(spec, target)


def target_of_name(name: str) -> Target:
    """The target that the name of a target or a chip means; that of a chip has its options.

    Raises:
        UsageError, PluginError: as ``spec_of_name``.
    """
    return spec_of_name(name, {}).target() if name in plugins.chips() else plugins.target(name)


def spec_of_name(name: str, options: Mapping[str, str]) -> ArmCompileSpec:
    """The compile spec of a target or a chip by its name, with these options, which win over those of the chip.

    Raises:
        UsageError: no target and no chip has this name, or more than one; or as ``compile_spec_for``.
        PluginError: the plugin of the target does not work.
    """
    chip = plugins.chips().get(name)
    if chip is None:
        return compile_spec_for(plugins.target(name), options)
    return compile_spec_for(plugins.target(chip.target), {**chip.options, **options})


def checked_spec(spec: CompileSpec, target: Target) -> ArmCompileSpec:
    """What a plugin says is a compile spec.

    Raises:
        UsageError: it is none.
    """
    if isinstance(spec, ArmCompileSpec):
        return spec
    raise UsageError(f"a compile spec of target {target.name!r} is an ArmCompileSpec, not {type(spec).__name__}")


def option_names(target: Target) -> list[str]:
    """The options that a target has, in order."""
    spec = target.compiler.compile_spec
    return list(target.compiler.options if spec is None else _keywords(spec))


def _keywords(function: Any) -> dict[str, Any]:
    """Parameters that may still be given by name, and their annotations; a ``partial`` has bound some already."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.annotation for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


#: How numbers and switches are written on a command line, by what their parameter is annotated with.
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
}


def _value(key: str, text: str, annotation: Any) -> Any:
    """The value of an option: a number or a switch where its parameter is one, else the text itself."""
    names = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    words = {word.strip() for word in names.split("|")} - {"None"}
    if len(words) != 1 or (word := words.pop()) not in _READERS:
        return text
    read, kind = _READERS[word]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise UsageError(f"--option {key}={text}: {key} takes {kind}") from None
