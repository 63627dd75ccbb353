"""Constants of one element that arithmetic reads are numbers, and the result stays the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.quantize.annotate.plain_module import make_plain
from arm_tosa_core.testing.harness import Execution, exported

X = torch.tensor([[-2.0, -0.5, float("nan"), 0.5], [1.0, 2.0, 3.0, float("inf")]])


class Net(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], number: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("number", number)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, self.number)


def _plain(net: torch.nn.Module, x: torch.Tensor, is_trained: bool = False) -> torch.fx.GraphModule:
    module = torch.export.export(net, (x,)).module()
    make_plain(module, RuleSet.of(None), is_trained)
    return module


def _check(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], number: torch.Tensor, *, tensors: int
) -> None:
    """The function gives the same with a constant that is a number, or one of as many tensors."""
    net = Net(function, number)
    module = _plain(net, X)
    assert len(module.graph.find_nodes(op="get_attr")) == tensors
    torch.testing.assert_close(module(X), net(X), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("number", [torch.tensor(0.5), torch.tensor([1.5]), torch.tensor([[2.0]])])
@pytest.mark.parametrize(
    "function",
    [
        *(lambda x, n: x + n, lambda x, n: n + x, lambda x, n: x - n, lambda x, n: n - x, lambda x, n: x * n),
        *(lambda x, n: n * x, lambda x, n: x / n, torch.maximum, torch.minimum, torch.pow),
        *(lambda x, n: torch.maximum(n, x), lambda x, n: torch.minimum(n, x)),
    ],
)
def test_a_number_gives_the_same(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], number: torch.Tensor
) -> None:
    _check(function, number, tensors=0)


@pytest.mark.parametrize(
    ("function", "number"),
    [
        (lambda x, n: x + n, torch.tensor([[[1.0]]])),  # the result has another rank
        (lambda x, n: x + n, torch.tensor(1)),  # an integer
        (lambda x, n: x * n, torch.tensor(float("inf"))),
        (lambda x, n: n / x, torch.tensor(1.0)),
        (lambda x, n: torch.add(x, n, alpha=2), torch.tensor(1.0)),
        (lambda x, n: x * n, torch.ones(4)),
    ],
)
def test_other_constants_stay(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], number: torch.Tensor
) -> None:
    _check(function, number, tensors=1)


def test_what_is_written_or_trained_stays() -> None:
    class Counted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("number", torch.tensor(0.5))
            self.scale = torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * self.number * self.scale
            self.number.add_(1.0)
            return y

    module = _plain(Counted(), X[:1, :2], is_trained=True)
    assert {str(node.target) for node in module.graph.find_nodes(op="get_attr")} == {"number", "scale"}
    first, second = module(X[:1, :2]), module(X[:1, :2])
    torch.testing.assert_close(second, first * 3)


def test_a_function_with_numbers_in_buffers_is_one_table() -> None:
    class Gelu(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 8)
            for name, number in (("cube", 0.044715), ("root", 0.7978846), ("one", 1.0), ("part", 0.5)):
                self.register_buffer(name, torch.tensor(number))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.layer(x)
            return x * (self.part * (self.one + torch.tanh(self.root * (x + x * (x * (self.cube * x))))))

    spec = TosaCompileSpec("TOSA-1.0+INT")
    run = Execution(exported(Gelu().eval(), (torch.randn(4, 8),), spec, "int8"), spec.target())
    names = [op.name for region in run.regions for op in region.graph.ops]
    assert names.count("TABLE") == 1
    assert "MUL" not in names
