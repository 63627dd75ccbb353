"""The memories beside an accelerator, from Vela's configuration file."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from arm_tosa_core.support.errors import UsageError

from ..accelerators import family_of
from ..command_stream.hardware import PORT
from ..vela_ini import VelaIni, locate

#: Of the regions that Vela's streams use: constants, the arena of feature maps, and the cache beside a slow arena.
REGIONS = ("const", "arena", "cache")


@dataclass(frozen=True)
class Memory:
    """One memory as the accelerator sees it.

    Args:
        name: as the configuration file has it, such as ``"OffChipFlash"``.
        bandwidth: bytes in each cycle of the accelerator, over all ports.
        read_latency, write_latency: cycles of the accelerator.
        burst: bytes in the longest burst.
        ports: AXI ports that lead to it.
        reads, writes: transactions in flight on each port.
    """

    name: str
    bandwidth: float
    read_latency: int = 0
    write_latency: int = 0
    burst: int = 1
    ports: int = 1
    reads: int = 1
    writes: int = 1


@dataclass(frozen=True)
class System:
    """Clock and memories.

    Args:
        clock: of the accelerator, Hz.
        regions: the memory of each region of a command stream, by number.
    """

    clock: float
    regions: tuple[Memory, ...]
    name: str = ""

    def memory(self, region: int) -> Memory:
        """The memory in which a region lies.

        Raises:
            UsageError: the memory mode has no such region.
        """
        if not 0 <= region < len(self.regions):
            raise UsageError(f"the command stream uses region {region}; {self.name} has {len(self.regions)}")
        return self.regions[region]


def system_of(
    accelerator: str, system_config: str, memory_mode: str, config_ini: str | PathLike[str] | None = None
) -> System:
    """The system that two sections of a Vela configuration file describe; what they leave out is as in Vela.

    Raises:
        UsageError: there is no such file, section or accelerator, or a value is not a number.
    """
    ini = VelaIni(locate(config_ini))
    ini.require(system_config, memory_mode)
    ports = {port: ini.system_value(system_config, f"{port.lower()}_port") or "Sram" for port in ("Axi0", "Axi1")}
    width = PORT[family_of(accelerator)]

    def number(name: str, default: float) -> float:
        text = ini.system_value(system_config, name)
        try:
            return default if text is None else float(text)
        except ValueError:
            raise UsageError(f"{ini.path}: {name}={text} of {system_config!r} is not a number") from None

    def memory(name: str) -> Memory:
        port_count = max(1, int(number(f"{name}_ports_used", 1)))
        return Memory(
            name,
            width * port_count * number(f"{name}_clock_scale", 1.0),
            int(number(f"{name}_read_latency", 0)),
            int(number(f"{name}_write_latency", 0)),
            max(1, int(number(f"{name}_burst_length", 1))),
            port_count,
            max(1, int(number(f"{name}_max_reads", 1))),
            max(1, int(number(f"{name}_max_writes", 1))),
        )

    areas = [ini.memory_value(memory_mode, f"{area}_mem_area") or "Axi0" for area in REGIONS]
    return System(
        number("core_clock", 1.0), tuple(memory(ports[area]) for area in areas), f"{system_config}, {memory_mode}"
    )
