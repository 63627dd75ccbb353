"""The CPU takes numbers beside tensors as PyTorch does, and results have their type on their way into a delegate."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.runtime import Runtime

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import TOSAQuantizer, get_symmetric_quantization_config, lower, quantize_program

pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
pytestmark = pytest.mark.filterwarnings("ignore::arm_tosa_core.support.errors.NothingDelegatedWarning")
SPEC = EthosUCompileSpec("ethos-u55-128")


class Counted(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("count", torch.tensor(3, dtype=dtype))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.count.add_(1)
        return x + 1.0, self.function(self.count)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
@pytest.mark.parametrize(
    "function",
    [lambda n: n % 3, lambda n: n // 2, lambda n: 7 // n, lambda n: torch.div(n, 2, rounding_mode="floor") * 3],
    ids=["remainder", "quotient", "of a number", "product"],
)
def test_results_have_their_type(function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    quantizer = TOSAQuantizer(SPEC).set_global(get_symmetric_quantization_config())
    program = torch.export.export(Counted(function, dtype), (torch.ones(4),))
    model = quantize_program(program, quantizer, [torch.randn(4) for _ in range(3)]).converted
    lowered = lower(torch.export.export(model, (torch.ones(4),)), SPEC)
    method, exact = Runtime.get().load_program(bytes(lowered.buffer)).load_method("forward"), Counted(function, dtype)
    for _ in range(3):
        torch.testing.assert_close(method.execute([torch.ones(4)])[1], exact(torch.ones(4))[1], rtol=0, atol=0)


class Of(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def _same_as_eager(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> None:
    lowered = lower(torch.export.export(Of(function), (x,)), SPEC)
    method = Runtime.get().load_program(bytes(lowered.buffer)).load_method("forward")
    (result,), expected = method.execute([x]), function(x)
    assert result.dtype == expected.dtype
    torch.testing.assert_close(result, expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x == 0.3,
        lambda x: x <= 0.3,
        lambda x: torch.where(x == 0.3, x, 1.0),
        lambda x: torch.where(x > 2, x, -1e9),
        lambda x: x * 70000,
        lambda x: x / 70000,
        lambda x: x * 0.3,
        lambda x: x + 0.3,
        lambda x: x + x.sum().item(),
        lambda x: x * x.sum().item(),
        lambda x: x > x.sum().item(),
        lambda x: x > (x.sum(dtype=torch.float32) / 3).item(),
        lambda x: x == torch.tensor(0.3),
        lambda x: x * torch.tensor(70000),
        lambda x: torch.mul(torch.tensor(70000), x),
        lambda x: torch.maximum(x, torch.tensor(0.2)),
    ],
    ids=[
        *("equal", "not above", "choice by a comparison", "choice of -1e9", "product", "quotient", "rounded product"),
        *("sum", "sum and a read number", "product and a read number", "comparison with a read number"),
        *("comparison with a read float32", "equal to a tensor", "product with a tensor", "product of a tensor"),
        "largest of a tensor and numbers",
    ],
)
def test_numbers_beside_16_bit_floats(
    function: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    x = torch.tensor([0.3, 0.1, 5.0]) if shape else torch.tensor(0.3)
    _same_as_eager(function, x.reshape(shape).to(dtype))


@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
@pytest.mark.parametrize(
    ("dtype", "number"), [(torch.uint8, 300), (torch.uint8, -1), (torch.int16, 70000), (torch.int32, 3000000000)]
)
@pytest.mark.parametrize(
    "function",
    [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.le, operator.eq, torch.rsub],
)
def test_numbers_that_integers_do_not_hold_wrap(
    function: Callable[[torch.Tensor, int], torch.Tensor], dtype: torch.dtype, number: int, shape: tuple[int, ...]
) -> None:
    x = torch.tensor([5, 44], dtype=dtype) if shape else torch.tensor(44, dtype=dtype)
    _same_as_eager(lambda x: function(x, number), x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
@pytest.mark.parametrize(
    "function",
    [lambda x: x + x.item(), lambda x: 0 * x + (x + 1).item(), lambda x: x[None] * x.item()],
    ids=["sum", "two", "of rank 1"],
)
def test_numbers_that_are_read(function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    _same_as_eager(function, torch.tensor(3, dtype=dtype))


@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.clamp(min=-1),
        lambda x: x.clamp(max=-1),
        lambda x: torch.where(x > 9, x, -1),
        lambda x: x.sub(x, alpha=-1),
    ],
    ids=["least", "most", "choice", "factor"],
)
def test_numbers_below_0_beside_unsigned_integers(
    function: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, ...]
) -> None:
    _same_as_eager(function, torch.tensor([5, 44] if shape else 5, dtype=torch.uint8))


@pytest.mark.parametrize(
    ("dtype", "number"), [(torch.uint8, -1), (torch.int8, 300), (torch.int16, 70000), (torch.int32, 3000000000)]
)
@pytest.mark.parametrize(
    "function", [torch.maximum, torch.eq, lambda x, number: torch.where(x > 9, x, number), torch.le, torch.floor_divide]
)
@pytest.mark.parametrize("is_read", [False, True])
def test_tensors_of_rank_0_wrap(
    function: Callable[[torch.Tensor, Any], torch.Tensor], dtype: torch.dtype, number: int, is_read: bool
) -> None:
    x = torch.tensor([5, 44, 127], dtype=dtype)
    _same_as_eager(lambda x: function(x, x.sum() if is_read else torch.tensor(number)), x)


def test_numbers_beside_float64() -> None:
    x = torch.tensor([0.3, -2.5], dtype=torch.float64)
    _same_as_eager(lambda x: (x == x.float()).double() + (x + 0.1) * (1e300 - x) * 0.1, x)
