"""Judging the flags that a user adds to Vela's command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from arm_tosa_core.support.errors import UsageError

# Flags that this package sets itself, and the argument that does their job. None: nothing does, on purpose.
_OURS: dict[str, str | None] = {
    "--accelerator-config": "target",
    "--system-config": "system_config",
    "--memory-mode": "memory_mode",
    "--config": "config_ini",
    "--output-dir": "dump_intermediate_artifacts_to()",
    "--output-format": None,
    "--separate-io-regions": None,  # the stock delegate finds inputs and outputs in the scratch region
}
# Flags by which a user decides over SRAM.
_SRAM = ("--arena-cache-size", "--optimise")
# Flags with which Vela prints something and compiles nothing.
_NOT_COMPILING = ("--help", "--version", "--api-version", "--supported-ops-report", "--list-config")


def split(extra_flags: str | Iterable[str] | None) -> list[str]:
    """The flags as a list; one string is split as a POSIX shell would.

    Raises:
        UsageError: unbalanced quotes, or an element that is not a string.
    """
    if extra_flags is None:
        return []
    if isinstance(extra_flags, str):
        try:
            return shlex.split(extra_flags)
        except ValueError as error:
            raise UsageError(f"extra_flags {extra_flags!r} cannot be split into words: {error}") from error
    flags = list(extra_flags)
    for flag in flags:
        if not isinstance(flag, str):
            raise UsageError(f"extra_flags must be strings; {flag!r} is {type(flag).__name__}")
    return flags


def without_ours(flags: list[str], values: Mapping[str, str]) -> list[str]:
    """The flags less those that only repeat a flag of this package.

    Args:
        flags: as the user gave them, ``--name=value`` or ``--name value``.
        values: of this package's flags, by flag name.

    Raises:
        UsageError: a flag contradicts one of this package, or keeps Vela from compiling.
    """
    extra: list[str] = []
    words = iter(flags)
    expects_value = False
    for word in words:
        if not word.startswith("-"):
            if not expects_value:
                raise UsageError(f"extra_flags: {word!r} is not a flag; Vela's input is set by this package")
            extra.append(word)
            expects_value = False
            continue
        name, equals, value = word.partition("=")
        if name == "-h" or name.startswith(_NOT_COMPILING):
            raise UsageError(f"extra_flags: with {name} Vela compiles nothing; run vela {name} by itself")
        ours = _owned(name)
        if ours is None:
            extra.append(word)
            expects_value = not equals
            continue
        expects_value = False
        if ours == "--separate-io-regions":
            raise UsageError("extra_flags: --separate-io-regions makes a payload that the EthosU delegate cannot read")
        if not equals:
            value = next(words, "")
        if value != values.get(ours):
            raise UsageError(_contradiction(ours, value, values.get(ours)))
    return extra


def _owned(name: str) -> str | None:
    if name in _OURS:
        return name
    # Vela's command line takes any unambiguous beginning of a flag.
    return next((flag for flag in _OURS if len(name) > 4 and flag.startswith(name)), None)


def _contradiction(flag: str, value: str, ours: str | None) -> str:
    argument = _OURS[flag]
    if argument is None:
        return f"extra_flags: {flag}={value} cannot be used: the EthosU delegate reads what {flag}={ours} gives"
    if ours is None:
        return f"extra_flags: {flag}={value} cannot be used; call {argument} instead"
    return f"extra_flags: {flag}={value} contradicts {argument}={ours!r}; set {argument} instead"


def decides_over_sram(flag: str) -> bool:
    """Whether a flag sets how much SRAM Vela takes."""
    name = flag.partition("=")[0]
    return len(name) > 4 and any(full.startswith(name) for full in _SRAM)
