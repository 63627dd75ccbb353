"""The SRAM that Vela may use: the least that costs no cycles, or the fewest cycles within a budget.

Vela takes as much as its memory mode has, also where it gains nothing. With a limit (``--arena-cache-size``) it runs
operators in cascades, stripe by stripe, which often costs next to nothing. Cycles are not monotone in the limit, so
several limits are tried side by side. Everything here depends on the flatbuffer and the options alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arm_tosa_core.support import kept_figures
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.memory_size import size_text
from arm_tosa_core.tosa.graph import Graph

from . import estimate_cache
from .comparison import chosen
from .live_memory import operator_peak
from .memory_figures import constants_memory
from .vela import Run, VelaOutput, Workplace, workplace
from .vela_flags import decides_over_sram
from .vela_layers import FLAG

# These say how many runs of Vela are tried, and where; which one is taken is the estimate's alone. They are from
# docs/notes/2026-11-25-sram.md, which has the results of more runs.
#: Cycles that less SRAM may cost if no budget is given, as a part of the fewest cycles seen.
TOLERANCE = 0.0025
# Has Vela print where it places tensors, for ``live_memory``.
_SAYS_WHERE = "--verbose-allocation"
# Bytes alive at once below which nothing is tried without a budget.
_SMALL = 8 << 10
# By the bytes of the flatbuffer at most: the limit that is tried first, as a part of the bytes alive at once, and how
# many rounds of two limits follow. Vela's time goes with the weights: of large graphs one limit is tried, beside the
# run without one.
_ROUNDS = ((1 << 20, 0.5, 2), (1 << 62, 0.65, 0))
# The least limit that is tried, likewise.
_LEAST = 0.4
# Limits as near as this, as a part, are one.
_NEAR = 0.97
#: Where limits are kept; 0: none.
LIMITS = "ethos-u-sram-limits"
# The alignment of tensors, bytes.
_GRAIN = 16
# Limits tried within a budget, as parts of it, by the bytes of the flatbuffer at most; and a limit that no network
# keeps, by which Vela takes the least it can.
_PARTS = ((1 << 20, (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)), (1 << 62, (1.0, 0.8, 0.6)))
_NONE = 16


@dataclass(frozen=True)
class Candidate:
    """A run of Vela that succeeded.

    Args:
        limit: bytes of SRAM that it might use; None: those of the memory mode.
        constants: bytes of weights and commands, where they lie in SRAM; else 0.
    """

    run: Run
    limit: int | None
    constants: int = 0

    @property
    def cycles(self) -> float:
        """Estimated cycles per inference."""
        return self.run.figures["cycles_total"]

    @property
    def sram(self) -> int:
        """Bytes of SRAM that are set aside."""
        return round(self.run.figures["sram_memory_used"] * 1024) + self.constants

    @property
    def stored(self) -> int:
        """Bytes of commands and weights, about."""
        return self.run.npz.stat().st_size


def compile(
    tosa: bytes,
    *,
    flags: Sequence[str],
    sram_budget: int | None,
    is_cache: bool,
    accelerator: str,
    artifacts: Path | None = None,
    budget_name: str = "sram_budget",
    **options: Any,
) -> VelaOutput:
    """Compiles a flatbuffer with the limit of SRAM that suits it. It is kept on disk unless a run died, and
    next time nothing is tried.

    Args:
        flags: more flags for Vela; none is searched where they decide over SRAM.
        sram_budget: bytes of SRAM that it may use; None: the least that costs no cycles (``TOLERANCE``).
        is_cache: whether SRAM is a cache of tensors in DRAM.
        budget_name: of the budget, in errors.
        accelerator, artifacts, options: as for ``vela.compile``.

    Raises:
        ToolError: as ``vela.compile``.
        MiscompiledError: Vela wrote another program than the flatbuffer's.
        UsageError: no run is within the budget: names the miss and the least SRAM.
    """
    with workplace(tosa, accelerator=accelerator, artifacts=artifacts, **options) as place:
        in_sram = constants_memory(options["config"], options["system_config"], options["memory_mode"]) == "sram"
        counted = in_sram and sram_budget is not None
        search = _Search(place, [*flags, *(flag for flag in (_SAYS_WHERE, FLAG) if flag not in flags)], counted)
        if any(map(decides_over_sram, flags)) or (sram_budget is None and is_cache):
            return chosen(place, search.run([None])[0].run, accelerator)  # less of a cache costs cycles at once
        request = {**options, "accelerator": accelerator, "flags": tuple(flags), "budget": sram_budget}
        key = estimate_cache.key(tosa, request | ({"constants": "counted"} if counted else {}))
        if key is not None and (limit := kept_figures.read(LIMITS, key)) is not None:
            return chosen(place, search.run([int(limit) or None])[0].run, accelerator)
        if sram_budget is None:
            best = _smallest(search, len(tosa), place.graph)
        else:
            best = _within(search, tosa, sram_budget, budget_name)
        if key is not None and not search.died:
            kept_figures.keep(LIMITS, key, best.limit or 0)
        return chosen(place, best.run, accelerator)


class _Search:
    """The candidates so far."""

    def __init__(self, place: Workplace, flags: Sequence[str], counted: bool = False) -> None:
        self._place, self._flags, self.counted = place, flags, counted
        self.candidates: list[Candidate] = []
        #: Whether a run failed that may succeed another time, so that another limit may be found.
        self.died = False

    def run(self, limits: Sequence[int | None]) -> list[Candidate]:
        """Runs Vela with several limits side by side; those that it fails with are no candidates.

        Raises:
            ToolError: it failed without a limit, or with all so far.
        """
        own = [[] if limit is None else [f"--arena-cache-size={limit}"] for limit in limits]
        runs = self._place.runs([[*self._flags, *flags] for flags in own])
        candidates = [
            Candidate(run, limit, _constants(run) if self.counted else 0)
            for run, limit in zip(runs, limits, strict=True)
            if isinstance(run, Run)
        ]
        self.candidates += candidates
        self.died |= any(isinstance(run, ToolError) and run.passing for run in runs)
        for run, limit in zip(runs, limits, strict=True):
            if isinstance(run, ToolError) and (limit is None or not self.candidates):
                raise run
        return candidates

    def least(self) -> Candidate:
        """The least SRAM at cycles within the tolerance of the fewest."""
        most = min(c.cycles for c in self.candidates) * (1 + TOLERANCE)
        return min((c for c in self.candidates if c.cycles <= most), key=lambda c: (c.sram, c.cycles, c.stored))


def _smallest(search: _Search, size: int, graph: Graph) -> Candidate:
    """The least SRAM that costs no cycles, searched between the bytes alive at once and a part of them."""
    alive = operator_peak(graph)
    if alive < _SMALL:
        return search.run([None])[0]
    first, rounds = next(row[1:] for row in _ROUNDS if size <= row[0])
    least = alive * _LEAST
    search.run([None, _grain(alive * first)])
    for _ in range(rounds):
        most = min(search.least().sram, alive)
        tried = [c.limit for c in search.candidates if c.limit is not None and c.limit < most]
        least = max([least, *tried])  # these cost cycles
        limits = [_grain(most * (least / most) ** part) for part in (1 / 3, 2 / 3)]
        if limits[-1] > most * _NEAR:
            break
        search.run(limits)
    return search.least()


def _within(search: _Search, tosa: bytes, budget: int, name: str = "sram_budget") -> Candidate:
    """The fewest cycles within a budget.

    Raises:
        UsageError: no candidate is.
    """
    parts = next(parts for size, parts in _PARTS if len(tosa) <= size)
    room = budget - (search.run([None])[0].constants if search.counted else 0)
    search.run([_grain(room * part) for part in parts])
    if fitting := [c for c in search.candidates if c.sram <= budget]:
        return min(fitting, key=lambda c: (c.cycles, c.sram, c.stored))
    least = min([*search.candidates, *search.run([_NONE])], key=lambda c: c.sram)
    missed, needed = (least.sram - budget) / 1024, least.sram / 1024
    inside = (
        f", of which {least.constants / 1024:.1f} KiB are weights and commands: another memory mode, such as "
        "Shared_Sram, has them in flash"
        if least.constants
        else ""
    )
    text = size_text(budget)
    shown = f"{text} bytes" if text.isdigit() else text
    raise UsageError(
        f"{name}={shown} is missed by {missed:.1f} KiB: {needed:.1f} KiB is the least SRAM that "
        f"{len(search.candidates)} runs of Vela found, at an estimate of {least.cycles:,.0f} cycles{inside}"
    )


def _constants(run: Run) -> int:
    arrays = run.arrays()
    return int(sum(arrays[name].nbytes for name in ("weight_data", "cmd_data")))


def _grain(size: float) -> int:
    return max(_GRAIN, int(size) // _GRAIN * _GRAIN)
