"""Ethos-U to firmware: payloads as jobs, and the C sources that run them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from arm_cortex_m.firmware.npu import NpuWork
from arm_tosa_core.exir.pte import Delegate
from arm_tosa_core.support.errors import UsageError

from ..payload import unpack
from ..vela_ini import DEFAULT_INI, VelaIni, is_own, locate

FOLDER = Path(__file__).parent / "files"
_SCRATCH = 1


class EthosUNpu:
    """An :class:`arm_cortex_m.firmware.npu.Npu`."""

    backend_id = "EthosUBackend"

    def work(self, model: str, delegate: Delegate, options: Mapping[str, str]) -> NpuWork:
        arrays, memories = unpack(delegate.payload), _Memories(model, delegate, options.get("config_ini"))

        def offsets(kind: str) -> tuple[int, ...]:
            if any(int(region) != _SCRATCH for region in arrays[f"{kind}_region"]):
                raise UsageError(f"{model}: an {kind} is not in the scratch memory (Vela's region {_SCRATCH})")
            return tuple(int(offset) for offset in arrays[f"{kind}_offset"])

        return NpuWork(
            commands=arrays["cmd_data"].tobytes(),
            weights=arrays["weight_data"].tobytes(),
            scratch=int(arrays["scratch_size"]),
            fast_scratch=memories.fast_scratch(),
            inputs=offsets("input"),
            outputs=offsets("output"),
            weights_in=memories.planned_for("const"),
            scratch_in=memories.planned_for("arena"),
        )

    def sources(self) -> Mapping[str, str]:
        return {file.name: file.read_text("utf-8") for file in sorted((FOLDER / "npu").iterdir())}

    def build(self, file: str) -> str:
        return (FOLDER / "build" / file).read_text("utf-8")

    def functional_model(self) -> Mapping[str, bytes]:
        """Sources and header, if the runtime is installed."""
        spec = find_spec("arm_runtime")
        if spec is None or spec.origin is None:
            return {}
        installed = Path(spec.origin).parent
        folder = installed / "share" / "ethosu_model"
        sources = {
            str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
        }
        header = "include/arm_runtime/ethosu_model.hpp"
        return {header: (installed / header).read_bytes(), **sources} if sources else {}


NPU = EthosUNpu()


class _Memories:
    """The memories that a delegate was compiled for, from Vela's configuration file.

    The file is one of Vela's own, or the user's: a program, which may come from elsewhere, does not choose
    the file.
    """

    def __init__(self, name: str, delegate: Delegate, config_ini: str | None) -> None:
        self._name, options = name, delegate.options
        self._mode, self._system = options.get("memory_mode"), options.get("system_config")
        ini = options.get("config_ini", DEFAULT_INI)
        if config_ini is None and not is_own(ini):
            raise UsageError(
                f"{name} was compiled with a configuration file for Vela that is called {ini!r}: give the file with "
                "--option config_ini=FILE"
            )
        self._ini = VelaIni(locate(ini if config_ini is None else config_ini))

    def planned_for(self, area: str) -> str:
        """The memory in which Vela expects ``const`` or ``arena``; empty: the delegate does not say."""
        if self._mode is None or self._system is None:
            return ""
        port = self._ini.area(self._mode, area)
        return (self._ini.memory_at(self._system, port) or "") if port else ""

    def fast_scratch(self) -> int:
        """Bytes that the memory mode lets the NPU use as a cache of its arena; most modes have none."""
        if self._mode is None or not self._ini.has_cache(self._mode):
            return 0
        size = self._ini.memory_value(self._mode, "arena_cache_size")
        if size is None:
            raise UsageError(
                f"{self._name}: the memory mode {self._mode!r} does not say how large the NPU's fast memory is; "
                "compile it with one that does (Dedicated_Sram_384KB, or arena_cache_size= in a configuration file of "
                "yours)"
            )
        return int(size)
