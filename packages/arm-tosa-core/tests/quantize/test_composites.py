"""Decomposing before calibration ends, also where the rules do not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.fx import GraphModule

from arm_tosa_core import LoweringError, UsageError
from arm_tosa_core.lowering.rule import Q, Rule
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.plugin.target import Preferences
from arm_tosa_core.quantize.annotate.composites import decompose


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


_ATEN = torch.ops.aten
_SUM = [_ATEN.clamp.default, _ATEN.mul.Tensor, _ATEN.add.Tensor]


@pytest.mark.parametrize(
    ("slopes", "maxima", "parts"),
    [
        ((0.1, 0.5, 1.0), False, _SUM),
        ((0.1, -0.5, 1.0), True, [_ATEN.mul.Tensor, _ATEN.maximum.default]),
        ((1.0, 1.5, 2.0), True, [_ATEN.mul.Tensor, _ATEN.minimum.default]),
        ((0.1, 0.5, 1.5), True, _SUM),
    ],
)
def test_slopes_per_channel_take_few_operators(slopes: tuple[float, ...], maxima: bool, parts: list[Any]) -> None:
    """Two halves, each rescaled and added, take five passes over the tensor on Ethos-U."""
    layer = torch.nn.PReLU(3)
    layer.weight.data[:] = torch.tensor(slopes)
    x = torch.randn(2, 3, 4)
    wanted = layer(x)
    exported = torch.export.export(layer, (x,)).module()
    assert isinstance(exported, GraphModule)
    made = decompose(exported, RuleSet.of(None), lambda node: True, Preferences(maxima=maxima))
    called = [node.target for node in made.graph.nodes if node.op == "call_function"]
    assert called[-len(parts) :] == parts and _ATEN.relu.default not in called
    torch.testing.assert_close(made(x), wanted)
