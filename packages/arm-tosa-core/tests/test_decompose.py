"""Decomposition of some operators of a program: the same results, and nothing else is traced again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import torch
from torch.export import ExportedProgram

from arm_tosa_core.decompose import decompose, without_composites
from arm_tosa_core.program import copy_program

ARANGE = torch.ops.aten.arange.default


def counted(x: torch.Tensor) -> torch.Tensor:
    return x.relu() + torch.arange(4)


def split_twice(x: torch.Tensor) -> torch.Tensor:
    left, right = torch.chunk(x, 2, 1)
    return torch.cat([right, torch.chunk(left, 2, 1)[0]], 1).relu()


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    torch.chunk(y, 2, 1)[0].add_(1)
    return y + torch.arange(4)


def exported(function: Callable[[torch.Tensor], torch.Tensor]) -> ExportedProgram:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    return torch.export.export(Module(), (torch.randn(2, 4),))


def targets(program: ExportedProgram) -> Counter[str]:
    return Counter(str(node.target) for node in program.graph.nodes if node.op == "call_function")


@pytest.mark.parametrize("function", [counted, split_twice, in_place])
def test_same_results(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    program, x = exported(function), torch.randn(2, 4)
    before = targets(program)
    made = without_composites(program)
    for whole in (made, program):
        assert torch.equal(whole.module()(x), function(x))
    assert targets(program) == before
    assert "aten.arange.default" not in targets(made)


def test_only_the_operators_asked_for_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch decomposes a program of the one operator; a whole network takes it a hundred times as long."""
    program, traced = exported(counted), []
    whole = ExportedProgram.run_decompositions

    def run(self: ExportedProgram, *args: object) -> ExportedProgram:
        traced.append(targets(self))
        return whole(self, *args)

    monkeypatch.setattr(ExportedProgram, "run_decompositions", run)
    made = without_composites(program)
    assert traced == [{"aten.arange.default": 1}]
    assert targets(made) == {"aten.arange.start_step": 1, "aten.relu.default": 1, "aten.add.Tensor": 1}


def test_operators_without_an_entry_are_left() -> None:
    program = exported(counted)
    assert targets(decompose(program, {})) == targets(program)


def test_parts_may_be_outputs() -> None:
    program, x = torch.export.export(torch.nn.LSTM(4, 3), (torch.randn(5, 1, 4),)), torch.randn(5, 1, 4)
    made = copy_program(without_composites(program))  # to copy is to judge the signature
    assert "aten.lstm.input" not in targets(made)
    torch.testing.assert_close(made.module()(x), program.module()(x))


def without_gradients(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x.relu()
    return y * x


def test_operators_without_gradients_are_operators() -> None:
    """Export keeps ``no_grad`` as a graph within the graph."""
    program = exported(without_gradients)
    assert any("wrap_with_set_grad_enabled" in name for name in targets(program))
    assert targets(without_composites(program)) == {"aten.relu.default": 1, "aten.mul.Tensor": 1}
