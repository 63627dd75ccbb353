"""Values and types that networks seldom have, and that TOSA or PyTorch treats in a way of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from arm_tosa_core.exir.tosa_targets import tosa
from arm_tosa_core.testing.harness import Execution, left_outside

_NAN, _INF = float("nan"), float("inf")
_NOT_FINITE = torch.tensor([_NAN, _INF, -_INF, 1.5, -2.5, 0.0, 3.0e38, _NAN])
_BASES = torch.tensor([[-2.0], [-1.5], [0.0], [0.5], [2.5]])
_POWERS = torch.tensor([-3.0, -2.0, -0.5, 0.0, 0.5, 1.0, 2.0])


def _run(function: Callable[..., Any], *inputs: torch.Tensor) -> tuple[Execution, torch.Tensor, torch.Tensor]:
    class Call(torch.nn.Module):
        def forward(self, *given: torch.Tensor) -> Any:
            return function(*given)

    execution = Execution(torch.export.export(Call(), inputs), tosa())
    (made,) = execution.run([tensor.clone() for tensor in inputs])
    return execution, made, function(*inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_any_power_of_any_base(dtype: torch.dtype) -> None:
    execution, made, eager = _run(torch.pow, _BASES.to(dtype), _POWERS.to(dtype))
    assert not left_outside(execution.program, execution.analysis)
    torch.testing.assert_close(made, eager, rtol=2e-3 if dtype == torch.float16 else 1e-5, atol=0, equal_nan=True)


def test_a_constant_base_above_0_is_one_operator() -> None:
    execution, made, eager = _run(lambda y: torch.tensor([0.5, 2.0]) ** y[:, None], _POWERS)
    assert [op.name for region in execution.regions for op in region.graph.ops if op.name != "RESHAPE"] == ["POW"]
    torch.testing.assert_close(made, eager)


_TRUTHS = [torch.tensor([True, False]), torch.tensor([1]), torch.tensor([True])]


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda x: x.logit(eps=0.2), [torch.tensor([0, 1, 2, -3], dtype=torch.int32)]),
        (lambda x: x.prod(0), [torch.tensor(True)]),
        (
            lambda x, i, v: x.scatter_add(0, i, v),
            [torch.tensor([True, False]), torch.tensor([1]), torch.tensor([True])],
        ),
        (lambda x, i, v: x.index_add(0, i, v), _TRUTHS),
    ],
    ids=["logit of integers", "product of a truth value", "scatter_add of truth values", "index_add of truth values"],
)
def test_other_types_stop_nothing(function: Callable[..., Any], inputs: list[torch.Tensor]) -> None:
    _, made, eager = _run(function, *inputs)
    torch.testing.assert_close(made, eager)


#: Functions of floats, of which TOSA has no operator that does by itself what PyTorch does with NaN and infinities.
NOT_FINITE: dict[str, Callable[..., Any]] = {
    "round": torch.round,
    "threshold": lambda x: torch.nn.functional.threshold(x, 0.5, 7.0),
    "hardshrink": torch.nn.functional.hardshrink,
    "softshrink": torch.nn.functional.softshrink,
    "floor_divide": lambda x: x // 3,
    "remainder": lambda x: x % 3,
    "remainder of a negative number": lambda x: x % -0.7,
    "fmod": lambda x: torch.fmod(x, 0.3),
    "sin": lambda x: torch.sin(x.clamp(-50000, 50000)),
    "sort": lambda x: x.sort(stable=True)[0],
    "argsort": lambda x: x.argsort(stable=True),
    "sort down": lambda x: x.sort(descending=True, stable=True)[1],
    "topk": lambda x: x.topk(4)[0],
    "kthvalue": lambda x: x.kthvalue(3)[0],
    "median": lambda x: x.median(),
    "median of a dimension": lambda x: x.reshape(2, 4).median(1, keepdim=True)[0],
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", NOT_FINITE)
def test_nan_and_infinities_are_as_in_pytorch(name: str, dtype: torch.dtype) -> None:
    x = _NOT_FINITE.clamp(-60000, 60000) if dtype == torch.float16 else _NOT_FINITE
    x = torch.where(_NOT_FINITE.isinf(), _NOT_FINITE, x).to(dtype)
    if "rem" in name or "divide" in name or name == "fmod":
        x = x[:-2]
    execution, made, eager = _run(NOT_FINITE[name], x)
    assert not left_outside(execution.program, execution.analysis)
    torch.testing.assert_close(made, eager, rtol=2e-3 if dtype == torch.float16 else 1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("number", [6.2831855, 3.0, 0.1, -0.7, 1e-20, 7.3e20])
@pytest.mark.parametrize("function", [torch.remainder, torch.fmod], ids=["remainder", "fmod"])
def test_what_is_left_of_large_numbers_is_exact(function: Callable[..., Any], number: float) -> None:
    """For quotients to 2**33; beyond, it is of the range that it should be of."""
    quotients = torch.logspace(-8, 32.9, 400, base=2.0, dtype=torch.float64)
    x = (quotients * abs(number)).float()
    x = torch.cat([x, -x])
    _, made, eager = _run(lambda x: function(x, number), x)
    assert torch.equal(made, eager)
    _, beyond, _ = _run(lambda x: function(x, number), torch.tensor([1e15, -1e15, 2.9e38]) * min(1.0, abs(number)))
    assert bool((beyond.abs() <= abs(number)).all())


def test_whole_quotients_that_no_half_can_be_added_to() -> None:
    _, made, eager = _run(lambda x: x // 0.5, torch.arange(-9.0, 9.0) + 2**23)
    assert torch.equal(made, eager)


@pytest.mark.parametrize("function", [torch.sin, torch.cos, torch.tan])
def test_functions_of_large_angles(function: Callable[..., Any]) -> None:
    x = torch.linspace(-50000, 50000, 997)
    execution, made, _ = _run(function, x)
    exact = function(x.double())
    near_pole = exact.abs() > 100
    torch.testing.assert_close(made.double()[~near_pole], exact[~near_pole], rtol=2e-3, atol=2e-6)
    assert "FLOOR" in [op.name for region in execution.regions for op in region.graph.ops]
