"""The fast flow means the same as ExecuTorch's own: the same operators delegated, the same outputs bit for bit."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.operator_support import DontPartition
from flow_kit import Lowered, Net, export, lower, quantize
from program_kit import PROGRAMS, Program, X, Y, accumulate, cache
from torch.export import ExportedProgram

from arm_tosa_core import NothingDelegatedWarning, TosaCompileSpec, TOSAPartitioner
from arm_tosa_core.compat.executorch import edge_config
from arm_tosa_core.flow.edge import lower_to_edge
from arm_tosa_core.lowering.exported_program import copy_program
from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.case import SCHEMES, Apply, OpCase
from arm_tosa_core.testing.cases import CASES
from arm_tosa_core.testing.harness import exported

NUMBERS = {"aten.fill", "aten.full_like", "aten.full", "aten._to_copy"}
SPECS = ["TOSA-1.0+INT", "TOSA-1.0+INT+FP", "TOSA-1.0+FP"]


def both(exported: ExportedProgram, spec: str) -> tuple[Lowered, Lowered]:
    """The program lowered by the fast flow and by the ordinary one."""
    checks = [DontPartition(torch.ops.aten.sigmoid.default)]
    given = copy.deepcopy(exported)
    fast = Lowered(*lower_to_edge(given, TosaCompileSpec(spec), additional_checks=checks))
    assert given.graph_module.code == exported.graph_module.code, "the program given was changed"
    return fast, lower(exported, spec, checks)


def delegated(lowered: Lowered) -> Counter[str]:
    """The operators inside of delegates, but for those into which ExecuTorch makes numbers."""
    names = (row.target.rpartition(".")[0] for row in lowered.report.delegated)
    return Counter(name for name in names if name not in NUMBERS)


def assert_equal(fast: Lowered, ordinary: Lowered, *inputs: torch.Tensor) -> None:
    for ours, theirs in zip(fast.run(*inputs), ordinary.run(*inputs), strict=True):
        assert ours.dtype == theirs.dtype and ours.stride() == theirs.stride()
        assert torch.equal(ours, theirs)


def assert_flows_agree(program: ExportedProgram, spec: TosaCompileSpec, *inputs: torch.Tensor) -> None:
    """As many delegates, and the same outputs bit for bit."""
    partitioner = TOSAPartitioner(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDelegatedWarning)
        fast = Lowered(*lower_to_edge(program, spec))
        edge = to_edge_transform_and_lower(
            copy_program(program),  # it takes constants out of its argument
            partitioner=[partitioner],
            compile_config=edge_config(),
        )
    assert partitioner.report is not None
    ordinary = Lowered(edge, partitioner.report)
    assert len(fast.payloads) == len(ordinary.payloads)
    results = []
    with torch.random.fork_rng():
        for lowered in (fast, ordinary):
            torch.manual_seed(0)  # for operators that draw
            results.append(lowered.run(*inputs))
    for ours, theirs in zip(*results, strict=True):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)


def written(_: Net, x: torch.Tensor, position: int = 0) -> tuple[torch.Tensor, ...]:
    copied = x.clone()
    copied[position] = copied[position] * 2
    return copied, x[:1]


def filled(_: Net, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    copied = x + 1
    copied[..., 0].fill_(3.0)
    return copied, x * 2


@pytest.mark.parametrize("forward", [written, partial(written, position=-1), filled])
@pytest.mark.parametrize("batch", [1, 2])
def test_writes_into_a_part_of_a_tensor_reach_it_in_both_flows(forward: Callable[..., Any], batch: int) -> None:
    x = torch.randn(batch, 4)
    for lowered in both(export(Net(forward), (x,)), "TOSA-1.0+FP"):
        for ours, theirs in zip(lowered.run(x), forward(None, x), strict=True):
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_flows_agree(program: Program, spec: str) -> None:
    exported = (quantize if "INT" in spec else export)(Net(program.forward), program.inputs)
    fast, ordinary = both(exported, spec)
    assert fast.outside == ordinary.outside
    assert len(fast.payloads) == len(ordinary.payloads)
    assert (delegated(fast) == delegated(ordinary)) is not program.parted
    assert_equal(fast, ordinary, *program.inputs)
    fast.edge.to_executorch()


@pytest.mark.parametrize("forward", [accumulate, cache])
@pytest.mark.parametrize("spec", SPECS)
def test_flows_agree_on_buffers_that_the_model_writes(forward: Callable[..., Any], spec: str) -> None:
    fast, ordinary = both((quantize if "INT" in spec else export)(Net(forward), (X,)), spec)
    # ExecuTorch's own flow may part the write from what it writes.
    assert 1 <= len(fast.payloads) <= len(ordinary.payloads)
    for x in (X, Y, X):
        assert_equal(fast, ordinary, x)
    fast.edge.to_executorch()


def _with_nothing(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = (x + 1).relu()
    nothing = y[:, :0]
    return torch.cat([y, nothing], 1) * 2, nothing.abs()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_results_without_elements_are_constants(scheme: str) -> None:
    """TOSA has no such tensor: what else there is goes to the delegate."""
    target = find_target("tosa")
    spec = TosaCompileSpec(target.tosa_spec)
    program = exported(Apply(_with_nothing), (X,), spec, scheme)
    assert_flows_agree(program, spec, X)
    _, report = lower_to_edge(program, spec)
    assert {"aten.relu.default", "aten.mul.Tensor"} <= {row.target for row in report.delegated}


def test_parts_of_what_stays_outside_are_decomposed_in_turn() -> None:
    """PyTorch makes a convolution with a named padding of another such one: a layer in float must not cost its twin."""
    net = Net(lambda net, x: net.conv2(net.conv(x)))
    net.conv.padding = net.conv2.padding = "same"
    fast, ordinary = both(quantize(net, (X,), lambda q: q.set_module_name("conv2", None)), "TOSA-1.0+INT")
    assert len(fast.payloads) == len(ordinary.payloads) == 1
    assert delegated(fast) == delegated(ordinary)
    assert_equal(fast, ordinary, X)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A sample of the conformance kit; with ``--arm-flow=ordinary`` all of it."""
    if "case" in metafunc.fixturenames:
        rows = [(case, SCHEMES[i % len(SCHEMES)]) for i, case in enumerate(CASES[::40])]
        if metafunc.config.getoption("--arm-flow") == "ordinary":
            rows = [(case, scheme) for case in CASES for scheme in SCHEMES]
        metafunc.parametrize(("case", "scheme"), rows, ids=[f"{case.name}-{scheme}" for case, scheme in rows])


def test_flows_agree_on_operators(case: OpCase, scheme: str) -> None:
    spec = TosaCompileSpec(find_target("tosa").tosa_spec)
    assert_flows_agree(exported(case.module(), case.example(0), spec, scheme), spec, *case.example(1))
