"""Programs for targets that ExecuTorch's runtime has no delegate of: delegates run in Python, the rest in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from executorch.exir import EdgeProgramManager
from executorch.exir.delegate import executorch_call_delegate

import example_scripts
from arm_tosa_core.exir.compile_spec import ArmCompileSpec


class Interpreted:
    """A program with the interface of ExecuTorch's methods.

    Args:
        edge: of either flow.
        spec: what it was compiled for: ``tosa``, or ``acme``, whose payload has a TOSA graph inside.
    """

    def __init__(self, edge: EdgeProgramManager, spec: ArmCompileSpec) -> None:
        payloads = [
            edge.exported_program().graph_module.get_submodule(str(node.args[0].target)).processed_bytes
            for node in edge.exported_program().graph.nodes
            if node.target is executorch_call_delegate
        ]
        if spec.target().name == "acme":
            from acme_npu.container import unpack

            payloads = [unpack(payload) for payload in payloads]
        self._program = example_scripts.load("reference_interpreter").ReferenceInterpreter(edge, payloads)

    def execute(self, inputs: Sequence[torch.Tensor]) -> list[Any]:
        """The results of one call; buffers keep what it writes."""
        with torch.no_grad():
            return list(self._program.run(*inputs))
