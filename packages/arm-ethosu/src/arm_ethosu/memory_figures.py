"""The bytes of each memory that a compiled graph takes, by its memory mode and Vela's sizes."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from .vela import VelaOutput
from .vela_ini import VelaIni, locate

_KIB = 1024
#: Names in figures of a system configuration's memories.
_KINDS = {"OnChipFlash": "flash", "OffChipFlash": "flash", "Sram": "sram", "Dram": "dram"}


def constants_memory(config: str | PathLike[str] | None, system_config: str, memory_mode: str) -> str:
    """The memory of weights and commands: ``flash``, ``sram`` or ``dram``."""
    ini = VelaIni(locate(config))
    port = ini.area(memory_mode, "const")
    return _KINDS.get((ini.memory_at(system_config, port) or "") if port else "", "flash")


def figures_of(
    output: VelaOutput,
    *,
    config: str | PathLike[str] | None,
    system_config: str,
    memory_mode: str,
    is_cache: bool,
) -> Mapping[str, float]:
    """The figures of ``Reporting.estimate``.

    ``sram_kib`` is the SRAM that a device sets aside: tensors at their peak, or the whole cache of a memory mode that
    has one, and weights and commands if they lie in SRAM. ``tensors_kib`` is the peak alone, Vela's "SRAM used".
    ``dram_kib`` has the commands, too, which Vela's "DRAM used" leaves out beside weights and tensors.
    """
    where = constants_memory(config, system_config, memory_mode)
    commands = output.arrays["cmd_data"].nbytes / _KIB
    constants = output.arrays["weight_data"].nbytes / _KIB + commands
    cache = VelaIni(locate(config)).memory_value(memory_mode, "arena_cache_size") if is_cache else None
    tensors = output.sram_kib if cache is None else max(output.sram_kib, int(cache) / _KIB)
    return {
        "cycles": output.cycles,
        "clock_hz": output.clock_hz,
        "sram_kib": tensors + (constants if where == "sram" else 0),
        "dram_kib": output.dram_kib + (commands if where == "dram" else 0),
        "flash_kib": constants if where == "flash" else 0.0,
        "tensors_kib": output.sram_kib,
        f"constants_in_{where}_kib": constants,
        **({} if cache is None else {"cache_kib": int(cache) / _KIB}),
    }
