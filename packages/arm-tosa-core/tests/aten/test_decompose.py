"""Decomposition of some operators of a program: the same results, and nothing else is traced again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram

from arm_tosa_core import TOSAQuantizer, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.aten.canonicalize import canonicalize
from arm_tosa_core.aten.decompose import decompose, run_decompositions, without_composites
from arm_tosa_core.aten.functionalize import functional, out_of_place
from arm_tosa_core.exir.compile_spec import TargetCompileSpec
from arm_tosa_core.lowering.exported_program import copy_program, mutable
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.support.errors import UsageError


def counted(x: torch.Tensor) -> torch.Tensor:
    return x.relu() + x.diff(append=x[:, :1])


def split_twice(x: torch.Tensor) -> torch.Tensor:
    left, right = torch.chunk(x, 2, 1)
    return torch.cat([right, torch.chunk(left, 2, 1)[0]], 1).relu()


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    torch.chunk(y, 2, 1)[0].add_(1)
    return y + y.diff(append=y[:, :1])


def exported(function: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, int] = (2, 4)) -> ExportedProgram:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    return torch.export.export(Module(), (torch.randn(shape),))


def targets(program: ExportedProgram) -> Counter[str]:
    return Counter(str(node.target) for node in program.graph.nodes if node.op == "call_function")


@pytest.mark.parametrize("function", [counted, split_twice, in_place])
def test_same_results(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    program, x = exported(function), torch.randn(2, 4)
    before = targets(program)
    made = without_composites(program, RuleSet.of(None))
    for whole in (made, program):
        assert torch.equal(whole.module()(x), function(x))
    assert targets(program) == before
    assert "aten.diff.default" not in targets(made)


def test_only_the_operators_asked_for_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch decomposes a program of the one operator; a whole network takes it a hundred times as long."""
    program, traced = exported(counted), []
    whole = ExportedProgram.run_decompositions

    def run(self: ExportedProgram, *args: object) -> ExportedProgram:
        traced.append(targets(self))
        return whole(self, *args)

    monkeypatch.setattr(ExportedProgram, "run_decompositions", run)
    made = without_composites(program, RuleSet.of(None))
    assert traced == [{"aten.diff.default": 1}]
    parts = targets(made) - targets(program)
    assert targets(program) - targets(made) == {"aten.diff.default": 1}
    assert parts["aten.sub.Tensor"] == 1


def test_operators_without_an_entry_are_left() -> None:
    program = exported(counted)
    assert targets(decompose(program, {})) == targets(program)


def test_parts_may_be_outputs() -> None:
    program, x = torch.export.export(torch.nn.LSTM(4, 3), (torch.randn(5, 1, 4),)), torch.randn(5, 1, 4)
    made = copy_program(without_composites(program, RuleSet.of(None)))  # to copy is to judge the signature
    assert "aten.lstm.input" not in targets(made)
    torch.testing.assert_close(made.module()(x), program.module()(x))


def without_gradients(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x.relu()
    return y * x


def with_autocast(x: torch.Tensor, enabled: bool) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled), torch.no_grad():
        y = x @ x
    return y.relu()


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many nodes each program had that was traced."""
    counts = []

    def counting(program: ExportedProgram, table: Any) -> ExportedProgram:
        counts.append(len(program.graph.nodes))
        return run_decompositions(program, table)

    monkeypatch.setattr("arm_tosa_core.aten.functionalize.run_decompositions", counting)
    monkeypatch.setattr("arm_tosa_core.aten.decompose.run_decompositions", counting)
    return counts


def test_operators_without_gradients_are_operators(traced: list[int]) -> None:
    """Export keeps ``no_grad`` as a graph within the graph."""
    program = exported(without_gradients)
    assert any("wrap_with_set_grad_enabled" in name for name in targets(program))
    made = copy_program(out_of_place(program))  # to copy is to judge the signature
    assert targets(made) == {"aten.relu.default": 1, "aten.mul.Tensor": 1}
    x = torch.randn(2, 4)
    torch.testing.assert_close(made.module()(x), program.module()(x))
    assert not traced
    (relu,) = (n for n in made.graph.nodes if "relu" in n.name)
    assert "stack_trace" in relu.meta  # messages name the user's line


@pytest.mark.parametrize("enabled", [False, True])
def test_autocast_is_kept_to(enabled: bool, traced: list[int]) -> None:
    program, x = exported(lambda x: with_autocast(x, enabled), (3, 3)), torch.randn(3, 3)
    made = copy_program(out_of_place(program))
    assert not any("wrap" in name for name in targets(made))
    wanted = program.module()(x)
    assert wanted.dtype == (torch.bfloat16 if enabled else torch.float32)
    torch.testing.assert_close(made.module()(x), wanted, rtol=0, atol=0)
    assert not traced


def nested(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
        with torch.autocast("cpu", enabled=False):
            z = y @ y
            with torch.enable_grad():
                z = z.sin()
        z = z + y
    return z.relu()


def in_place_without_gradients(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
        torch.chunk(y, 2, 1)[0].add_(1)
    return y.relu()


@pytest.mark.parametrize("function", [nested, in_place_without_gradients])
def test_wrapped_graphs_are_functional(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Graphs within graphs have names of their own; what they overwrite is overwritten."""
    program, x = exported(function, (4, 4)), torch.randn(4, 4)
    made = copy_program(functional(program))
    assert not any("wrap" in name for name in targets(made)) and not any(map(mutable, made.graph.nodes))
    torch.testing.assert_close(made.module()(x), function(x), rtol=0, atol=0)
    assert any("wrap" in name for name in targets(program))


def test_what_is_made_of_no_tensor_is_left(traced: list[int]) -> None:
    """It is evaluated, so that nobody needs its parts."""
    program = exported(lambda x: x + torch.arange(4).diff(append=torch.zeros(1, dtype=torch.int64)))
    assert targets(without_composites(program, RuleSet.of(None))) == targets(program)
    assert not traced


def test_vmap_is_taken_apart() -> None:
    """``torch.export`` leaves it in a program, with operators on tensors of one dimension less."""
    program = exported(lambda x: torch.vmap(lambda row: torch.where(row > 0, row, row.sum()))(x))
    made = functional(program)
    assert all(isinstance(n.target, torch._ops.OpOverload) for n in made.graph.nodes if n.op == "call_function")
    x = torch.randn(2, 4)
    torch.testing.assert_close(made.module()(x), program.module()(x))


@pytest.mark.parametrize(
    "write",
    [
        lambda w: w.mul_(0.5),
        lambda w: w.view(-1).add_(1),
        lambda w: w[0].mul_(2),
        lambda w: torch._foreach_add_([w], 1.0),
    ],
    ids=["itself", "a view", "a row", "several"],
)
def test_a_write_to_a_parameter_is_refused(write: Callable[[torch.Tensor], Any]) -> None:
    class Writes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2, 3), requires_grad=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            write(self.weight)
            return x * self.weight

    program = torch.export.export(Writes(), (torch.ones(3),))
    for each in (program, program.run_decompositions({})):
        with pytest.raises(UsageError, match="writes to its parameter weight.*Make it a buffer"):
            functional(each)
        with pytest.raises(UsageError, match="writes to its parameter weight"):
            canonicalize(each, RuleSet.of("tosa-fp"))
    model = Writes()
    program = torch.export.export(model, (torch.ones(3),))
    quantizer = TOSAQuantizer(TargetCompileSpec("tosa-int")).set_global(get_symmetric_quantization_config())
    with pytest.raises(UsageError, match="writes to its parameter weight"):
        quantize_program(program, quantizer, [torch.ones(3)] * 4)
    assert (model.weight == 1).all()


def test_a_dropout_that_drops_nothing_is_its_operand() -> None:
    def behind_dropout(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        nn.functional.dropout(y, 0.5, training=False).add_(1)
        return y

    program = exported(behind_dropout)
    x = torch.randn(2, 4)
    torch.testing.assert_close(functional(program).module()(x), x * 2 + 1)
