"""How a result was made: the command, the target's options, and the versions of what took part."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from importlib import metadata
from typing import TYPE_CHECKING, Any

import typer.core

from ..plugin import entry_points as plugins

if TYPE_CHECKING:
    from ..exir.compile_spec import ArmCompileSpec
    from ..report.page_data import Making

_words: ContextVar[Sequence[str]] = ContextVar("words", default=())
_OURS = "arm-tosa-core"
#: Their versions matter to every target.
_LIBRARIES = (_OURS, "torch", "executorch", "torchao")


class Group(typer.core.TyperGroup):
    """Notes the words of the command line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _words.set(tuple(args))
        return super().parse_args(ctx, args)


def making(title: str, spec: ArmCompileSpec) -> Making:
    """How the command that runs makes something for a target."""
    from ..report.page_data import Making

    return Making(title, shlex.join(["arm-tosa", *_words.get()]), _versions(spec.target().name), spec.to_dict())


def _versions(target: str) -> dict[str, str]:
    """Of Python, the libraries, the package that brings the target, and what that package is made for."""
    providers = [row.distribution for row in plugins.providers() if row.name == target and row.distribution != _OURS]
    names = [*_LIBRARIES]
    for provider in providers:
        needs = [need for need in metadata.requires(provider) or () if "extra ==" not in need]
        names += [provider, *(re.split(r"[^\w.-]", need, maxsplit=1)[0] for need in needs)]
    versions = {"python": sys.version.split()[0]}
    for name in dict.fromkeys(names):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
