"""Figures of Vela's runs on disk, by release, options and flatbuffer: among them cycles, by which rewrites choose."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arm_tosa_core.plugin.health import release
from arm_tosa_core.rewrites.cycle_estimate import CycleEstimate

from . import estimate_cache, vela
from .vela_ini import locate


def key(tosa: bytes, options: Mapping[str, Any]) -> str | None:
    """The key of a flatbuffer's figures; None: Vela is not installed.

    Args:
        options: of the runs; ``config`` is a configuration file, which counts by its contents, and
            ``timeout`` does not count.
    """
    if (vela_release := release("vela", "ethos-u-vela")) is None:
        return None
    settings = sorted((name, value) for name, value in options.items() if name not in ("timeout", "config"))
    config = hashlib.sha256(locate(options["config"]).read_bytes()).hexdigest()
    return hashlib.sha256(repr([vela_release, *settings, config]).encode() + tosa).hexdigest()


@dataclass(frozen=True)
class Estimate(CycleEstimate):
    """Vela's estimates with the options of one compile spec.

    Args:
        options: arguments of ``vela.compile`` but for the flatbuffer and the folder of its artifacts.
    """

    name = "ethos-u"
    packages = ("arm_ethosu",)
    options: Mapping[str, Any]

    def key(self, tosa: bytes, beside: Mapping[str, Any] | None = None) -> str | None:
        """As of ``CycleEstimate``."""
        return estimate_cache.key(tosa, {**self.options, **(beside or {})})

    def ask(self, graphs: Sequence[bytes]) -> list[float | None]:
        """As of ``CycleEstimate``."""
        summaries = vela.summaries(graphs, **self.options)
        return [None if summary is None else summary["cycles_total"] for summary in summaries]
