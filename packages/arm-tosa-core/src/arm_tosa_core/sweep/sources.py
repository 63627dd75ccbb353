"""Sources of a sweep's model and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..accuracy.task_metric import Metric
    from ..quantize.probe.calls import Sample


class Sources(Protocol):
    """The model and the data. It travels to the workers, so that it is picklable, and is hashable."""

    def program(self, parameters: Mapping[str, Any]) -> ExportedProgram:
        """The model in float, exported; every call with the same parameters gives the same weights."""

    def calibration(self, program: ExportedProgram, parameters: Mapping[str, Any]) -> Sequence[Sample]:
        """Calls to calibrate with, one at least."""

    def evaluation(self, program: ExportedProgram, parameters: Mapping[str, Any]) -> Sequence[Sample]:
        """Calls to judge the accuracy with; none: it is not judged."""

    def metric(self) -> Metric | None:
        """The metric that judges outputs in place of the SQNR."""

    def digest(self) -> str:
        """A name for the contents of the files behind all this, as far as is known without running them."""
