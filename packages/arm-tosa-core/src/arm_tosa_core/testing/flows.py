"""The fast flow and ExecuTorch's own, side by side: they must mean the same."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower
from executorch.exir.delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.fx import Interpreter, Node

from ..compat.executorch import edge_config
from ..exir.compile_spec import ArmCompileSpec
from ..exir.partitioner import TOSAPartitioner
from ..flow.edge import lower_to_edge
from ..lowering.exported_program import copy_program
from ..plugin.target import Target
from ..support.errors import NothingDelegatedWarning
from ..tosa.reference_model import run as run_reference
from .harness import _from_memory, _to_memory


def assert_flows_agree(
    program: ExportedProgram, compile_spec: ArmCompileSpec, target: Target, inputs: Sequence[torch.Tensor]
) -> None:
    """Lowers a program by both flows: as many delegates, the same outputs bit for bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDelegatedWarning)
        fast, _ = lower_to_edge(program, compile_spec)
        ordinary = to_edge_transform_and_lower(
            copy_program(program),  # it takes constants out of its argument
            partitioner=[TOSAPartitioner(compile_spec)],
            compile_config=edge_config(),
        )
    assert _delegates(fast) == _delegates(ordinary)
    pairs = zip(_run(fast, target, inputs), _run(ordinary, target, inputs), strict=True)
    for number, (ours, theirs) in enumerate(pairs):
        assert ours.dtype == theirs.dtype, f"output {number}"
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)


def _delegates(edge: EdgeProgramManager) -> int:
    return sum(node.target is executorch_call_delegate for node in edge.exported_program().graph.nodes)


def _run(edge: EdgeProgramManager, target: Target, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    program = edge.exported_program()
    state, values = {**program.constants, **program.state_dict}, iter(inputs)
    specs = program.graph_signature.input_specs
    arguments = [next(values) if spec.kind.name == "USER_INPUT" else state[spec.target] for spec in specs]
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(0)  # for operators that draw
        results = _Execution(program.graph_module, target).run(*arguments)
    kinds = (spec.kind.name for spec in program.graph_signature.output_specs)
    return [result for kind, result in zip(kinds, results, strict=True) if kind == "USER_OUTPUT"]


class _Execution(Interpreter):
    """Runs delegates as the target does (or the reference model), the rest in PyTorch."""

    def __init__(self, module: torch.fx.GraphModule, target: Target) -> None:
        super().__init__(module)
        self.execute = target.host.run or run_reference

    def run_node(self, n: Node) -> Any:
        if n.target is not executorch_call_delegate:
            return super().run_node(n)
        module, *inputs = self.fetch_args_kwargs_from_env(n)[0]
        results = self.execute(module.processed_bytes, [_to_memory(x) for x in inputs])
        return [_from_memory(result, meta) for result, meta in zip(results, n.meta["val"], strict=True)]
