"""What a compilation comes to, in a few figures; without PyTorch, so that commands start fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..plugin.target import Moved
from ..support.memory_size import kib
from .compiled_delegate import CompiledDelegate

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
        sram_bytes: that the device sets aside: tensors at their peak, or a whole cache of DRAM, and constants that lie
            there.
        dram_bytes: in use, with weights and commands where a memory mode keeps them there.
        flash_bytes: weights and other constants in flash.
        file_bytes: of what was compiled: the ``.pte``, or the target's own format.
        seconds: that compiling took, on this machine's clock.
        cycles_by: whose estimate ``cycles`` is, if not that of the target's compiler.
        tensors_bytes: of tensors in SRAM at once, at most.
        constants_bytes: of weights and of the commands of the device.
        constants_in: where these lie: ``SRAM``, ``flash`` or ``DRAM``; empty: nobody says.
        cache_bytes: of SRAM that is a cache of DRAM.
        dram_read_bytes, dram_written_bytes: what an inference moves from and to DRAM.
        estimated_by: the source of the other estimates, if it is not the target's compiler.
        notes: what the estimates leave out, a line each.
        macs: multiplications and accumulations of an inference.
        mac_utilisation: these, as a part of those that the device could do in the cycles, 0 to 1.
        moved: bytes of an inference between the device's core and memories, by memory and kind.
        instructions: of one inference, estimated, of targets that are processors.
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
    tensors_bytes: int | None = None
    constants_bytes: int | None = None
    constants_in: str = ""
    cache_bytes: int | None = None
    dram_read_bytes: int | None = None
    dram_written_bytes: int | None = None
    estimated_by: str = ""
    notes: tuple[str, ...] = ()
    macs: int | None = None
    mac_utilisation: float | None = None
    moved: tuple[Moved, ...] = ()
    instructions: float | None = None

    @property
    def cycles_title(self) -> str:
        """What a table calls the cycles."""
        return f"cycles, estimated by the {self.cycles_by or 'compiler'}"

    @property
    def memory_titles(self) -> tuple[str, str]:
        """What a table calls the DRAM in use, and what is moved from and to it."""
        by = f", estimated by the {self.estimated_by}" if self.estimated_by else ""
        return f"DRAM{by}", f"DRAM traffic{by}"

    @property
    def traffic(self) -> str:
        """What an inference moves from and to DRAM; empty: nobody says, or nothing."""
        read, written = self.dram_read_bytes, self.dram_written_bytes
        if read is None or written is None or not read + written:
            return ""
        return f"{kib(read)} read, {kib(written)} written"

    @property
    def sram_parts(self) -> str:
        """What the SRAM holds, where that is more than tensors; empty: nothing else, or nobody says."""
        parts = []
        if self.cache_bytes:
            parts.append(f"{kib(self.cache_bytes)} set aside as a cache of DRAM")
        elif self.tensors_bytes is not None:
            parts.append(f"{kib(self.tensors_bytes)} of tensors at their peak")
        if self.constants_in == "SRAM" and self.constants_bytes is not None:
            parts.append(f"{kib(self.constants_bytes)} of weights and commands")
        return " and ".join(parts) if len(parts) > 1 or self.cache_bytes else ""

    @property
    def inferences_per_second(self) -> float | None:
        """At this clock, of the delegates alone."""
        return self.clock_hz / self.cycles if self.clock_hz and self.cycles else None

    @property
    def ms(self) -> float | None:
        """Milliseconds of an inference, of the delegates alone."""
        rate = self.inferences_per_second
        return None if rate is None else 1e3 / rate

    def to_json(self) -> dict[str, Any]:
        """These figures as JSON values, by name."""
        found = {**asdict(self), "notes": list(self.notes), "moved": list(map(asdict, self.moved))}
        return {**found, "inferences_per_second": self.inferences_per_second, "ms": self.ms}

    @staticmethod
    def of_graph(compiled: CompiledDelegate, file_bytes: int, seconds: float) -> Figures:
        """Those of a TOSA graph, of which nobody knows the operators of the model."""
        return added_up(None, None, 1, [compiled], file_bytes, seconds)


def added_up(
    delegated: int | None,
    on_cpu: int | None,
    delegates: int,
    compiled: Sequence[CompiledDelegate],
    file_bytes: int,
    seconds: float,
) -> Figures:
    """The figures of delegates that run one after the other."""

    def joined(name: str, join: Callable[[Iterable[float]], float], unit: int = 1) -> float | None:
        values = [said.figures[name] * unit for said in compiled if name in said.figures]
        return join(values) if values and len(values) == len(compiled) else None

    def size(name: str, join: Callable[[Iterable[float]], float]) -> int | None:
        total = joined(name, join, _KIB)
        return None if total is None else round(total)

    def constants_in(memory: str) -> int:
        return round(sum(said.figures.get(f"constants_in_{memory.lower()}_kib", 0.0) for said in compiled) * _KIB)

    # Delegates run one after the other: they share the memory of tensors, and each has constants of its own.
    tensors, cache = size("tensors_kib", max), size("cache_kib", max)
    cycles, rate = joined("cycles", sum), joined("macs_per_cycle", max)
    layers = [layer for said in compiled for layer in said.layers]
    macs = sum(layer.macs for layer in layers) if layers else None
    memories = [memory for memory in ("SRAM", "flash", "DRAM") if constants_in(memory)]
    sram = size("sram_kib", max) if tensors is None else max(tensors, cache or 0) + constants_in("SRAM")
    in_dram = [
        said.figures["dram_kib"] - said.figures.get("constants_in_dram_kib", 0.0)
        for said in compiled
        if "dram_kib" in said.figures
    ]
    dram = round(max(in_dram) * _KIB) + constants_in("DRAM") if in_dram and len(in_dram) == len(compiled) else None
    return Figures(
        delegated,
        on_cpu,
        delegates,
        cycles=cycles,
        clock_hz=joined("clock_hz", max),
        sram_bytes=sram,
        dram_bytes=dram,
        flash_bytes=size("flash_kib", sum),
        file_bytes=file_bytes,
        seconds=seconds,
        cycles_by=", ".join(sorted({said.cycles_by for said in compiled} - {""})),
        tensors_bytes=tensors,
        constants_bytes=sum(map(constants_in, memories)) or None,
        constants_in=" and ".join(memories),
        cache_bytes=cache,
        dram_read_bytes=size("dram_read_kib", sum),
        dram_written_bytes=size("dram_written_kib", sum),
        estimated_by=", ".join(sorted({said.estimated_by for said in compiled} - {""})),
        notes=tuple(dict.fromkeys(note for said in compiled for note in said.notes)),
        macs=macs,
        mac_utilisation=macs / (cycles * rate) if macs and cycles and rate else None,
        moved=moved_of(row for said in compiled for row in said.moved),
        instructions=joined("instructions", sum),
    )


def moved_of(rows: Iterable[Moved]) -> tuple[Moved, ...]:
    """The sums by memory and kind, without those of nothing."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        read, written = sums.get((row.memory, row.kind), (0, 0))
        sums[row.memory, row.kind] = read + row.read, written + row.written
    return tuple(Moved(*key, *amounts) for key, amounts in sums.items() if any(amounts))
