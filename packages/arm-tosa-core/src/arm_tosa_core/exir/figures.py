"""What a compilation comes to, in a few figures; without PyTorch, so that commands start fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .compiled_delegate import CompiledDelegate

if TYPE_CHECKING:
    from .report import Report

_KIB = 1024


@dataclass(frozen=True)
class Figures:
    """What a model costs on a target. None: nobody says, such as the cycles of a target whose compiler knows none.

    Cycles, SRAM, DRAM and flash are estimates of the target's compiler for the delegates alone, which run one after
    the other: operators on the CPU come on top. Where other commands than the compiler's run, the cycles are those of
    the target's timing model, and ``cycles_by`` says so.

    Args:
        delegated: operators of the model that go to the target.
        on_cpu: operators of the model that stay on the CPU.
        delegates: parts that the model was divided into.
        cycles: of one inference, estimated.
        clock_hz: of the target, as the estimate assumes it.
        sram_bytes: in use at once, at most.
        dram_bytes: in use, with weights where a memory mode keeps them there.
        flash_bytes: weights and other constants in flash.
        file_bytes: of what was compiled: the ``.pte``, or the target's own format.
        seconds: that compiling took, on this machine's clock.
        cycles_by: whose estimate ``cycles`` is, if not that of the target's compiler.
    """

    delegated: int | None
    on_cpu: int | None
    delegates: int
    cycles: float | None
    clock_hz: float | None
    sram_bytes: int | None
    dram_bytes: int | None
    flash_bytes: int | None
    file_bytes: int
    seconds: float
    cycles_by: str = ""

    @property
    def cycles_title(self) -> str:
        """What a table calls the cycles."""
        return f"cycles, estimated by the {self.cycles_by}" if self.cycles_by else "cycles, estimated"

    @property
    def inferences_per_second(self) -> float | None:
        """At this clock, of the delegates alone."""
        return self.clock_hz / self.cycles if self.clock_hz and self.cycles else None

    def to_json(self) -> dict[str, float | str | None]:
        """These figures as JSON values, by name."""
        return {**asdict(self), "inferences_per_second": self.inferences_per_second}

    @staticmethod
    def of(report: Report, file_bytes: int, seconds: float) -> Figures:
        """Those of a model that was lowered."""
        counts = len(report.delegated), len(report.rejected), report.delegates
        return _figures(*counts, report.compiled, file_bytes, seconds)

    @staticmethod
    def of_graph(compiled: CompiledDelegate, file_bytes: int, seconds: float) -> Figures:
        """Those of a TOSA graph, of which nobody knows the operators of the model."""
        return _figures(None, None, 1, [compiled], file_bytes, seconds)


def _figures(
    delegated: int | None,
    on_cpu: int | None,
    delegates: int,
    compiled: Sequence[CompiledDelegate],
    file_bytes: int,
    seconds: float,
) -> Figures:
    def joined(name: str, join: Callable[[Iterable[float]], float], unit: int = 1) -> float | None:
        found = [said.figures[name] * unit for said in compiled if name in said.figures]
        return join(found) if found and len(found) == len(compiled) else None

    def size(name: str, join: Callable[[Iterable[float]], float]) -> int | None:
        found = joined(name, join, _KIB)
        return None if found is None else round(found)

    return Figures(
        delegated,
        on_cpu,
        delegates,
        cycles=joined("cycles", sum),
        clock_hz=joined("clock_hz", max),
        sram_bytes=size("sram_kib", max),
        dram_bytes=size("dram_kib", max),
        flash_bytes=size("flash_kib", sum),
        file_bytes=file_bytes,
        seconds=seconds,
        cycles_by=", ".join(sorted({said.cycles_by for said in compiled} - {""})),
    )
