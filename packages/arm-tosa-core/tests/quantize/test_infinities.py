"""Truth values that infinity decides, or what stands for it: right in integers, or refused with the operator."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from quantizer_kit import quantizer
from torch import nn
from torch._higher_order_ops.while_loop import while_loop

from arm_tosa_core import quantize_program
from arm_tosa_core.support.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

INF, LEAST = float("inf"), torch.finfo(torch.float32).min
Operator = Callable[..., torch.Tensor]


def calls_above(bound: float, x: torch.Tensor) -> torch.Tensor:
    """How often each number is above a bound in the calls of a loop."""

    def body(call: torch.Tensor, x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return call + 1, x.clone(), count + (x > bound)

    start = torch.zeros((), dtype=torch.int64), x, torch.zeros_like(x, dtype=torch.int64)
    return while_loop(lambda call, *_: call < 3, body, start)[2]  # type: ignore[no-any-return]


class Function(nn.Module):
    def __init__(self, function: Operator) -> None:
        super().__init__()
        self.function = function
        self.calls: torch.Tensor
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return self.function(x * 2, y * 2)


def made(function: Operator, *samples: list[list[float]]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The results in float, and quantized."""
    calls = [tuple(torch.tensor(numbers) for numbers in sample) for sample in samples]
    program = torch.export.export(Function(function), calls[0])
    converted = quantize_program(program, quantizer(), calls).converted
    return [function(x * 2, y * 2) for x, y in calls], [converted(*call) for call in calls]


X, ONES = [1.0, 2.0, INF], [1.0, 1.0, 1.0]
FINITE = [[1.0, 2.0, -3.0], [1.5, 1.5, 1.5]]


@pytest.mark.parametrize(
    ("function", "name", "x", "y"),
    [
        (lambda x, y: torch.isinf(x), "isinf", [1.0, INF, -INF], ONES),
        (lambda x, y: torch.isfinite(x), "isfinite", X, ONES),
        (lambda x, y: torch.isneginf(x), "isneginf", [1.0, INF, -INF], ONES),
        (lambda x, y: torch.nan_to_num(x, posinf=5.0), "nan_to_num", X, ONES),
        (lambda x, y: x == INF, "eq", X, ONES),
        (lambda x, y: x.abs() < INF, "lt", X, ONES),
        (lambda x, y: x >= torch.tensor([0.0, INF, INF]), "ge", X, ONES),
        (lambda x, y: x > 100.0, "gt", X, ONES),
        (lambda x, y: x > y, "gt", X, [1.0, 1.0, 50.0]),
        (lambda x, y: x == y, "eq", X, [1.0, 9.0, INF]),
        (lambda x, y: x * 0.1 > 5.0, "gt", X, ONES),  # clipped before the product
        (lambda x, y: 1 / x > 0.02, "gt", X, ONES),
        (lambda x, y: (x * 0.01).tanh() > 0.9, "gt", X, ONES),
        (lambda x, y: torch.where(1 / x > 0.02, y, 0.0), "gt", X, ONES),
        (lambda x, y: x > -1e8, "gt", [1.0, -INF, 3.0], ONES),
        (lambda x, y: x > -1e4, "gt", [0.0, -1e9, 0.0], ONES),
        (lambda x, y: x > -1e4, "gt", [0.0, LEAST / 2, 0.0], ONES),
        (lambda x, y: torch.where(x > 100.0, x, 0.0), "gt", X, ONES),
        (lambda x, y: torch.where(x > 100.0, y > 1.0, x > 50.0), "gt_2", X, ONES),
        (lambda x, y: x.masked_fill(x == -INF, 0.0), "eq", [1.0, 2.0, -INF], ONES),
        (lambda x, y: torch.isclose(x, torch.full_like(x, INF)), "isclose", X, ONES),
        (lambda x, y: torch.isin(x, torch.tensor([INF, 7.0])), "isin", X, ONES),
        (lambda x, y: torch.bucketize(x, torch.tensor([0.0, 100.0])), "bucketize", X, ONES),
        (lambda x, y: (x - 100.0).sign(), "sign", X, ONES),
        (lambda x, y: calls_above(100.0, x), "while_loop", X, ONES),
    ],
)
def test_infinity_is_asked_for(function: Operator, name: str, x: list[float], y: list[float]) -> None:
    floats, integers = made(function, FINITE)
    assert integers[0].dtype != torch.bool or torch.equal(integers[0], floats[0])
    with pytest.raises(UsageError, match=f"'{name}' .* asks for infinity") as caught:
        made(function, *[FINITE] * 9, [x, y])
    assert "While executing" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "samples"),
    [
        (lambda x, y: x > 3, [[[1.0, 2.0, -INF], ONES]]),
        (lambda x, y: x > 100.0, [[X, ONES], [[1.0, 60.0, 3.0], ONES]]),  # within the range in the end
        (lambda x, y: x > -500.0, [[[0.0, -1e9, 0.0], ONES]]),
        (lambda x, y: x > y, [[X, [1.0, 1.0, 3.0]]]),
        (lambda x, y: x == y, [[X, [2.0, 1.0, INF]]]),
        (lambda x, y: x == x, [[X, ONES]]),
        (lambda x, y: torch.isin(x, torch.tensor([-INF])), [[X, ONES]]),
        (lambda x, y: x.sign() * y, [[X, ONES]]),
        (lambda x, y: calls_above(0.0, x) > 1, [[X, ONES]]),
        (lambda x, y: torch.nan_to_num(x).softmax(-1), [[[1.0, 2.0, -INF], ONES], [X, ONES]]),
        (lambda x, y: torch.where(x.isneginf(), -1e4, x).softmax(-1), [[[1.0, 2.0, -INF], ONES]]),
        (lambda x, y: x.softmax(-1) > 0.0, [[[1.0, 2.0, -INF], ONES]]),
        (lambda x, y: x.masked_fill((y + torch.rand(3)) > 1.0, -INF) > 0.0, [[[1.0, 2.0, 3.0], ONES]]),
    ],
)
def test_infinity_that_decides_nothing(function: Operator, samples: list[list[list[float]]]) -> None:
    for wanted, got in zip(*made(function, *samples), strict=True):
        if wanted.dtype == torch.bool:
            assert torch.equal(got, wanted)
        else:
            torch.testing.assert_close(got, wanted, atol=0.03, rtol=0)


def test_a_range_that_other_samples_decide() -> None:
    """Zeros alone leave a mask far away, and the numbers of a later sample do not."""
    masked = [[0.0, -1e9, 0.0], ONES]
    with pytest.raises(UsageError, match="asks for infinity"):
        made(lambda x, y: x > -500.0, masked, [[0.0, 3.0, 0.0], ONES])


class Counting(nn.Module):
    """Its state leads to infinity in the fourth call."""

    def __init__(self) -> None:
        super().__init__()
        self.n: torch.Tensor
        self.register_buffer("n", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n.add_(1)
        return torch.where(self.n > 3.5, INF, x * 2) > 100.0


def test_a_state_that_leads_to_infinity() -> None:
    samples = [(torch.tensor([1.0, 2.0, 3.0]),)] * 5
    program = torch.export.export(Counting(), samples[0])
    with pytest.raises(UsageError, match="asks for infinity"):
        quantize_program(program, quantizer(), samples)
