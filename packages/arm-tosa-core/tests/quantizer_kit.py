"""Small quantized models, and ways to look at them and to run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from executorch.exir import to_edge_transform_and_lower
from torch import nn
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from arm_tosa_core import (
    QuantizationConfig,
    TosaCompileSpec,
    TOSAPartitioner,
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from arm_tosa_core.lowering.exported_program import attribute, is_dequantize, is_quantize
from arm_tosa_core.lowering.operator_names import canonical
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.tosa.reference_model import run

INT8 = get_symmetric_quantization_config()


PER_TENSOR = get_symmetric_quantization_config(is_per_channel=False)


INT16 = get_symmetric_a16w8_quantization_config()


SPEC = TosaCompileSpec("TOSA-1.0+INT+int16")


MIXED = TosaCompileSpec("TOSA-1.0+INT+FP+int16")


class Branches(nn.Module):
    """Two convolutions side by side, each with a name and a type to address it by."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Hardtanh())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.first(x), self.second(x) * 3], 1)


IMAGE = (1, 3, 4, 5)


def quantizer(spec: TosaCompileSpec = SPEC, config: QuantizationConfig | None = INT8) -> TOSAQuantizer:
    return TOSAQuantizer(spec).set_global(config)


def quantized(
    model: nn.Module | Callable[..., Any],
    inputs: Sequence[torch.Tensor],
    by: TOSAQuantizer | None = None,
    calibration: Sequence[torch.Tensor] | None = None,
) -> GraphModule:
    module = model if isinstance(model, nn.Module) else Apply(model)
    prepared = prepare_pt2e(torch.export.export(module.eval(), tuple(inputs)).module(), by or quantizer())
    prepared(*(inputs if calibration is None else calibration))
    return convert_pt2e(prepared)


def data(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(7)
    return [torch.randn(s, generator=g) for s in shapes]


def quantize_nodes(module: GraphModule) -> list[Node]:
    return [n for n in module.graph.nodes if is_quantize(n)]


def constants(module: GraphModule, dtype: torch.dtype | None = None) -> list[Node]:
    """The nodes that dequantize constants, of one type or of any."""
    found = [n for n in module.graph.nodes if is_dequantize(n) and n.args[0].op == "get_attr"]
    return [n for n in found if dtype in (None, attribute(n.args[0]).dtype)]


def parameters(node: Node) -> tuple[float, int]:
    """Scale and zero point to which the result of a node is quantized."""
    (q,) = [u for u in node.users if is_quantize(u)]
    return q.args[1], q.args[2]  # type: ignore[return-value]


def named(module: GraphModule, name: str) -> list[Node]:
    return [n for n in module.graph.nodes if n.op == "call_function" and canonical(n.target).split(".")[1:2] == [name]]


def kinds(model: GraphModule, name: str) -> list[torch.dtype]:
    """Types to which the results of an operator are quantized."""
    return [u.args[5] for n in named(model, name) for u in n.users if is_quantize(u)]  # type: ignore[misc]


class Delegated(torch.fx.Interpreter):
    """Runs an edge program; its delegates on the reference model."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is torch.ops.higher_order.executorch_call_delegate:
            module, *inputs = args
            return [torch.from_numpy(a.copy()) for a in run(module.processed_bytes, [t.numpy() for t in inputs])]
        return super().call_function(target, args, kwargs)


def lower(model: GraphModule, inputs: Sequence[torch.Tensor], spec: TosaCompileSpec = SPEC) -> ExportedProgram:
    program = torch.export.export(model, tuple(inputs))
    return to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)]).exported_program()


def execute(program: ExportedProgram, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    given = iter(inputs)
    arguments = [
        next(given) if s.kind.name == "USER_INPUT" else {**program.state_dict, **program.constants}[s.target]
        for s in program.graph_signature.input_specs
    ]
    with torch.no_grad():
        return list(Delegated(program.graph_module).run(*arguments))


def assert_matches(model: GraphModule, inputs: Sequence[torch.Tensor], spec: TosaCompileSpec = SPEC) -> ExportedProgram:
    """One delegate at least, and every output within a quantum of eager PyTorch's."""
    program = lower(model, inputs, spec)
    assert any("executorch_call_delegate" in str(n.target) for n in program.graph.nodes)
    eager = model(*inputs)
    (output,) = [n for n in model.graph.nodes if n.op == "output"]
    coarsest = max((n.args[1] for n in quantize_nodes(model)), default=1e-4)
    for ours, theirs, node in zip(
        execute(program, inputs), eager if isinstance(eager, tuple) else [eager], output.all_input_nodes, strict=True
    ):
        step = node.args[1] if is_dequantize(node) else coarsest  # where the last layer is excluded
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1.01 * float(step))
    return program
