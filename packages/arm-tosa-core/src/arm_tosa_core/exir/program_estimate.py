"""What a target's compiler predicts of a whole program."""

from __future__ import annotations

from collections.abc import Mapping

from torch.export import ExportedProgram

from ..plugin.target import Target
from ..tosa.serializer import serialize
from .compilation import Compilation


def estimate_program(program: ExportedProgram, target: Target) -> Mapping[str, float] | None:
    """The figures of ``Reporting.estimate``, added up over the delegates; None if the target predicts nothing."""
    if target.report.estimate is None:
        return None
    total: dict[str, float] = {}
    for region in Compilation(program, target, decompose_rest=True).regions():
        for name, number in target.report.estimate(serialize(region.graph, target.tosa_spec)).items():
            total[name] = total.get(name, 0.0) + number
    return total
