"""Programs through the flow that users of ExecuTorch know; the lowered program runs on the TOSA reference model."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from executorch.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from arm_tosa_core import TosaCompileSpec, TOSAPartitioner, TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.exir.report import Report
from arm_tosa_core.lowering.exported_program import is_dequantize
from arm_tosa_core.testing.harness import _from_memory, _to_memory
from arm_tosa_core.tosa import reference_model as reference

Inputs = tuple[torch.Tensor, ...]


class Net(torch.nn.Module):
    """A few layers, put together by a function of the module and its inputs, or by ``forward`` of a subclass."""

    def __init__(self, forward: Callable[..., Any] | None = None) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.conv = torch.nn.Conv2d(4, 4, 3, padding=1)
            self.conv2 = torch.nn.Conv2d(4, 4, 3, padding=1)
            self.embedding = torch.nn.Embedding(10, 4)
            self.linear = torch.nn.Linear(4, 4)
            self.register_buffer("kept", torch.randn(4, 8, 8))
            self.register_buffer("unsaved", torch.randn(4, 1, 1), persistent=False)
            self.register_buffer("state", torch.zeros(1, 4, 8, 8))
            self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self._forward = forward

    def forward(self, *inputs: torch.Tensor) -> Any:
        assert self._forward is not None
        return self._forward(self, *inputs)


def export(module: torch.nn.Module, inputs: Inputs, **options: Any) -> ExportedProgram:
    """The float program."""
    with torch.no_grad():
        return torch.export.export(module.eval(), inputs, **options)


def quantize(
    module: torch.nn.Module, inputs: Inputs, configure: Callable[[TOSAQuantizer], Any] = lambda quantizer: None
) -> ExportedProgram:
    """The int8 program, calibrated with the inputs.

    Args:
        configure: changes the quantizer, which has a global scheme.
    """
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    configure(quantizer)
    prepared = prepare_pt2e(export(module, inputs).module(), quantizer)
    with torch.no_grad():
        prepared(*inputs)
        return torch.export.export(convert_pt2e(prepared), inputs)


@dataclass
class Lowered:
    """A lowered program.

    Args:
        edge: what ExecuTorch made.
        report: the partitioner's.
    """

    edge: EdgeProgramManager
    report: Report

    @property
    def program(self) -> ExportedProgram:
        return self.edge.exported_program()

    @property
    def payloads(self) -> list[bytes]:
        """Of each delegate, in order of calls."""
        modules = (getattr(self.program.graph_module, n.args[0].target) for n in self._calls(delegates=True))
        return [module.processed_bytes for module in modules]

    @property
    def outside(self) -> Counter[str]:
        """Operators on the CPU."""
        return Counter(n.target.__name__ for n in self._calls(delegates=False) if "getitem" not in n.target.__name__)

    def _calls(self, delegates: bool) -> list[torch.fx.Node]:
        calls = (n for n in self.program.graph.nodes if n.op == "call_function")
        return [n for n in calls if (n.target is executorch_call_delegate) == delegates]

    def run(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        """The model's outputs; buffers that the program writes to keep what it wrote."""
        program, given = self.program, iter(inputs)
        state = {**program.constants, **program.state_dict}
        arguments = [
            next(given) if spec.kind.name == "USER_INPUT" else state[spec.target]
            for spec in program.graph_signature.input_specs
        ]
        with torch.no_grad():
            results = _Interpreter(program.graph_module).run(*arguments)
        outputs = []
        for spec, result in zip(program.graph_signature.output_specs, results, strict=True):
            if spec.kind.name == "USER_OUTPUT":
                outputs.append(result)
            else:
                program.state_dict[spec.target] = result
        return outputs


class _Interpreter(torch.fx.Interpreter):
    """Delegates run on the reference model, the rest in PyTorch."""

    def run_node(self, n: torch.fx.Node) -> Any:
        if n.target is not executorch_call_delegate:
            return super().run_node(n)
        module, *inputs = self.fetch_args_kwargs_from_env(n)[0]
        results = reference.run(module.processed_bytes, [_to_memory(x) for x in inputs])
        return [_from_memory(result, meta) for result, meta in zip(results, n.meta["val"], strict=True)]


def lower(
    program: ExportedProgram, spec: ArmCompileSpec | str, checks: Sequence[Any] = (), *, older: bool = False
) -> Lowered:
    """Lowers a program.

    Args:
        older: through ``to_edge`` and ``to_backend``.
    """
    spec = TosaCompileSpec(spec) if isinstance(spec, str) else spec
    partitioner = TOSAPartitioner(spec, checks)
    if older:
        edge = to_edge(program).to_backend(partitioner)
    else:
        edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    assert partitioner.report is not None
    return Lowered(edge, partitioner.report)


def eager(program: ExportedProgram) -> Callable[..., list[torch.Tensor]]:
    """The program in PyTorch; call this before lowering, which takes constants out of the program."""
    module = copy.deepcopy(program).module()

    def run(*inputs: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            return tree_leaves(module(*inputs))

    return run


def tolerances(program: ExportedProgram) -> list[float]:
    """For each output, two quanta where it is quantized (operators in a row), else what float may differ by."""
    (output,) = program.graph.find_nodes(op="output")
    names = {spec.arg.name for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"}
    nodes = [n for n in output.args[0] if n.name in names]
    return [2.01 * n.args[1] if is_dequantize(n) else 1e-5 for n in nodes]


def assert_same(got: list[torch.Tensor], wanted: list[torch.Tensor], within: list[float]) -> None:
    assert len(got) == len(wanted)
    for ours, theirs, tolerance in zip(got, wanted, within, strict=True):
        exact = not theirs.is_floating_point()
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0 if exact else tolerance)
