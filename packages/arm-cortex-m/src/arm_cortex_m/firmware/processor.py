"""The processor beside the NPU: a target whose operators have a kernel in C, and the work that models leave to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.plugin.firmware import OnProcessor
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.tosa.ir import Op

from .kernels import why_not
from .kernels.kernel import element_operations
from .model import Model

#: The TOSA specification that kernels are for.
SPEC = "TOSA-1.0+INT+int16+int4"


class ProcessorCompileSpec(TosaCompileSpec):
    """Compile to TOSA graphs of integers whose operators firmware computes on the processor."""

    def __init__(self) -> None:
        super().__init__(SPEC)

    def _target(self) -> Target:
        return replace(super()._target(), checks=(has_kernel,))


def on_processor(models: Sequence[Model]) -> list[OnProcessor]:
    """The operators that models leave to the processor: the most work first."""
    out = []
    for model in models:
        steps, work = Counter[str](), Counter[str]()
        for step in model.operators:
            name = " + ".join(op.name for op in step.ops)
            steps[name] += 1
            work[name] += max(map(element_operations, step.ops))
        out += [OnProcessor(model.name, name, steps[name], count) for name, count in work.most_common()]
    return out


def has_kernel(op: Op) -> Rejected | None:
    """Whether an operator has one: a check of targets."""
    reason = why_not(op)
    return Rejected(reason) if reason else None
