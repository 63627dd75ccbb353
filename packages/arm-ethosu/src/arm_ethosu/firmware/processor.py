"""The processor beside the NPU as a target: operators of TOSA that have a kernel in C."""

from __future__ import annotations

from dataclasses import replace

from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.tosa.ir import Op

from .kernels import why_not


class ProcessorCompileSpec(TosaCompileSpec):
    """Compile to TOSA graphs of integers whose operators firmware computes on the processor."""

    def __init__(self) -> None:
        super().__init__("TOSA-1.0+INT+int16")

    def _target(self) -> Target:
        return replace(super()._target(), checks=(_has_kernel,))


def _has_kernel(op: Op) -> Rejected | None:
    reason = why_not(op)
    return Rejected(reason) if reason else None
