"""``dtype=`` says what an operator computes in and gives: each such operator on half-precision input, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from flow_kit import Net, export, lower

from arm_tosa_core.lowering.rule import Rule
from arm_tosa_core.lowering.rule_set import RuleSet

F32 = torch.float32
OPERATORS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": lambda x: torch.softmax(x, -1, dtype=F32),
    "log_softmax": lambda x: torch.log_softmax(x, -1, dtype=F32),
    "mean.dim": lambda x: torch.mean(x, -1, dtype=F32),
    "mean over an image": lambda x: torch.mean(x, (2, 3), dtype=F32),
    "mean": lambda x: torch.mean(x, dtype=F32),
    "sum.dim": lambda x: torch.sum(x, -1, dtype=F32),
    "sum": lambda x: torch.sum(x, dtype=F32),
    "prod.dim": lambda x: torch.prod(x, -1, dtype=F32),
    "cumsum": lambda x: torch.cumsum(x, -1, dtype=F32),
}


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_computes_in_the_type_that_is_asked_for(half: torch.dtype) -> None:
    x = torch.randn(1, 4, 6, 8, generator=torch.Generator().manual_seed(0)).to(half)
    net = Net(lambda net, x: tuple(compute(x) for compute in OPERATORS.values()))
    lowered = lower(export(net, (x,)), "TOSA-1.0+FP+bf16")
    assert not lowered.report.rejected
    for name, result, wanted in zip(OPERATORS, lowered.run(x), net(x), strict=True):
        assert result.dtype == wanted.dtype == F32, name
        torch.testing.assert_close(result, wanted, rtol=2e-5, atol=2e-5, msg=lambda m, n=name: f"{n}: {m}")


def test_a_rule_that_disagrees_with_pytorch_leaves_its_operator_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    find = RuleSet.find

    def wrong(self: RuleSet, name: str) -> Rule | None:
        return find(self, "aten.mean.dim" if name == "aten.sum.dim_IntList" else name)

    def forward(net: Net, x: torch.Tensor) -> Any:
        return torch.sum(torch.relu(x).int(), -1)

    x = torch.randn(1, 4, 6, 8)
    program = export(Net(forward), (x,))
    monkeypatch.setattr(RuleSet, "find", wrong)
    lowered = lower(program, "TOSA-1.0+FP+INT")
    (row,) = [r for r in lowered.report.rejected if "PyTorch says" in r.reason]
    assert row.target == "aten.sum.dim_IntList" and "is lowered wrongly" in row.reason
