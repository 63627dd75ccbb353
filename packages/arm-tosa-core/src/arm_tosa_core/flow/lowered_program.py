"""What ``lower`` gives: a ``.pte``, and what became of each operator; read from the cache without PyTorch."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..exir.figures import Figures
from ..exir.pte import InputTensor, read
from ..exir.report import Report
from ..support.atomic_files import write_atomic
from ..support.errors import UsageError

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

    from ..aten.integer_edges import Integers
    from .whole_program import OutputDifference


@dataclass(frozen=True)
class LoweredProgram:
    """A ``.pte``, and what became of each operator.

    Args:
        buffer: the contents of the ``.pte``.
        reports: what was delegated and what was not, by method: ``forward``, unless several programs were lowered.
        cached: whether it was read from the cache.
        seconds: that ``lower`` took, on this machine's clock.
        integers: which inputs and outputs are integers by ``integer_io``, and of which scale: ``input0``, ``output0``.
        data_files: the contents of the ``.ptd`` files that belong to the ``.pte``, by their names.
    """

    buffer: bytes
    reports: Mapping[str, Report]
    cached: bool = False
    seconds: float = 0.0
    integers: Mapping[str, Integers] = field(default_factory=dict)
    data_files: Mapping[str, bytes] = field(default_factory=dict)
    _inputs: Sequence[InputTensor | None] | None = None

    @property
    def report(self) -> Report:
        """What was delegated and what was not, of a program with one method.

        Raises:
            UsageError: it has several.
        """
        if len(self.reports) > 1:
            raise UsageError(f"the program has methods {', '.join(self.reports)}: read reports[...] of one")
        (report,) = self.reports.values()
        return report

    @property
    def figures(self) -> Figures:
        """Operators, cycles, memory, bytes and time of a program with one method.

        Raises:
            UsageError: it has several.
        """
        return self.report.figures(len(self.buffer), self.seconds)

    @property
    def inputs(self) -> list[InputTensor | None]:
        """How method ``forward`` takes each of its inputs in memory; None of one that is no tensor."""
        return list(read(self.buffer).inputs["forward"] if self._inputs is None else self._inputs)

    def bundled(self, cases: Sequence[tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]]) -> bytes:
        """A *bundled program* (``.bpte``): the ``.pte`` with inputs, and the outputs expected of them.

        Args:
            cases: inputs and expected outputs of each call of method ``forward``.

        Raises:
            UsageError: there is no case.
        """
        from .devtools import bundled

        return bundled(self.buffer, cases)

    def differences(
        self, program: ExportedProgram, inputs: Sequence[torch.Tensor] | None = None
    ) -> list[OutputDifference]:
        """Runs method ``forward``, delegates and CPU, beside the program in PyTorch; the outputs that differ.

        It runs once, in a process of its own.

        Args:
            program: that was lowered, quantized if it was.
            inputs: positional ones; None: its example inputs. Of a program lowered with ``integer_io`` the integers.

        Raises:
            UsageError: there are no inputs, or the program cannot be loaded, fails or dies.
        """
        from ..aten.integer_edges import with_integer_edges
        from .whole_program import differences

        program = with_integer_edges(program)[0] if self.integers else program
        return differences(self.buffer, program, inputs, data_files=self.data_files)

    def write_to_file(self, open_file: io.BufferedIOBase) -> None:
        """Writes the ``.pte`` to a file opened in binary mode, as ExecuTorch's managers do."""
        open_file.write(self.buffer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the ``.pte`` to ``path``, and its ``.ptd`` files beside it; each all of it or nothing.

        Raises:
            UsageError: one cannot be written.
        """
        save_files(path, self.buffer, self.data_files)


def save_files(path: str | os.PathLike[str], buffer: bytes, data_files: Mapping[str, bytes]) -> None:
    """Writes a ``.pte`` and its ``.ptd`` files, which come first: who finds the ``.pte`` finds them."""
    for name, data in data_files.items():
        write_atomic(Path(path).with_name(name), data)
    write_atomic(path, buffer)
