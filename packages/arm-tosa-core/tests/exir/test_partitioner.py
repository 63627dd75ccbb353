"""What crosses the edges of delegates: programs of every shape through ExecuTorch's flow compute what eager does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.operator_support import DontPartition
from executorch.exir.passes.quantize_io_pass import quantize_input, quantize_output
from executorch.exir.program._fake_program import get_fake_program
from flow_kit import Lowered, Net, assert_same, eager, export, lower, quantize, tolerances
from program_kit import PROGRAMS, SIGMOID, Program, X, Y, accumulate, cache, handed_out
from torch.export import ExportedProgram

from arm_tosa_core import TosaCompileSpec, TOSAPartitioner
from arm_tosa_core.exir.partitioner import NothingDelegatedWarning
from arm_tosa_core.lowering.exported_program import is_quantize
from arm_tosa_core.support.errors import UsageError


@dataclass(frozen=True)
class Prepared:
    """A program, exported, with what eager PyTorch makes of its inputs."""

    program: Program
    exported: ExportedProgram
    wanted: list[torch.Tensor]

    def check(self, spec: str, older: bool = False) -> Lowered:
        """Lowers the program, and compares where its operators went and what comes out."""
        program, refuse = self.program, DontPartition(torch.ops.aten.sigmoid.default)
        lowered = lower(copy.deepcopy(self.exported), spec, [refuse], older=older)
        left = set(lowered.outside)
        if "FP" not in spec:  # an integer delegate has quantize and dequantize before and after it
            left = {name for name in left if "quantize_per_tensor" not in name}
        assert left == (program.older if older and program.older is not None else program.cpu)
        assert len(lowered.payloads) == program.delegates
        assert_same(lowered.run(*program.inputs), self.wanted, tolerances(self.exported))
        return lowered


def _prepared(program: Program, make: Callable[..., ExportedProgram]) -> Prepared:
    exported = make(Net(program.forward), program.inputs)
    return Prepared(program, exported, eager(exported)(*program.inputs))


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: program.name)
def quantized(request: pytest.FixtureRequest) -> Prepared:
    return _prepared(request.param, quantize)


def test_integers_compute_what_eager_does(quantized: Prepared) -> None:
    quantized.check("TOSA-1.0+INT").edge.to_executorch()


def test_integers_with_float_around_compute_what_eager_does(quantized: Prepared) -> None:
    quantized.check("TOSA-1.0+INT+FP")


def test_the_older_flow_computes_what_eager_does(quantized: Prepared) -> None:
    quantized.check("TOSA-1.0+INT", older=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_float_computes_what_eager_does(program: Program) -> None:
    _prepared(program, export).check("TOSA-1.0+FP").edge.to_executorch()


@pytest.mark.parametrize(("spec", "make"), [("TOSA-1.0+INT", quantize), ("TOSA-1.0+FP", export)])
def test_a_result_that_leaves_waits_for_its_other_readers(spec: str, make: Callable[..., ExportedProgram]) -> None:
    """One of them reads what the CPU makes of another input: one delegate, after that, makes both."""
    _prepared(Program("", handed_out, (X, Y), frozenset({SIGMOID})), make).check(spec)


@pytest.mark.parametrize("forward", [accumulate, cache])
@pytest.mark.parametrize("spec", ["TOSA-1.0+INT", "TOSA-1.0+FP"])
def test_buffers_that_the_model_writes_keep_their_state(forward: Callable[..., Any], spec: str) -> None:
    exported = (quantize if "INT" in spec else export)(Net(forward), (X,))
    run, within = eager(exported), tolerances(exported)
    lowered = lower(exported, spec)
    assert len(lowered.payloads) >= 1
    for x in (X, Y, X):
        assert_same(lowered.run(x), run(x), within)
    lowered.edge.to_executorch()


def test_the_program_given_stays_as_it_was() -> None:
    exported = export(Net(lambda net, x: net.conv(x) * net.unsaved), (X,))
    before, constants = exported.graph_module.code, dict(exported.constants)
    lower(exported, "TOSA-1.0+FP")
    assert exported.graph_module.code == before
    assert exported.constants.keys() == constants.keys()


def _integers(scale: float, zero_point: int, dtype: torch.dtype) -> tuple[float, int, int, int, torch.dtype]:
    info = torch.iinfo(dtype)
    return scale, zero_point, info.min, info.max, dtype


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16])
@pytest.mark.parametrize("spec", ["TOSA-1.0+INT+int16", "TOSA-1.0+INT+FP+int16"])
@pytest.mark.parametrize("scale", [0.02, 0.05])
def test_integers_in_and_out_with_scales_of_their_own(dtype: torch.dtype, spec: str, scale: float) -> None:
    """The edge's scale may equal the inner one (0.05), or not: then the change of scale must not be folded away.

    TOSA 1.0 has uint8 as an operand of RESCALE, which is all that the edges need.
    """
    zero = 0 if dtype is torch.int16 else 7
    outer, inner = _integers(scale, zero, dtype), _integers(0.05, 7, torch.int8)
    ops = torch.ops.quantized_decomposed

    class Integer(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            real = ops.dequantize_per_tensor(x, *outer)
            real = ops.dequantize_per_tensor(ops.quantize_per_tensor(real, *inner), *inner)
            real = ops.dequantize_per_tensor(ops.quantize_per_tensor(real + real, *inner), *inner)
            return ops.quantize_per_tensor(real, *outer)

    low, high = outer[2:4]
    x = torch.linspace(max(low, -200), min(high, 200), 97).to(dtype).reshape(1, 97)
    exported = export(Integer(), (x,))
    (wanted,) = eager(exported)(x)
    lowered = lower(exported, spec)
    assert not lowered.outside and len(lowered.payloads) == 1
    (got,) = lowered.run(x)
    assert got.dtype == dtype
    quantum = 0.05 / scale  # of the inner scale, in integers of the outer
    assert (got.int() - wanted.int()).abs().max() <= max(1, quantum)
    assert wanted.unique().numel() > 20


def test_quantized_io_of_executorch_after_lowering() -> None:
    """ExecuTorch's passes take quantize and dequantize off the ends: the delegate must already be integer there."""
    exported = quantize(Net(lambda net, x: net.conv2(torch.relu(net.conv(x)))), (X,))
    (wanted,) = eager(exported)(X)
    (quantum,) = tolerances(exported)
    lowered = lower(exported, "TOSA-1.0+INT")
    scale_in, zero_in, *_ = quantize_input(lowered.program, 0)
    scale_out, zero_out, *_ = quantize_output(lowered.program, 0)
    assert lowered.outside == {}
    x = torch.clamp(torch.round(X / scale_in) + zero_in, -128, 127).to(torch.int8)
    (got,) = lowered.run(x)
    assert got.dtype == torch.int8
    torch.testing.assert_close((got.int() - zero_out) * scale_out, wanted, rtol=0, atol=quantum)


def _one_dequantize(program: ExportedProgram) -> None:
    """Lets the users of an integer tensor share a dequantize; PT2E gives each its own."""
    (first, *others), *_ = [list(n.users) for n in program.graph.nodes if len(n.users) > 1 and is_quantize(n)]
    for other in others:
        other.replace_all_uses_with(first)
        program.graph.erase_node(other)
    program.graph_module.recompile()


@pytest.mark.parametrize(("older", "delegates"), [(False, 1), (True, 0)])
def test_a_dequantize_of_two_users(older: bool, delegates: int) -> None:
    """Copied where the flow lets us; in the older flow the program may only be tagged, so its users stay outside."""
    exported = quantize(Net(lambda net, x: (torch.relu(net.conv(x)), torch.sigmoid(x))), (X,))
    _one_dequantize(exported)
    wanted, within = eager(exported)(X), tolerances(exported)
    check = DontPartition(torch.ops.aten.sigmoid.default)
    with nullcontext() if delegates else pytest.warns(NothingDelegatedWarning):
        lowered = lower(exported, "TOSA-1.0+INT", [check], older=older)
    assert len(lowered.payloads) == delegates
    assert_same(lowered.run(X), wanted, within)


@pytest.mark.parametrize("spec", ["TOSA-1.0+INT", "TOSA-1.0+INT+FP"])
def test_a_layer_left_in_float(spec: str) -> None:
    """Integers alone leave it on the CPU; with float, all is one delegate that takes and gives float."""
    net = Net(lambda net, x: net.linear(net.conv2(torch.relu(net.conv(x))).mean((2, 3))))
    exported = quantize(net, (X,), lambda quantizer: quantizer.set_module_name("conv2", None))
    wanted, within = eager(exported)(X), tolerances(exported)
    lowered = lower(exported, spec)
    if "FP" in spec:
        assert (lowered.outside, len(lowered.payloads)) == ({}, 1)
    else:
        assert lowered.outside["aten.convolution.default"] == 1 and len(lowered.payloads) == 2
        (row,) = [row for row in lowered.report.rejected if row.target == "aten.convolution.default"]
        assert "weights that are not quantized" in row.reason
    assert_same(lowered.run(X), wanted, within)


def test_methods_of_one_program_do_not_mix_their_constants() -> None:
    """One partitioner for two methods whose parameters have the same names."""
    first = quantize(Net(lambda net, x: net.conv(x)), (X,))
    wider = Net(lambda net, x: net.conv(x))
    wider.conv = torch.nn.Conv2d(4, 6, 1)
    second = quantize(wider, (X,))
    runs = {"first": eager(first), "second": eager(second)}
    within = {"first": tolerances(first), "second": tolerances(second)}
    partitioner = TOSAPartitioner(TosaCompileSpec("TOSA-1.0+INT"))
    edge = to_edge_transform_and_lower({"first": first, "second": second}, partitioner=[partitioner])
    assert partitioner.report is not None
    for name, run in runs.items():

        class Method(Lowered):
            program = edge.exported_program(name)

        lowered = Method(edge, partitioner.report)
        assert len(lowered.payloads) == 1
        assert_same(lowered.run(X), run(X), within[name])


class Looked(torch.nn.Module):
    """Looks up an entry of a table, at an index that is computed from two constants."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(1, 4))
        self.register_buffer("step", torch.tensor(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        at = torch.tensor([3]) - (self.step - 4)
        return x + self.table[:, at] * torch.abs(x)


def test_constants_that_are_not_known_are_not_computed_with() -> None:
    """ExecuTorch shows fake constants, and numbers that stand in for them are no index of anything."""
    program = get_fake_program(torch.export.export(Looked(), (torch.randn(2, 4),)))
    partitioner = TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP"))
    partitioner.partition(program)
    assert {"aten.abs.default", "aten.add.Tensor"} <= {row.target for row in partitioner.report.delegated}


def test_what_to_keep_is_decided_once_for_each_state_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """ExecuTorch asks twice about one graph; a graph that has changed since is looked at again."""
    partitioner, asked = TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP")), []
    compilation = partitioner.compilation
    monkeypatch.setattr(partitioner, "compilation", lambda *a, **k: asked.append(a) or compilation(*a, **k))
    program = export(Net(lambda _, x, y: torch.nn.functional.silu(x) + y), (X, Y))
    first = partitioner.ops_to_not_decompose(program)
    assert torch.ops.aten.silu.default in first[0]
    assert partitioner.ops_to_not_decompose(program) == first
    assert len(asked) == 1
    (silu,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.silu.default)
    silu.target = torch.ops.aten.relu.default
    assert torch.ops.aten.silu.default not in partitioner.ops_to_not_decompose(program)[0]
    assert len(asked) == 2


def test_a_custom_operator_needs_a_rule() -> None:
    partitioner = TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP"))
    partitioner.register_custom_partition_op(torch.ops.aten.relu.default)
    with pytest.raises(UsageError, match=r"^register_custom.*no rule for aten.bincount.*arm_tosa_core.op"):
        partitioner.register_custom_partition_op(torch.ops.aten.bincount.default)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.float32])
def test_a_quotient_by_an_integer_passes_executorchs_verifier(dtype: torch.dtype) -> None:
    x = torch.tensor([-9, -4, -1, 0, 3, 8]).to(dtype)
    lowered = lower(export(Net(lambda _, x: (x + x) // 3), (x,)), "TOSA-1.0+INT+FP")
    assert not lowered.outside
    assert_same(lowered.run(x), [(x + x) // 3], [0.0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_a_member_of_a_list_is_shared_with_the_cpu_and_with_another_delegate(dtype: torch.dtype) -> None:
    class Members(torch.nn.Module):
        shared: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shared", torch.arange(6).to(dtype).reshape(1, 1, 6))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            joined = torch.cat([x + 1, self.shared], 2)
            return self.shared.sigmoid(), joined, torch.cat([joined.sigmoid().to(dtype), self.shared], 2) * 2

    inputs = (torch.full((1, 1, 6), 3).to(dtype),)
    exported = torch.export.export(Members(), inputs)
    lowered = lower(exported, "TOSA-1.0+FP+INT", [DontPartition(torch.ops.aten.sigmoid.default)])
    assert len(lowered.payloads) == 2
    assert_same(lowered.run(*inputs), list(Members()(*inputs)), tolerances(exported))


@pytest.mark.parametrize("join", [torch.cat, torch.stack])
def test_indices_in_a_list_of_the_cpu(join: Callable[[list[torch.Tensor]], torch.Tensor]) -> None:
    class Indices(torch.nn.Module):
        places: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("places", torch.tensor([2, 0, 1, 3]))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x[self.places] * 2, join([self.places, self.places])

    inputs = (torch.randn(4, 4),)
    exported = torch.export.export(Indices(), inputs)
    lowered = lower(exported, "TOSA-1.0+FP+INT")
    assert len(lowered.payloads) == 1
    assert_same(lowered.run(*inputs), list(Indices()(*inputs)), tolerances(exported))


def test_a_constant_that_is_returned_too_stays_outside() -> None:
    class Returned(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            weight = self.weight.to(torch.float32)  # nothing: what is returned is the parameter
            return weight, x * weight

    inputs = (torch.randn(3, 4),)
    exported = torch.export.export(Returned(), inputs)
    lowered = lower(exported, "TOSA-1.0+FP")
    assert len(lowered.payloads) == 1
    assert_same(lowered.run(*inputs), eager(exported)(*inputs), tolerances(exported))
