"""An NPU beside the processor, as the package of its target describes it to firmware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from arm_tosa_core.exir.pte import Delegate


@dataclass(frozen=True)
class NpuWork:
    """A delegate's payload, for a job on the NPU.

    Args:
        commands, weights: as the NPU reads them.
        scratch: bytes of the NPU's memory.
        fast_scratch: bytes of the second memory that the NPU uses; 0: none.
        inputs, outputs: offsets in the scratch memory, in bytes, in the order of the delegate's arguments.
        weights_in, scratch_in: the memories that the NPU's compiler planned for, such as ``OffChipFlash``; empty: it
            was not told.
    """

    commands: bytes
    weights: bytes
    scratch: int
    fast_scratch: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    weights_in: str = ""
    scratch_in: str = ""


class Npu(Protocol):
    """The NPU of a target.

    Args:
        backend_id: of the ExecuTorch delegate whose payload the NPU runs.
    """

    @property
    def backend_id(self) -> str: ...

    def work(self, model: str, delegate: Delegate, options: Mapping[str, str]) -> NpuWork:
        """Reads a delegate's payload.

        Args:
            model: its name, for errors.
            options: of the target, as the user gave them.

        Raises:
            UsageError: firmware cannot run it.
        """

    def sources(self) -> Mapping[str, str]:
        """Files of the folder ``npu``, by name: ``npu.h``, and what implements it."""

    def build(self, file: str) -> str:
        """Text about the NPU for the files of build systems: ``npu.cmake``, ``zephyr.cmake`` or ``Kconfig``."""

    def functional_model(self) -> Mapping[str, bytes]:
        """Files of a model of the NPU that runs where there is none, by path; none: it is not installed."""
