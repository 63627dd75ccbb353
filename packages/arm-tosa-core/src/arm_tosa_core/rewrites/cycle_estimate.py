"""Cycles of small graphs, as a tool estimates them: one interface for all tools, and figures that are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..support import kept_figures


class CycleEstimate(ABC):
    """A tool with its options, which tells the cycles of TOSA flatbuffers.

    The same flatbuffer, tool and options give the same figure, whether the tool is asked now or was long ago: what is
    chosen by it does not depend on the cache.

    Args:
        name: of the tool in the cache folder.
        packages: Python packages whose sources decide what is asked.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]

    @abstractmethod
    def key(self, tosa: bytes, beside: Mapping[str, Any] | None = None) -> str | None:
        """The digest of a flatbuffer, the tool with its release, and its options; None: the tool is not installed.

        Args:
            beside: what else an answer depends on, by name.
        """

    @abstractmethod
    def ask(self, graphs: Sequence[bytes]) -> Sequence[float | None]:
        """What the tool says of flatbuffers, none of which is known; None where it refuses one, or took too long."""

    def cycles(self, graphs: Sequence[bytes]) -> list[float | None]:
        """Cycles per inference of TOSA flatbuffers; None where the tool refuses one, or is not installed."""
        keys = [self.key(tosa) for tosa in graphs]
        known = self._known()
        new = {key: tosa for key, tosa in zip(keys, graphs, strict=True) if key is not None and key not in known}
        known.update(zip(new, self._estimated(list(new), list(new.values())), strict=True))
        return [None if key is None else known[key] for key in keys]

    def _known(self) -> dict[str, float | None]:
        """Figures that this object was asked for, those of refused flatbuffers too."""
        known: dict[str, float | None] = vars(self).setdefault("_figures", {})
        return known

    def _estimated(self, keys: Sequence[str], graphs: Sequence[bytes]) -> list[float | None]:
        """Cycles from the cache on disk; the tool is asked for the rest, which is added to the cache."""
        kind = f"{self.name}-estimates"
        figures = [kept_figures.read(kind, key) for key in keys]
        if missing := [i for i, cycles in enumerate(figures) if cycles is None]:
            for i, cycles in zip(missing, self.ask([graphs[i] for i in missing]), strict=True):
                if cycles is not None:
                    figures[i] = cycles
                    kept_figures.keep(kind, keys[i], cycles)
        return figures
