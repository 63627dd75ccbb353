"""Vela's cycles of small graphs, by which rewrites choose: asked once for each, and then kept on disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import find_tool

from . import vela
from .vela_ini import locate


@dataclass(frozen=True)
class Estimate:
    """What Vela estimates with the options of one compile spec.

    Args:
        options: arguments of ``vela.compile`` but for the flatbuffer and the folder of its artifacts.
    """

    options: Mapping[str, Any]
    _known: dict[str, float | None] = field(default_factory=dict, compare=False, repr=False)

    def cycles(self, graphs: Sequence[bytes]) -> list[float | None]:
        """Cycles per inference of TOSA flatbuffers; None where Vela refuses one, or is not installed.

        The same flatbuffer and options give the same figure, whether Vela is asked now or was long ago.
        """
        if (release := _release()) is None:
            return [None] * len(graphs)
        options = repr([release, *self._identity()]).encode()
        keys = {hashlib.sha256(options + tosa).hexdigest(): tosa for tosa in graphs}
        new = {key: tosa for key, tosa in keys.items() if key not in self._known}
        self._known.update(zip(new, self._kept(list(new), list(new.values())), strict=True))
        return [self._known[hashlib.sha256(options + tosa).hexdigest()] for tosa in graphs]

    def _kept(self, keys: Sequence[str], graphs: Sequence[bytes]) -> list[float | None]:
        """Cycles by what is kept on disk; what is not there is asked, and kept."""
        from arm_tosa_core.flow import cache  # late: it loads PyTorch

        paths = [cache.folder() / "ethos-u-estimates" / key for key in keys]
        found = [_read(path) for path in paths]
        missing = [i for i, cycles in enumerate(found) if cycles is None]
        if missing:
            summaries = vela.summaries([graphs[i] for i in missing], **self.options)
            for i, summary in zip(missing, summaries, strict=True):
                if summary is not None:
                    found[i] = summary["cycles_total"]
                    _keep(paths[i], summary["cycles_total"])
        return found

    def _identity(self) -> list[object]:
        """The options that the figures depend on; a configuration file counts by its contents."""
        others = sorted((name, value) for name, value in self.options.items() if name not in ("timeout", "config"))
        return [*others, hashlib.sha256(locate(self.options["config"]).read_bytes()).hexdigest()]


def _read(path: Path) -> float | None:
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return None  # never asked, or cut short


def _keep(path: Path, cycles: float) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, repr(cycles).encode())
    except (OSError, UsageError):
        pass  # where nothing can be written, Vela is asked again next time


def _release() -> str | None:
    """Which Vela there is to ask; None: none."""
    try:
        executable = find_tool("vela", package="ethos-u-vela")
    except ToolError:
        return None
    try:
        return version("ethos-u-vela")
    except PackageNotFoundError:  # it is that of another environment
        return f"{executable} {os.stat(executable).st_mtime_ns}"
