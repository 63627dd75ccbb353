"""Functions of one tensor that several operators compute."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower

from arm_tosa_core import TosaCompileSpec, TOSAPartitioner, TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.exir.tosa_targets import tosa, tosa_int
from arm_tosa_core.lowering.exported_program import is_quantize
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.lowering.unary_functions import find_functions
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, export_quantized, exported

SPEC = TosaCompileSpec("TOSA-1.0+INT+int16")
Function = Callable[[torch.Tensor], torch.Tensor]


def _softsign(x: torch.Tensor) -> torch.Tensor:
    return x / (1 + x.abs())


def _gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))


ONE: dict[str, Function] = {
    "softsign": _softsign,
    "silu": lambda x: x * torch.sigmoid(x),
    "gelu, a function within": _gelu,
    "beside the tensor itself": lambda x: x + x.sigmoid() * 0.5,
}
NONE: dict[str, Function] = {
    "arithmetic alone": lambda x: x * (x + 1.0),
    "a straight line": lambda x: torch.exp(x * 0.5) + 1.0,
    "of two tensors": lambda x: x.sigmoid() * x.flip(0),
    "a row of another shape": lambda x: x * x.amax(1, True).sigmoid(),
}


def _found(function: Function) -> int:
    return len(find_functions(torch.export.export(Apply(function), (torch.randn(4, 6),)).graph, RuleSet.of(None)))


@pytest.mark.parametrize("name", NONE)
def test_others_stay_apart(name: str) -> None:
    assert _found(NONE[name]) == 0


def test_a_result_that_somebody_else_reads_is_computed_by_itself() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        gate = torch.sigmoid(x)
        return x * gate, gate

    assert _found(function) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("scheme", ["int8", "int16"])
def test_one_table(name: str, scheme: str) -> None:
    x = torch.linspace(-5, 5, 60).reshape(4, 15)
    run = Execution(exported(Apply(ONE[name]), (x,), SPEC, scheme), tosa_int())
    (region,) = run.regions
    assert sum(is_quantize(node) for node in run.program.graph.nodes) == 2
    if scheme == "int8":
        assert [op.name for op in region.graph.ops] == ["TABLE"]
    ((ours, eager),) = run.edges((x * 0.99,))
    assert (ours.int() - eager.int()).abs().max() <= (0 if scheme == "int8" else 1)


def test_one_table_in_the_flow_of_executorch() -> None:
    """Which makes tensors of the numbers in a program."""
    program = exported(Apply(_gelu), (torch.linspace(-5, 5, 60).reshape(4, 15),), SPEC, "int8")
    partitioner = TOSAPartitioner(SPEC)
    to_edge_transform_and_lower(program, partitioner=[partitioner])
    assert partitioner.report is not None
    assert (partitioner.report.delegates, partitioner.report.rejected) == (1, [])


class _Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(8.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x) * self.scale


def test_a_quantized_number_is_a_tensor() -> None:
    """A function of x, then a product with another quantized tensor, which happens to have one element."""
    x = torch.linspace(-5, 5, 60).reshape(4, 15)
    run = Execution(exported(_Scaled(), (x,), SPEC, "int8"), tosa_int())
    ((ours, eager),) = run.edges((x * 0.99,))
    assert (ours.int() - eager.int()).abs().max() <= 1
    assert ours.unique().numel() > 20


def test_a_part_in_float_parts_the_function() -> None:
    x = torch.randn(4, 6)
    quantizer = TOSAQuantizer(SPEC).set_global(get_symmetric_quantization_config())
    quantizer.set_node_target(torch.ops.aten.sigmoid.default, None)
    run = Execution(export_quantized(Apply(ONE["silu"]), (x,), quantizer), tosa_int())
    assert [op.name for region in run.regions for op in region.graph.ops].count("TABLE") == 0
    assert any(node.name == "sigmoid" for node in run.analysis.rejected)


WIDE: dict[str, Function] = {
    "sin": torch.sin,
    "cos": torch.cos,
    "tan of poles": torch.tan,
    "a function of several": lambda x: x * torch.cos(x),
    "of a function that tables follow": lambda x: torch.sin(torch.tanh(x * 0.03) * 100),
}


@pytest.mark.parametrize("target", [tosa(), tosa_int()], ids=lambda target: target.name)
@pytest.mark.parametrize("name", WIDE)
def test_what_tables_of_16_bits_do_not_follow_is_right_in_float_or_refused(name: str, target: Target) -> None:
    inputs = (torch.linspace(-200, 200, 4096).reshape(64, 64),)
    run = Execution(exported(Apply(WIDE[name]), inputs, SPEC, "int16"), target)
    (right,), (ours,) = (run.program.module()(*inputs),), run.run(inputs)
    assert (ours - right).abs().max() <= 1e-2 * right.abs().max()
    names = {op.name for region in run.regions for op in region.graph.ops}
    if target.name == "tosa-int":
        assert any("bends too much for tables of 16 bits" in str(why) for why in run.analysis.rejected.values())
    else:
        assert not run.analysis.rejected and names & {"SIN", "COS"}
