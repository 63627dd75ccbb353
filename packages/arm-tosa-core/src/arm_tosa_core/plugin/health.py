"""Findings about this machine: the lines of ``arm-tosa doctor``, from the core and from targets."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from ..support.errors import ToolError
from ..support.external_tools import find_tool, run_tool
from ..support.install_advice import from_index

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Args:
        what: a tool, library or package.
        state: ``"ok"``, ``"missing"``, ``"broken"``, or ``"untested"`` for a version outside of ``tested``.
        detail: its version, or how it is broken.
        needed_for: the feature that does not work without it.
        fix: the remedy, unless ``state`` is ``"ok"``.
        tested: the versions that the tests run with, such as ``"<2.14,>=2.13"``; empty if it has none.
        outside: faults known with other versions; empty if none are.
    """

    what: str
    state: str
    detail: str
    needed_for: str
    fix: str = ""
    tested: str = ""
    outside: str = ""


@dataclass(frozen=True)
class KnownVersions:
    """The versions of a package that the tests run with: those that a distribution of this repository requires.

    Args:
        package: the Python package.
        by: the distribution that requires it, in an extra perhaps.
        outside: faults known with other versions.
    """

    package: str
    by: str = "arm-tosa-core"
    outside: str = ""

    @property
    def versions(self) -> SpecifierSet:
        """The versions; all of them if the distribution is not installed."""
        try:
            required = map(Requirement, metadata.requires(self.by) or ())
        except metadata.PackageNotFoundError:
            return SpecifierSet()
        return next((r.specifier for r in required if r.name == self.package), SpecifierSet())

    def judge(self, finding: Finding) -> Finding:
        """The finding with the tested versions; an installed version outside of them is ``"untested"``."""
        versions = self.versions
        judged = replace(finding, tested=str(versions), outside=self.outside)
        try:
            inside = versions.contains(metadata.version(self.package), prereleases=True)
        except metadata.PackageNotFoundError:  # found on a path, or there is none
            return judged
        if inside or finding.state != "ok":
            return judged
        return replace(judged, state="untested", fix=from_index(f"{self.package}{versions}"))


#: Looks at this machine.
HealthCheck = Callable[[], Finding]


def distribution(tested: KnownVersions, needed_for: str) -> HealthCheck:
    """Whether a Python package is installed, and in which version."""
    name = tested.package

    def check() -> Finding:
        try:
            return tested.judge(Finding(name, "ok", metadata.version(name), needed_for))
        except metadata.PackageNotFoundError:
            return tested.judge(Finding(name, "missing", "", needed_for, from_index(name)))

    return check


def tool(executable: str, tested: KnownVersions, needed_for: str) -> HealthCheck:
    """Whether a tool, which a Python package brings, is there and starts."""
    package = tested.package

    def look() -> Finding:
        try:
            path = find_tool(executable, package=package)
        except ToolError:
            return Finding(executable, "missing", "", needed_for, from_index(package))
        try:
            run_tool(executable, [path, "--version"], timeout=TIMEOUT_S)
        except ToolError as error:
            return Finding(executable, "broken", first_line(error), needed_for, from_index(package, again=True))
        return Finding(executable, "ok", f"{version(package)}, {path}", needed_for)

    return lambda: tested.judge(look())


def version(package: str) -> str:
    """The version of an installed Python package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # found on a path, not installed by pip
        return "version unknown"


def release(executable: str, package: str) -> str | None:
    """A text by which one release of a tool differs from others; None: it is not installed."""
    try:
        path = find_tool(executable, package=package)
    except ToolError:
        return None
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # it is that of another environment
        return f"{path} {os.stat(path).st_mtime_ns}"


def first_line(error: Exception) -> str:
    """The first line of an error's text."""
    return str(error).splitlines()[0]
