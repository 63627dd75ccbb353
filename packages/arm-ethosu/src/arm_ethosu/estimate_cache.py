"""Figures of Vela's runs on disk, by release, options and flatbuffer: among them cycles, by which rewrites choose."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.cache_folder import cache_folder, sources_of
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import find_tool

from . import estimate_cache, vela
from .vela_ini import locate


def key(tosa: bytes, options: Mapping[str, Any]) -> str | None:
    """The key of a flatbuffer's figures; None: Vela is not installed.

    Args:
        options: of the runs; ``config`` is a configuration file, which counts by its contents, and
            ``timeout`` does not count.
    """
    if (release := _release()) is None:
        return None
    settings = sorted((name, value) for name, value in options.items() if name not in ("timeout", "config"))
    config = hashlib.sha256(locate(options["config"]).read_bytes()).hexdigest()
    return hashlib.sha256(repr([release, *settings, config]).encode() + tosa).hexdigest()


@cache
def sources() -> str:
    """A digest of the sources of this package and the core: a part of the key of figures that depend on them."""
    files = [file for package in ("arm_ethosu", "arm_tosa_core") for file in sources_of(package)]
    return hashlib.sha256("\n".join(files).encode()).hexdigest()


def read(kind: str, name: str) -> float | None:
    """The figure of a key; None where it was never found, or the file is spoiled."""
    try:
        figure = float(_path(kind, name).read_text())
    except (OSError, ValueError):
        return None
    return figure if math.isfinite(figure) else None


def keep(kind: str, name: str, figure: float) -> None:
    """Keeps a figure; where nothing can be written, Vela is asked again next time."""
    path = _path(kind, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, repr(figure).encode())
    except (OSError, UsageError):
        pass


def _path(kind: str, name: str) -> Path:
    return cache_folder() / kind / name


def _release() -> str | None:
    """The release of the installed Vela; None: it is not installed."""
    try:
        executable = find_tool("vela", package="ethos-u-vela")
    except ToolError:
        return None
    try:
        return version("ethos-u-vela")
    except PackageNotFoundError:  # it is that of another environment
        return f"{executable} {os.stat(executable).st_mtime_ns}"


_KIND = "ethos-u-estimates"


@dataclass(frozen=True)
class Estimate:
    """Vela's estimates with the options of one compile spec.

    Args:
        options: arguments of ``vela.compile`` but for the flatbuffer and the folder of its artifacts.
    """

    options: Mapping[str, Any]
    _cycles: dict[str, float | None] = field(default_factory=dict, compare=False, repr=False)

    def cycles(self, graphs: Sequence[bytes]) -> list[float | None]:
        """Cycles per inference of TOSA flatbuffers; None where Vela refuses one, or is not installed.

        The same flatbuffer and options give the same figure, whether Vela is asked now or was long ago.
        """
        keys = [estimate_cache.key(tosa, self.options) for tosa in graphs]
        new = {key: tosa for key, tosa in zip(keys, graphs, strict=True) if key is not None and key not in self._cycles}
        self._cycles.update(zip(new, self._estimated(list(new), list(new.values())), strict=True))
        return [None if key is None else self._cycles[key] for key in keys]

    def _estimated(self, keys: Sequence[str], graphs: Sequence[bytes]) -> list[float | None]:
        """Cycles from the cache on disk; Vela is asked for the rest, which is added to the cache."""
        figures = [estimate_cache.read(_KIND, key) for key in keys]
        missing = [i for i, cycles in enumerate(figures) if cycles is None]
        if missing:
            summaries = vela.summaries([graphs[i] for i in missing], **self.options)
            for i, summary in zip(missing, summaries, strict=True):
                if summary is not None:
                    figures[i] = summary["cycles_total"]
                    estimate_cache.keep(_KIND, keys[i], summary["cycles_total"])
        return figures
