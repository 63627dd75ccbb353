"""Every refusal has a reason that a user can act on, with the user's source line."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from executorch.exir import to_edge
from executorch.exir.backend.operator_support import DontPartition, DontPartitionModule, DontPartitionName
from executorch.exir.dialects._ops import ops as edge_ops
from flow_kit import Inputs, Net, export, lower, quantize
from torch.export import ExportedProgram

import arm_tosa_core
from arm_tosa_core import LoweringError, TosaCompileSpec, UsageError
from arm_tosa_core.exir.compilation import Compilation
from arm_tosa_core.exir.explain import explain
from arm_tosa_core.exir.operator_checks import node_checks
from arm_tosa_core.exir.partitioner import NothingDelegatedWarning, TOSAPartitioner
from arm_tosa_core.exir.report import Report
from arm_tosa_core.lowering.exported_program import is_dequantize, is_quantize
from arm_tosa_core.plugin.entry_points import target
from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.tosa.ir import Op

X = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(0))


class Convolved(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x))  # the line that reports must name


_NUMBER = Convolved.forward.__code__.co_firstlineno + 1
LINE = f"test_support_analysis.py:{_NUMBER}, in forward: return torch.relu(self.conv(x))"


def refused(program: torch.export.ExportedProgram, spec: str, older: bool = False) -> Report:
    """The report of a program of which nothing may be delegated."""
    with pytest.warns(NothingDelegatedWarning, match="nothing was delegated to tosa: all [0-9]+ operators"):
        lowered = lower(program, spec, older=older)
    assert not lowered.payloads
    return lowered.report


@pytest.mark.parametrize("older", [False, True])
def test_a_float_model_for_integers_is_told_to_be_quantized(older: bool) -> None:
    report = refused(export(Convolved(), (X,)), "TOSA-1.0+INT", older)
    assert [row.target for row in report.rejected] == ["aten.convolution.default", "aten.relu.default"]
    for row in report.rejected:
        assert row.reason == "is not quantized: it computes in float, and the target has integers only"
        assert "quantize_program" in row.fix
        assert LINE in row.source


def test_the_warning_says_why_and_what_to_do() -> None:
    with pytest.warns(NothingDelegatedWarning) as caught:
        lower(export(Convolved(), (X,)), "TOSA-1.0+INT")
    (message,) = [str(w.message) for w in caught if w.category is NothingDelegatedWarning]
    assert "2 of them: is not quantized" in message and "quantize_program" in message and "arm-tosa explain" in message


DYNAMIC = [({0: torch.export.Dim("batch")}, 0), ({2: torch.export.Dim("height", min=8, max=64)}, 2)]


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(("dynamic", "dimension"), DYNAMIC)
def test_dynamic_shapes_are_refused_with_the_dimension(dynamic: dict[int, Any], dimension: int, older: bool) -> None:
    program = export(Convolved(), (X.repeat(2, 1, 1, 1),), dynamic_shapes=(dynamic,))
    (name,) = program.graph_signature.user_inputs
    report = refused(program, "TOSA-1.0+FP", older)
    assert len(report.rejected) == 2
    for row in report.rejected:
        assert row.reason.startswith(f"has a dynamic shape: dimension {dimension} of input {name} is s")
        assert row.fix == "export with static shapes"  # sizes of TOSA flatbuffers do not vary


def test_a_shape_that_depends_on_data_is_refused() -> None:
    lowered = lower(export(Net(lambda net, x: x[net.conv(x).mean() < x] * 2), (X,)), "TOSA-1.0+INT+FP")
    reasons = {row.target: row.reason for row in lowered.report.rejected}
    assert "the size u" in reasons["aten.mul.Tensor"] and "depends on data" in reasons["aten.mul.Tensor"]
    assert len(lowered.payloads) == 1


@pytest.mark.parametrize("older", [False, True])
def test_a_model_on_another_device_is_refused(older: bool) -> None:
    program = export(Convolved().to("meta"), (X.to("meta"),))
    with pytest.raises(UsageError, match=r"p_conv_weight is on device meta: move the model to the CPU"):
        lower(program, "TOSA-1.0+FP", older=older)


@pytest.mark.parametrize("scale", [float("nan"), 0.0, float("inf")])
def test_a_scale_that_is_no_scale_is_refused(scale: float) -> None:
    program = quantize(Convolved(), (X,))
    (last,) = [n for n in program.graph.nodes if is_dequantize(n) and any(u.op == "output" for u in n.users)]
    for node in (last, last.args[0]):
        node.update_arg(1, scale)
    with pytest.raises(LoweringError, match=rf"quantizes relu, has the scale {scale}: calibrate"):
        lower(program, "TOSA-1.0+INT")


def test_a_zero_point_beyond_the_integers_stays_on_the_cpu() -> None:
    program = quantize(Convolved(), (X,))
    (last,) = [n for n in program.graph.nodes if is_dequantize(n) and any(u.op == "output" for u in n.users)]
    for node in (last, last.args[0]):
        node.update_arg(2, 300)
    assert "zero point 300, which is no int8" in str(lower(program, "TOSA-1.0+INT").report)


REASONS: list[tuple[str, Callable[..., Any], Inputs, str, str]] = [
    (
        "no rule",
        lambda net, x: torch.bucketize(net.conv(x), X[0, 0, 0]),
        (X,),
        "aten.bucketize.Tensor",
        "there is no rule for aten.bucketize",
    ),
    (
        "no operator",
        lambda net, x: net.conv(x).cummax(-1).values,
        (X,),
        "aten.cummax.default",
        "no rule for aten.cummax",
    ),
    (
        "only reshapes, beside what stays outside",
        lambda net, x: (x.reshape(16, 16), x.cummax(-1).values),
        (X,),
        "aten.reshape.default",
        "nothing to compute, only data",
    ),
    ("only constants", lambda net, x: (net.kept * 2, x), (X,), "aten.mul.Tensor", "is computed from constants"),
    ("int64", lambda net, i: i + 1, (torch.arange(3),), "aten.add.Tensor", "int64"),
    ("int64 beyond int32", lambda net, i: i * 2**40, (torch.arange(3),), "aten.mul.Tensor", "int64"),
    ("int64 from float, cast on", lambda net, x: x.long().int(), (X,), "aten.to.dtype", "not known to fit int32"),
    ("double", lambda net, x: x + x, (X.double(),), "aten.add.Tensor", "float64"),
    ("complex", lambda net, x: x * x, (X.to(torch.complex64),), "aten.mul.Tensor", "complex64"),
]


@pytest.mark.parametrize(
    ("forward", "inputs", "target", "reason"), [r[1:] for r in REASONS], ids=[r[0] for r in REASONS]
)
def test_reasons(forward: Callable[..., Any], inputs: Inputs, target: str, reason: str) -> None:
    report = explain(export(Net(forward), inputs), TosaCompileSpec("TOSA-1.0+INT+FP"))
    rows = [row for row in report.rejected if row.target == target]
    assert rows and all(reason in row.reason for row in rows)


class Act(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.hardswish(x)


class Between(torch.nn.Module):
    """hardswish, which ExecuTorch decomposes for CPUs, between two convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.act, self.last = torch.nn.Conv2d(4, 4, 3), Act(), torch.nn.Conv2d(4, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.act(self.first(x)))


CHECKS = {
    "ATen operator": DontPartition(torch.ops.aten.hardswish.default),
    "edge operator": DontPartition(edge_ops.edge.aten.hardswish.default),
    "operator's name": DontPartition("aten.hardswish.default"),
    "part of an operator's name": DontPartition("hardswish", exact=False),
    "module type": DontPartitionModule(module_name="Act"),
    "module type, dotted": DontPartitionModule(module_name=f"{Act.__module__}.Act"),
    "part of a module type": DontPartitionModule(module_name="Ac", exact=False),
    "module instance": DontPartitionModule(instance_name="act"),
}


#: Functions that emit no TOSA operator in 8 bits, or none at all: only the tensor that they read shows the rank.
IDENTITIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a factor, which the scale takes": lambda x: x * 2,
    "half of it": lambda x: x / 2,
    "dropout": lambda x: torch.nn.functional.dropout(x, training=False) * 1.0,
    "a view of its own shape": lambda x: x.view(x.shape),
}


@pytest.mark.parametrize("spec", ["TOSA-1.0+INT", "TOSA-1.0+FP"])
@pytest.mark.parametrize("function", IDENTITIES.values(), ids=IDENTITIES)
def test_a_rank_that_tosa_has_not_stays_outside(function: Callable[[torch.Tensor], torch.Tensor], spec: str) -> None:
    x = torch.linspace(-1, 1, 24).reshape(1, 2, 1, 2, 1, 2, 3)
    made = quantize if "INT" in spec else export
    report = refused(made(Net(lambda _, x: function(x)), (x,)), spec)
    assert "reads a tensor whose rank 7 exceeds MAX_RANK = 6 of TOSA level 8K" in {r.reason for r in report.rejected}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_checks_of_executorch_keep_operators_on_the_cpu(check: Any) -> None:
    lowered = lower(export(Between(), (X,)), "TOSA-1.0+FP", [check])
    assert len(lowered.payloads) == 2
    # Decomposed: there is no CPU kernel for hardswish as a whole.
    assert {"aten.add.Tensor", "aten.mul.Tensor", "aten.clamp.default"} <= lowered.outside.keys()
    assert {row.reason for row in lowered.report.rejected} == {f"is kept on the CPU by {type(check).__name__}"}
    assert check.has_rejected_node()


class Bend(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)


class Repeated(torch.nn.Module):
    """Two operators of one kind between layers, in modules of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Conv2d(4, 4, 1), torch.nn.Conv2d(4, 4, 1)
        self.one, self.other = Bend(), Bend()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.other(self.one(self.first(x))))


#: Checks of a network with two tanh, and how many of these they keep on the CPU.
KEPT: dict[str, tuple[Callable[[], Any], int]] = {
    "edge operator": (lambda: DontPartition(edge_ops.edge.aten.tanh.default), 2),
    "ATen operator": (lambda: DontPartition(torch.ops.aten.tanh.default), 2),
    "several operators": (lambda: DontPartition(torch.ops.aten.mul.Tensor, torch.ops.aten.tanh.default), 2),
    "operator's name": (lambda: DontPartition("aten.tanh.default"), 2),
    "part of an operator's name, exact": (lambda: DontPartition("tanh"), 0),
    "part of an operator's name": (lambda: DontPartition("tanh", exact=False), 2),
    "node": (lambda: DontPartitionName("aten_tanh_default"), 1),
    "second node": (lambda: DontPartitionName("aten_tanh_default_1"), 1),
    "several nodes": (lambda: DontPartitionName("aten_tanh_default", "aten_tanh_default_1"), 2),
    "part of a node's name, exact": (lambda: DontPartitionName("tanh_def"), 0),
    "part of a node's name": (lambda: DontPartitionName("tanh_def", exact=False), 2),
    "module type": (lambda: DontPartitionModule(module_name="Bend"), 2),
    "module type, dotted": (lambda: DontPartitionModule(module_name=f"{Bend.__module__}.Bend"), 2),
    "module type of another file": (lambda: DontPartitionModule(module_name="other_file.Bend"), 0),
    "part of a module type, exact": (lambda: DontPartitionModule(module_name="Ben"), 0),
    "part of a module type": (lambda: DontPartitionModule(module_name="Ben", exact=False), 2),
    "module instance": (lambda: DontPartitionModule(instance_name="other"), 1),
    "part of a module instance": (lambda: DontPartitionModule(instance_name="othe", exact=False), 1),
}


@pytest.fixture(scope="module", params=["fp32", "int8"])
def repeated(request: pytest.FixtureRequest) -> tuple[ExportedProgram, ExportedProgram]:
    """In the ATen and in the edge dialect."""
    program = (export if request.param == "fp32" else quantize)(Repeated(), (X,))
    return program, to_edge(copy.deepcopy(program)).exported_program()


@pytest.mark.parametrize("fast", [True, False], ids=["lower", "partitioner"])
@pytest.mark.parametrize(("make", "kept"), KEPT.values(), ids=KEPT)
def test_arguments_of_checks(
    make: Callable[[], Any], kept: int, repeated: tuple[ExportedProgram, ExportedProgram], fast: bool
) -> None:
    check, spec = make(), TosaCompileSpec("TOSA-1.0+FP+INT")
    if fast:
        report = Compilation(repeated[0], spec.target(), node_checks([check]), decompose_rest=True).run().report
    else:
        partitioner = TOSAPartitioner(spec, [check])
        partitioner.partition(repeated[1])
        assert partitioner.report is not None
        report = partitioner.report
    left = [row for row in report.rejected if row.target == "aten.tanh.default"]
    assert len(left) == kept
    assert {row.reason for row in left} <= {f"is kept on the CPU by {type(check).__name__}"}


class NoConvolutionOfRelu(torch.fx.passes.operator_support.OperatorSupportBase):
    """A check of the user's own; it looks at arguments."""

    def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
        return "conv" not in str(node.target) or "relu" not in str(node.args[0])


def test_a_check_of_ones_own_sees_the_node_as_it_is() -> None:
    program = export(Net(lambda net, x: net.conv2(torch.relu(net.conv(x)))), (X,))
    lowered = lower(program, "TOSA-1.0+FP", [NoConvolutionOfRelu()])
    assert lowered.outside == {"aten.convolution.default": 1} and len(lowered.payloads) == 1


def explained(forward: Callable[..., Any], inputs: Sequence[torch.Tensor], spec: str) -> tuple[Report, Report]:
    program = (quantize if "FP" not in spec else export)(Net(forward), tuple(inputs))
    lowered = arm_tosa_core.lower(program, TosaCompileSpec(spec)).report
    return explain(program, TosaCompileSpec(spec)), replace(lowered, compiled=[])  # which explain does not do


SAME = [
    ("float", lambda net, x: torch.logsumexp(net.conv(x), 1), (X,), "TOSA-1.0+FP"),
    ("int8", lambda net, x: torch.cdist(net.conv(x), x).relu(), (X,), "TOSA-1.0+INT"),
    ("int64", lambda net, i: net.linear(net.embedding(i)), (torch.tensor([[1, 2]]),), "TOSA-1.0+INT"),
]


@pytest.mark.parametrize(("forward", "inputs", "spec"), [r[1:] for r in SAME], ids=[r[0] for r in SAME])
def test_explain_says_what_lowering_does(forward: Callable[..., Any], inputs: Inputs, spec: str) -> None:
    report, lowered = explained(forward, inputs, spec)
    assert report == lowered
    assert report.delegated


def _shared_constant(net: Net, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    steps = torch.arange(8)
    later = net.conv2(net.conv(x).cummax(-1).values * torch.cos(steps.float()))
    return later, torch.bucketize(x, steps[1:].float())


def test_a_constant_that_the_cpu_uses_too_stays_known_to_the_target() -> None:
    """The CPU's use of it comes before the delegate's, which is behind another operator on the CPU."""
    report = explain(export(Net(_shared_constant), (X,)), TosaCompileSpec("TOSA-1.0+FP"))
    delegated = [row.target for row in report.delegated]
    assert {"aten.arange.start_step", "aten.cos.default", "aten.mul.Tensor"} <= set(delegated)


@pytest.mark.parametrize("spec", ["TOSA-1.0+FP", "TOSA-1.0+INT"])
def test_a_program_that_only_moves_data_is_one_delegate(spec: str) -> None:
    """What stays on the CPU beside other work is what was asked for where it is all of the program."""
    program = (quantize if spec.endswith("INT") else export)(Net(lambda net, x: x.permute(3, 1, 2, 0).clone()), (X,))
    report = explain(program, TosaCompileSpec(spec))
    assert (report.rejected, report.delegates) == ([], 1)


def test_a_number_is_no_operator_of_the_model() -> None:
    """ExecuTorch makes a tensor of it, and a cast."""
    report = explain(
        quantize(Net(lambda net, x: torch.cdist(net.conv(x) * 2, x)), (X,)), TosaCompileSpec("TOSA-1.0+INT")
    )
    assert [row.target for row in report.delegated] == ["aten.conv2d.default", "aten.mul.Tensor"]


def test_edges_are_counted_apart() -> None:
    """Quantize, dequantize and the cast of int64 are no operators of the model."""
    program = quantize(Net(lambda net, i: net.linear(net.embedding(i))), (torch.tensor([[1, 2]]),))
    assert sum(is_quantize(n) for n in program.graph.nodes) > 0
    report = lower(program, "TOSA-1.0+INT").report
    assert (report.rejected, report.edges, report.delegates) == ([], 2, 1)


class Moved(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1).permute(0, 2, 3, 1).contiguous()


def _no_transpose(op: Op) -> Rejected | None:
    return Rejected("TRANSPOSE does not exist here") if op.name == "TRANSPOSE" else None


def test_what_cannot_leave_in_pytorchs_order_stays_outside() -> None:
    # No operator moves the axes until the result leaves, where its reader expects them in order.
    compilation = Compilation(export(Moved(), (X,)), replace(target("tosa-fp"), checks=(_no_transpose,))).run()
    reasons = {row.target: row.reason for row in compilation.report.rejected}
    assert reasons == {"aten.contiguous.default": "TRANSPOSE does not exist here"}
    assert len(list(compilation.regions())) == 1
