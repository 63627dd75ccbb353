"""Decomposing before calibration ends, also where the rules do not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.fx import GraphModule

from arm_tosa_core import LoweringError, UsageError
from arm_tosa_core.lowering.rule import Q, Rule
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.quantize.composites import decompose


def module() -> GraphModule:
    exported = torch.export.export(torch.nn.Sequential(torch.nn.Linear(4, 4)), (torch.ones(2, 4),)).module()
    assert isinstance(exported, GraphModule)
    return exported


def itself(b: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    return b.aten.linear(x, weight, bias)


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ([], UsageError, r"without rules: give those of a target"),
        (
            [Rule(("aten.abs.default",), itself, Q.TABLE)],  # a layer is a product to PyTorch, and that a layer to us
            LoweringError,
            r"linear\w* is decomposed without end: aten.linear.default -> aten.addmm.default -> aten.linear.default",
        ),
        (
            [Rule(("aten.linear.default",), itself, Q.PIECEWISE)],
            LoweringError,
            r"without end: aten.linear.default -> aten.linear.default\n    at .*\ngive one of them a rule",
        ),
    ],
)
def test_what_would_be_decomposed_without_end_is_an_error(
    rules: list[Rule], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        decompose(module(), RuleSet(rules), lambda node: True)


def test_slopes_per_channel_are_a_product_and_a_sum() -> None:
    """Two halves, each rescaled and added, take five passes over the tensor on Ethos-U."""
    exported = torch.export.export(torch.nn.PReLU(3), (torch.ones(2, 3, 4),)).module()
    assert isinstance(exported, GraphModule)
    parts = decompose(exported, RuleSet.of(None), lambda node: True)
    called = [node.target for node in parts.graph.nodes if node.op == "call_function"]
    aten = torch.ops.aten
    assert called[-3:] == [aten.clamp.default, aten.mul.Tensor, aten.add.Tensor] and aten.relu.default not in called
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(parts(x), exported(x))
