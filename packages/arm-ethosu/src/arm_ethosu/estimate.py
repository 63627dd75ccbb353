"""Vela's cycles of small graphs, by which rewrites choose: asked once for each, and then kept on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import estimate_cache, vela

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
