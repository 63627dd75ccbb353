"""``compile --report`` and ``--trace``: how long each delegate takes, by the target's timing model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ..support.errors import UsageError
from ..tosa.graph import Graph
from ..tosa.serializer import serialize
from .report import Result
from .timing import data_of, estimated, show, write_trace

if TYPE_CHECKING:
    from ..exir.compile_spec import ArmCompileSpec


class DelegateTimes:
    """``--report`` and ``--trace``: estimates of the delegates, in the order in which they are compiled.

    Raises:
        UsageError: the target has no timing model.
    """

    def __init__(self, spec: ArmCompileSpec, report: bool, trace: Path | None) -> None:
        self.target, self.trace = spec.target(), trace
        self.wanted = self.target.timing is not None and (report or trace is not None)
        self.compiled: list[tuple[bytes, bytes]] = []
        if trace is not None and not self.wanted:
            raise UsageError(f"--trace: target {self.target.name!r} has no timing model")
        if report and not self.wanted and self.target.compile_in_detail is None:
            raise UsageError(f"--report: target {self.target.name!r} tells neither times nor memory")

    def watch(self, graph: Graph, payload: bytes) -> None:
        """Takes a delegate."""
        if self.wanted:
            self.compiled.append((serialize(graph, self.target.tosa_spec, locations=True), payload))

    def beside(self, result: Result) -> Result:
        """The result of compiling, with the estimates."""
        if not self.wanted:
            return result
        timed = [
            estimated(f"delegate {index}", self.target, payload, tosa)
            for index, (tosa, payload) in enumerate(self.compiled)
        ]
        if self.trace is not None:
            write_trace(self.trace, timed)

        def show_all(console: Console) -> None:
            result.show(console)
            show(console, timed)

        return Result({**result.data, "timing": data_of(timed)}, show_all, result.status)
