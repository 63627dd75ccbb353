"""Values and types that networks seldom have, and that TOSA or PyTorch treats in a way of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from arm_tosa_core.exir.tosa_targets import tosa
from arm_tosa_core.testing.harness import Execution, left_outside

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
