"""Which memory holds what, and how fast it is, as Vela's configuration file says."""

from __future__ import annotations

from dataclasses import dataclass

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.hardware import PORT
from ..vela_ini import VelaIni


@dataclass(frozen=True)
class Memories:
    """What a schedule asks of a system.

    Args:
        constants: the memory that holds the constants, ``OffChipFlash``, ``OnChipFlash`` or ``Dram``.
        speed: its bytes per cycle of the accelerator.
        latency: cycles until the first byte of a transfer from it.
        sram_speed: bytes per cycle of the SRAM.
        region: the region that lies in SRAM: scratch (1), or fast scratch (2) where that is another memory.
    """

    constants: str
    speed: float
    latency: float
    sram_speed: float
    region: int

    @property
    def sram_is_scratch(self) -> bool:
        """Whether inputs and outputs are in SRAM, and its size is in the payload."""
        return self.region == r.SCRATCH


def memories(ini: VelaIni, system_config: str, memory_mode: str, family: Family) -> Memories | None:
    """The memories of a configuration; None: constants are in SRAM, or the file does not say where they are."""
    ports = {key: ini.area(memory_mode, key) for key in ("const", "arena", "cache")}
    names = {key: port and ini.memory_at(system_config, port) for key, port in ports.items()}
    constants, sram = names["const"], names["cache"]
    if not constants or sram != "Sram" or constants == sram:
        return None

    def speed(memory: str) -> float:
        scale, used = (ini.figure(system_config, memory, key) for key in ("clock_scale", "ports_used"))
        return PORT[family] * (1.0 if scale is None else scale) * (used or 1.0)

    latency = ini.figure(system_config, constants, "read_latency") or 0.0
    region = r.SCRATCH if ports["arena"] == ports["cache"] else r.FAST_SCRATCH
    return Memories(constants, speed(constants), latency, speed(sram), region)
