"""Files for ExecuTorch's developer tools: an ETRecord, and a program with inputs and the outputs expected of them."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from executorch.devtools import BundledProgram, generate_etrecord
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.exir import EdgeProgramManager, ExecutorchProgramManager, to_edge
from torch.export import ExportedProgram
from torch.fx.traceback import NodeSource

from ..compat.executorch import debug_ancestor, edge_config
from ..lowering.analysis_result import Analysis
from ..support.errors import UsageError

if TYPE_CHECKING:
    import torch


class Record:
    """What an ETRecord holds of a program before delegates are cut out of it: every operator, by a debug handle.

    ExecuTorch numbers what stays outside of delegates on its own, and delegates not at all. Here both get the numbers
    that the operators have in the program as a whole.
    """

    def take(self, program: ExportedProgram) -> None:
        """The program as a whole; its nodes are told to be where what is made of them comes from."""
        for node in program.graph.nodes:
            node.meta.setdefault("from_node", [NodeSource(node)])
        self._whole = to_edge(program, compile_config=edge_config())
        nodes = [node for node in self._whole.exported_program().graph.nodes if "debug_handle" in node.meta]
        self._handles = {debug_ancestor(node): node.meta["debug_handle"] for node in nodes}

    def handles(self, analysis: Analysis) -> dict[int, list[int]]:
        """The debug handles of each region's operators, by the place of the region among all."""
        places = {region: place for place, region in enumerate(sorted(set(analysis.accepted.values())))}
        handles: dict[int, list[int]] = {}
        for node, region in analysis.accepted.items():
            if "from_node" in node.meta and (handle := self._handles.get(debug_ancestor(node))) is not None:
                handles.setdefault(places[region], []).append(handle)
        return handles

    def number(self, edge: EdgeProgramManager) -> None:
        """Gives what stays outside of delegates the debug handles that it has in the program as a whole."""
        for node in edge.exported_program().graph.nodes:
            if "debug_handle" in node.meta:
                node.meta["debug_handle"] = self._handles.get(debug_ancestor(node), 0)

    def etrecord(self, manager: ExecutorchProgramManager) -> bytes:
        """The ETRecord of the program that became of it."""
        buffer = io.BytesIO()
        generate_etrecord(buffer, self._whole, manager)
        return buffer.getvalue()


def bundled(pte: bytes, cases: Sequence[tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]]) -> bytes:
    """A *bundled program*, ``.bpte``: method ``forward`` of a ``.pte`` with inputs, and the outputs expected of them.

    Raises:
        UsageError: there is no case.
    """
    if not cases:
        raise UsageError("a bundled program needs one case of inputs and outputs at least")
    tests = [MethodTestCase(list(inputs), list(outputs)) for inputs, outputs in cases]
    with tempfile.TemporaryDirectory(prefix="arm_tosa_") as folder:
        file = Path(folder, "model.pte")
        file.write_bytes(pte)
        program = BundledProgram(None, [MethodTestSuite("forward", tests)], str(file))
        return bytes(serialize_from_bundled_program_to_flatbuffer(program))
