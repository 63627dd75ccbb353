"""The calls of Vela by a target: to compile, to estimate and to time, with the options of one compile spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_tosa_core.plugin.target import Compiled, LiveTensor
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.memory_size import kib, size_text

from .vela_flags import decides_over_sram

if TYPE_CHECKING:
    from arm_tosa_core.plugin.named_data import WithNames
    from arm_tosa_core.plugin.timing import TimeEstimate

    from .vela import VelaOutput


@dataclass(frozen=True, eq=False)
class VelaCalls:
    """Functions of a ``Target``.

    Args:
        options: arguments of ``vela.compile`` but for the flatbuffer and the folder of its artifacts.
        sram_budget, is_cache: as of ``sram_search.compile``.
        sram_size: as of ``EthosUCompileSpec``.
        schedule, weight_order: as of ``EthosUCompileSpec``.
        placed: blocks of a payload that are in ``.ptd`` files, and which.
    """

    options: Mapping[str, Any]
    sram_budget: int | None
    sram_size: int | None
    is_cache: bool
    schedule: str
    weight_order: str
    placed: Mapping[str, str]

    def compile(self, tosa: bytes, options: Mapping[str, str]) -> bytes:
        """The payload of a flatbuffer."""
        return self.compile_in_detail(tosa, options).payload

    def compile_in_detail(self, tosa: bytes, options: Mapping[str, str]) -> Compiled:
        """The payload of a flatbuffer, and Vela's figures."""
        from . import live_memory, payload
        from .vela_layers import compiled_layers, moved
        from .waits import with_waits

        accelerator = self.options["accelerator"]
        output = self._compiled(tosa, options.get("artifacts"))
        try:
            commands = with_waits(output.arrays["cmd_data"], accelerator)
        except ValueError as error:
            fix = "check that ethos-u-vela is 5.2: vela --version"
            raise ToolError("vela", f"wrote garbage: {error}", fix=fix) from error
        placed = live_memory.placed(output.printed)
        at_peak, in_memory = (
            [LiveTensor(t.name, t.size, t.first, t.last, t.begin) for t in tensors]
            for tensors in (live_memory.at_peak(placed), placed)
        )
        figures = {**self._figures(output), "macs_per_cycle": float(accelerator.rpartition("-")[2])}
        packed = payload.pack({**output.arrays, "cmd_data": commands})
        layers = compiled_layers(output.debug_db, tosa)
        return Compiled(packed, figures, at_peak, layers, in_memory, moved=moved(output.debug_db))

    def estimate(self, tosa: bytes) -> Mapping[str, float]:
        """Vela's figures of a flatbuffer."""
        return self._figures(self._compiled(tosa, None))

    def timing(self, payload: bytes, tosa: bytes | None) -> TimeEstimate:
        """How long a payload takes, by the timing model."""
        from . import comparison
        from .timing.payload_time import time_payload

        again = partial(comparison.compile, **self.options) if self.schedule == "deep" else self._searched
        return time_payload(payload, tosa, self.options, again)

    def with_names(self, payloads: Sequence[bytes], file: str | None) -> WithNames:
        """Payloads whose weights are named data."""
        from .sharing.payloads import with_named_weights

        cycles = (lambda payload: self.timing(payload, None).cycles) if self.weight_order == "shared" else None
        return with_named_weights(payloads, file, self.placed, cycles)

    def _figures(self, output: VelaOutput) -> Mapping[str, float]:
        from .memory_figures import figures_of

        places = {key: self.options[key] for key in ("config", "system_config", "memory_mode")}
        return figures_of(output, **places, is_cache=self.is_cache)

    def _compiled(self, tosa: bytes, artifacts: str | None) -> VelaOutput:
        from .schedule.compilation import compile_deep

        folder = Path(artifacts) if artifacts else None
        output = compile_deep(tosa, artifacts=folder, **self.options) if self.schedule == "deep" else None
        if output is not None and not self._fits(output):
            raise self._too_large(output)
        return output or self._searched(tosa, folder)

    def _searched(self, tosa: bytes, artifacts: Path | None = None) -> VelaOutput:
        from . import sram_search

        options = {**self.options, "artifacts": artifacts, "is_cache": self.is_cache}
        output = sram_search.compile(tosa, sram_budget=self.sram_budget, **options)
        if self._fits(output):
            return output
        if self.is_cache or any(map(decides_over_sram, self.options["flags"])):
            raise self._too_large(output)
        return sram_search.compile(tosa, sram_budget=self.sram_size, budget_name="sram_size", **options)

    def _fits(self, output: VelaOutput) -> bool:
        return self.sram_size is None or self._figures(output)["sram_kib"] * 1024 <= self.sram_size

    def _too_large(self, output: VelaOutput) -> UsageError:
        size, taken = size_text(self.sram_size or 0), kib(self._figures(output)["sram_kib"] * 1024)
        return UsageError(f"the device has sram_size={size} of SRAM, and {taken} are taken, as the options have it")
