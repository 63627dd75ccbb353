"""Functions of every float16 there is, on the TOSA reference model: as near to PyTorch's as its own rounding."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, exported

SPEC = TosaCompileSpec("TOSA-1.0+FP")

#: Each loses all digits somewhere if its parts are of float16: near 0, far below it, or where terms cancel.
FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "elu": F.elu,
    "celu": lambda x: F.celu(x, 0.7),
    "selu": F.selu,
    "atanh": torch.atanh,
    "cosh": torch.cosh,
    "erfc": torch.erfc,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log1p": torch.log1p,
    "sinh": torch.sinh,
    "addcmul": lambda x: torch.addcmul(x, x, x, value=0.3),
    "add, alpha": lambda x: torch.add(x, x.square(), alpha=0.3),
    "sub, alpha": lambda x: torch.sub(x, x.square(), alpha=0.3),
    "lerp": lambda x: torch.lerp(x, x.square(), 0.3),
    "hypot": lambda x: torch.hypot(x, x + 1),
    "atan2": lambda x: torch.atan2(x, x + 1),
    "mul, a number past float16": lambda x: x * 1e5,
    "mul, a number below float16": lambda x: x * 1e-8,
    "div, a number below float16": lambda x: x / 1e-5,
    "threshold": lambda x: F.threshold(x, 0.1, 0.3),
}
#: Steps of float16: those of gelu are of 1 + erf(x) in float32, which PyTorch computes otherwise.
STEPS = {"gelu": 6, "gelu by tanh": 5}


class Every(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(function(x) for function in FUNCTIONS.values())


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    x = bits.view(torch.float16)
    x = x[x.isfinite()]
    execution = Execution(exported(Every(), (x,), SPEC, "fp32"), SPEC.target())
    assert len(execution.regions) == 1 and not execution.analysis.rejected
    return dict(zip(FUNCTIONS, execution.edges([x]), strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_float16_is_rounded_once(
    name: str, results: dict[str, tuple[torch.Tensor, torch.Tensor]]
) -> None:
    ours, eager = results[name]
    assert ours.dtype == eager.dtype == torch.float16
    assert torch.equal(ours.isnan(), eager.isnan()) and torch.equal(ours.isinf(), eager.isinf())
    numbers = eager.isfinite()
    made, expected = ours[numbers].double(), eager[numbers].double()
    exponent = torch.frexp(expected.abs().clamp_min(2.0**-14))[1]
    step = torch.ldexp(torch.ones_like(made), exponent - 11)
    assert ((made - expected).abs() / step).max() <= STEPS.get(name, 1)


@pytest.mark.parametrize(
    "function", [lambda x: x.sum(1), lambda x: x.softmax(1), lambda x: x.log_softmax(1), lambda x: x @ x.T]
)
def test_sums_of_many_numbers_are_of_float32(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.linspace(1, 1.1, 5000, dtype=torch.float16).expand(2, -1).contiguous()
    ((made, eager),) = Execution(exported(Apply(function), (x,), SPEC, "fp32"), SPEC.target()).edges([x])
    torch.testing.assert_close(made, eager, rtol=2e-3, atol=0)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.cumsum(1), lambda x: torch.fmod(x, x.abs().flip(1)), lambda x: torch.remainder(x, x.flip(1))],
)
def test_what_is_left_of_large_numbers_is_of_float32(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.tensor([[60000.0, -60000.0, -60000.0, 0.25, 0.3, 1001.0, -0.1875, 0.125]], dtype=torch.float16)
    ((made, eager),) = Execution(exported(Apply(function), (x,), SPEC, "fp32"), SPEC.target()).edges([x])
    torch.testing.assert_close(made, eager, rtol=2e-3, atol=0)
