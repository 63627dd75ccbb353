"""``arm_tosa_core.lower``: what it takes, what it returns, and what it says."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.backend.operator_support import DontPartition
from executorch.runtime import Runtime
from flow_kit import Net, export, quantize
from program_kit import PROGRAMS, X
from torch.export import ExportedProgram

from arm_tosa_core import ExecuTorchOptions, TosaCompileSpec, TosaSpecification, UsageError, lower
from arm_tosa_core.aten import decompose as decomposition
from arm_tosa_core.aten.decompose import decompose
from arm_tosa_core.aten.functionalize import functional
from arm_tosa_core.exir.partitioner import TOSAPartitioner
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.support.errors import NothingDelegatedWarning
from arm_tosa_core.tosa.reference_model import validate
from arm_tosa_core.tosa.rewrite import Stage

INT = TosaSpecification.create_from_string("TOSA-1.0+INT")


@pytest.fixture(scope="module")
def network() -> ExportedProgram:
    return quantize(Net(lambda net, x: net.conv2(torch.relu(net.conv(x)))), (X,))


@pytest.mark.parametrize("target", ["tosa-int", INT, TosaCompileSpec(INT)], ids=["name", "specification", "spec"])
def test_a_target_is_a_name_a_specification_or_a_compile_spec(network: ExportedProgram, target: Any) -> None:
    lowered = lower(network, target)
    (delegate,) = delegates(lowered.buffer)
    assert delegate.backend_id == "TOSABackend"
    validate(delegate.payload, INT)
    assert [row.target for row in lowered.report.delegated].count("aten.conv2d.default") == 2


@pytest.mark.parametrize(("target", "message"), [("tosa-imt", "did you mean 'tosa-int'"), (8, "not int")])
def test_another_target_is_refused(network: ExportedProgram, target: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        lower(network, target)


def test_the_result_is_written_like_executorchs(network: ExportedProgram, tmp_path: Path) -> None:
    lowered = lower(network, "tosa-int")
    file = io.BytesIO()
    lowered.write_to_file(file)
    lowered.save(tmp_path / "net.pte")
    assert file.getvalue() == (tmp_path / "net.pte").read_bytes() == lowered.buffer


def test_progress_is_told_by_stage_and_part() -> None:
    told: list[tuple[str, float]] = []
    between = export(Net(lambda net, x: torch.cdist(x * x, x) * 2), (X[0, 0],))
    lower(between, "tosa", progress=lambda stage, done: told.append((stage, done)))
    assert told == [
        *(("lower", 0), ("lower", 1), ("compile", 0), ("compile", 0.5), ("compile", 1), ("write", 0), ("write", 1))
    ]


def test_executorchs_runtime_reads_the_program(network: ExportedProgram) -> None:
    program = Runtime.get().load_program(lower(network, "tosa-int").buffer)
    method = program.metadata("forward")
    assert method.num_inputs() == 1 and tuple(method.output_tensor_meta(0).sizes()) == (1, 4, 8, 8)


def test_executorchs_options_are_honoured(network: ExportedProgram) -> None:
    inline = lower(
        network,
        "tosa-int",
        executorch=ExecuTorchOptions(config=ExecutorchBackendConfig(extract_delegate_segments=False)),
    )
    assert inline.buffer != lower(network, "tosa-int").buffer
    assert len(delegates(inline.buffer)) == 1


def test_a_program_of_which_nothing_is_delegated_runs_on_the_cpu() -> None:
    exported = export(Net(lambda net, x, unused: torch.sigmoid(x) + net.kept), (X, X))
    with pytest.warns(NothingDelegatedWarning, match="is not quantized"):
        lowered = lower(exported, "tosa-int")
    assert delegates(lowered.buffer) == []
    (result,) = Runtime.get().load_program(lowered.buffer).load_method("forward").execute((X, X))
    torch.testing.assert_close(result, exported.module()(X, X))


def test_what_a_check_refuses_stays_on_the_cpu() -> None:
    program = quantize(Net(lambda net, x: net.conv2(torch.sigmoid(net.conv(x)))), (X,))
    lowered = lower(
        program,
        "tosa-int",
        executorch=ExecuTorchOptions(additional_checks=[DontPartition(torch.ops.aten.sigmoid.default)]),
    )
    assert len(delegates(lowered.buffer)) == lowered.report.delegates == 2
    assert [row.target for row in lowered.report.rejected] == ["aten.sigmoid.default"]


def test_a_constant_of_the_shape_of_what_is_delegated_stays_on_the_cpu() -> None:
    def forward(net: Net, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return net.conv2(net.conv(x)), torch.full_like(net.conv(x), 3.0).cummax(-1)[0]

    program = quantize(Net(forward), (X,))
    lowered = lower(program, "tosa-int")
    assert lowered.report.delegates == 1
    assert {row.target for row in lowered.report.rejected} >= {"aten.cummax.default"}


def test_artifacts_are_left(network: ExportedProgram, tmp_path: Path) -> None:
    lower(network, TosaCompileSpec(INT).dump_intermediate_artifacts_to(tmp_path))
    assert [path.name for path in tmp_path.rglob("*.tosa")] == ["tosa.tosa"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_edits_leave_the_analysis_true(program: Any) -> None:
    """The flow analyses once, before it edits; ExecuTorch's flow analyses again, which must find the same."""
    exported = quantize(Net(program.forward), program.inputs)
    checks = [DontPartition(torch.ops.aten.sigmoid.default)]
    partitioner = TOSAPartitioner(TosaCompileSpec("TOSA-1.0+INT"), checks)
    edited = partitioner.compilation(functional(exported), editable=True).run()
    analysis, kept = edited.analysis, partitioner.compilation(edited.program, editable=False)
    again = kept.run(Stage.LOWER).analysis
    assert again.accepted.keys() == analysis.accepted.keys()
    regions = {(analysis.accepted[node], again.accepted[node]) for node in again.accepted}
    assert len(regions) == len({ours for ours, _ in regions}) == len({theirs for _, theirs in regions})


# Operators in place


def _operators(program: ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize(
    ("forward", "local"),
    [
        (lambda net, x: net.conv(x).relu_(), True),
        (lambda net, x: net.conv(x).add_(net.conv2(x)).relu_(), True),
        (lambda net, x: (net.conv(x) * 2).clamp_(0, 6), True),
        (lambda net, x: x.clone().view(-1).relu_(), False),
        (lambda net, x: x.relu_(), False),
        (lambda net, x: torch.nn.functional.dropout(x, training=False).relu_(), False),
        (lambda net, x: (lambda y: (y.view(4, 8, 8).relu_(), y))(net.conv(x)), False),
        (lambda net, x: net.state.add_(x), False),
    ],
)
def test_operators_in_place_go(forward: Any, local: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here where nobody else sees what is overwritten; else PyTorch traces the whole program."""
    exported = export(Net(forward), (X,))
    traced: list[ExportedProgram] = []
    whole = decomposition.run_decompositions
    monkeypatch.setattr(
        "arm_tosa_core.aten.functionalize.run_decompositions",
        lambda program, table: traced.append(program) or whole(program, table),
    )
    made = functional(exported)
    assert len(traced) == (0 if local else 1)
    assert not any(node.target._schema.is_mutable for node in made.graph.nodes if hasattr(node.target, "_schema"))
    torch.testing.assert_close(made.module()(X.clone()), exported.module()(X.clone()))


# Decomposition


@pytest.mark.parametrize(
    ("forward", "names"),
    [
        (lambda net, x: torch.nn.functional.silu(net.conv(x)), ["silu.default"]),
        (lambda net, x: torch.nn.functional.layer_norm(x, (8,)) + net.conv(x), ["layer_norm.default"]),
        (lambda net, x: torch.softmax(torch.nn.functional.silu(x), -1), ["silu.default", "softmax.int"]),
        (lambda net, x: [torch.nn.functional.silu(y) for y in x.split(2, 1)], ["silu.default", "split.Tensor"]),
        (lambda net, x: torch.std_mean(net.conv(x), dim=1), ["std_mean.correction"]),
        (lambda net, x: torch.nn.functional.pixel_shuffle(net.conv(x), 2), ["conv2d.default", "pixel_shuffle.default"]),
    ],
)
def test_chosen_operators_are_decomposed_as_pytorch_does(forward: Any, names: list[str]) -> None:
    known = torch.export.default_decompositions()
    chosen = [getattr(getattr(torch.ops.aten, name.split(".")[0]), name.split(".")[1]) for name in names]
    exported = export(Net(forward), (X,))
    table = {target: known[target] for target in chosen}
    ours, theirs = decompose(exported, table), exported.run_decompositions(dict(table))
    assert sorted(_operators(ours)) == sorted(_operators(theirs))
    assert not {str(target) for target in chosen} & set(_operators(ours))
    ours.graph.lint()
    config = EdgeCompileConfig(_check_ir_validity=False)
    for a, b in zip(*(_flat(to_edge(p, compile_config=config)) for p in (ours, theirs)), strict=True):
        assert torch.equal(a, b)


def _flat(edge: Any) -> list[torch.Tensor]:
    return torch.utils._pytree.tree_leaves(edge.exported_program().module()(X))


@pytest.mark.parametrize("repeated", [False, True])
def test_an_example_input_of_stride_0(repeated: bool) -> None:
    """As numpy's ``x[None]`` has for its first axis, and ``expand`` for one of several numbers."""
    numbers = torch.arange(8.0)
    x = numbers.expand(3, 8) if repeated else numbers.as_strided((1, 8), (0, 1))
    assert x.stride()[0] == 0
    lowered = lower(torch.export.export(torch.nn.Linear(8, 2).eval(), (x,)), "tosa-fp")
    assert lowered.report.delegates == 1 and not lowered.report.rejected
    with pytest.warns(NothingDelegatedWarning):
        cpu = lower(export(Net(lambda net, x, unused: torch.sigmoid(x)), (x, X)), "tosa-int")
    given = torch.rand(x.shape)
    (made,) = Runtime.get().load_program(cpu.buffer).load_method("forward").execute((given, X))
    torch.testing.assert_close(made, given.sigmoid())


class Largest(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.topk(torch.relu(x), 2)


def test_a_model_may_return_a_named_tuple_of_pytorch() -> None:
    inputs = (torch.randn(1, 6),)
    made = lower(torch.export.export(Largest(), inputs), "tosa-fp")
    assert made.report.delegated and b"torch.return_types.topk" in made.buffer


@pytest.mark.filterwarnings("ignore::arm_tosa_core.NothingDelegatedWarning")
def test_control_flow_inside_of_a_body_that_is_only_wrapped() -> None:
    class Wrapped(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", enabled=False):
                scanned: tuple[torch.Tensor, torch.Tensor] = torch._higher_order_ops.scan(
                    lambda c, a: (c * 0.5 + a, c - a), x[0] * 0.5, x
                )
            return scanned[1]

    report = lower(torch.export.export(Wrapped(), (torch.rand(7),)), "tosa-fp").report
    assert "scan" in {row.target for row in report.rejected}
