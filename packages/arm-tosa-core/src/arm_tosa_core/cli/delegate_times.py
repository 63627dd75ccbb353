"""How long each delegate takes, by the target's timing model: ``compile --details``, ``--report`` and ``--trace``."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ..report.page_data import DelegateTime
from ..support.errors import UsageError
from ..tosa.graph import Graph
from ..tosa.ir import Tensor
from ..tosa.serializer import serialize_with_names
from .timing import Timed, data_of, estimated, show, write_trace

if TYPE_CHECKING:
    from ..exir.compile_spec import ArmCompileSpec


class DelegateTimes:
    """Estimates of the delegates, in the order in which they are compiled.

    Args:
        wanted: whether anybody asks for them.
        trace: where to write them as a trace.

    Raises:
        UsageError: a trace is wanted, and the target has no timing model.
    """

    def __init__(self, spec: ArmCompileSpec, wanted: bool, trace: Path | None = None) -> None:
        self.target, self.trace = spec.target(), trace
        self.wanted = self.target.report.timing is not None and (wanted or trace is not None)
        self._compiled: list[tuple[bytes, dict[str, Tensor], bytes]] = []
        if trace is not None and not self.wanted:
            raise UsageError(f"--trace: target {self.target.name!r} has no timing model")

    def watch(self, graph: Graph, payload: bytes) -> None:
        """Takes a delegate."""
        if self.wanted:
            tosa, names = serialize_with_names(graph, self.target.tosa_spec, locations=True, readable=True)
            self._compiled.append((tosa, names, payload))

    def take(self, tosa: bytes, payload: bytes) -> None:
        """Takes a graph that was compiled as it is."""
        if self.wanted:
            self._compiled.append((tosa, {}, payload))

    @cached_property
    def timed(self) -> list[Timed]:
        """What the model says of each; the target's compiler is asked once more."""
        return [
            estimated(f"delegate {index}", self.target, payload, tosa)
            for index, (tosa, _, payload) in enumerate(self._compiled)
        ]

    @property
    def clock(self) -> float | None:
        """Of the device, Hz; None: not known."""
        return self.timed[0].estimate.clock if self.timed else None

    def of_delegates(self) -> list[DelegateTime]:
        """The estimates, with the names of tensors."""
        return [
            DelegateTime(timed.estimate, names) for timed, (_, names, _) in zip(self.timed, self._compiled, strict=True)
        ]

    def write_trace(self) -> None:
        """Writes the trace, if it is wanted."""
        if self.trace is not None:
            write_trace(self.trace, self.timed)

    def data(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"timing": data_of(self.timed)} if self.timed else {}

    def show(self, console: Console) -> None:
        """Prints the estimates as tables."""
        show(console, self.timed)
