"""What works on this machine: the lines of ``arm-tosa doctor``, from the core and from targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from ..support.errors import ToolError
from ..support.external_tools import find_tool, run_tool
from ..support.install_advice import from_index

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Args:
        what: a tool, library or package.
        state: ``"ok"``, ``"missing"`` or ``"broken"``.
        detail: its version, or how it is broken.
        needed_for: what does not work without it.
        fix: what to do, unless ``state`` is ``"ok"``.
    """

    what: str
    state: str
    detail: str
    needed_for: str
    fix: str = ""


#: Looks at this machine.
HealthCheck = Callable[[], Finding]


def distribution(name: str, needed_for: str) -> HealthCheck:
    """Whether a Python package is installed, and in which version."""

    def check() -> Finding:
        try:
            return Finding(name, "ok", metadata.version(name), needed_for)
        except metadata.PackageNotFoundError:
            return Finding(name, "missing", "", needed_for, from_index(name))

    return check


def tool(executable: str, package: str, needed_for: str) -> HealthCheck:
    """Whether a tool, which a Python package brings, is there and starts."""

    def check() -> Finding:
        try:
            path = find_tool(executable, package=package)
        except ToolError:
            return Finding(executable, "missing", "", needed_for, from_index(package))
        try:
            run_tool(executable, [path, "--version"], timeout=TIMEOUT_S)
        except ToolError as error:
            return Finding(executable, "broken", first_line(error), needed_for, from_index(package, again=True))
        return Finding(executable, "ok", f"{version(package)}, {path}", needed_for)

    return check


def version(package: str) -> str:
    """The version of an installed Python package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # found on a path, not installed by pip
        return "version unknown"


def first_line(error: Exception) -> str:
    """The first line of an error's text."""
    return str(error).splitlines()[0]
