"""``dtype=`` says what an operator computes in and gives: each such operator on half-precision input, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from flow_kit import Net, export, lower

from arm_tosa_core.lowering.rule import Rule
from arm_tosa_core.lowering.rule_set import RuleSet

#: What the required arguments of overloads are, by their names.
GIVEN: dict[str, Any] = {"dim": -1, "size": [2, 3], "fill_value": 1.5}

#: The type of the input, and what is asked for.
PAIRS = [
    (torch.float16, torch.float32),
    (torch.bfloat16, torch.float32),
    (torch.float32, torch.float16),
    (torch.float32, torch.bfloat16),
]


def overloads() -> dict[str, tuple[Any, list[Any]]]:
    """The overloads of ATen with ``dtype=`` that have a rule, and arguments for them; casts have cases of their own."""
    found: dict[str, tuple[Any, list[Any]]] = {}
    for name in (name for rule in RuleSet.of(None) for name in rule.targets if name.startswith("aten.")):
        _, operator, overload = name.split(".")
        called = getattr(getattr(torch.ops.aten, operator), overload)
        _first, *others = called._schema.arguments
        if operator in ("to", "_to_copy", "_assert_tensor_metadata") or "dtype" not in {a.name for a in others}:
            continue
        given = [a for a in others if not a.has_default_value()]
        found[name] = called, [[-1] if "List" in str(a.type) and a.name == "dim" else GIVEN[a.name] for a in given]
    return found


@pytest.mark.parametrize(("given", "wanted"), PAIRS)
def test_computes_in_the_type_that_is_asked_for(given: torch.dtype, wanted: torch.dtype) -> None:
    calls = overloads()
    if wanted.itemsize < given.itemsize:  # which PyTorch refuses of norms
        calls.pop("aten.linalg_vector_norm.default")
    assert {"aten.softmax.int", "aten.mean.dim", "aten.cumsum.default", "aten.prod.default"} <= set(calls)
    x = torch.rand(1, 2, 3, 4, generator=torch.Generator().manual_seed(0)).to(given)
    net = Net(lambda net, x: tuple(call(x, *arguments, dtype=wanted) for call, arguments in calls.values()))
    lowered = lower(export(net, (x,)), "TOSA-1.0+FP+bf16")
    assert [row for row in lowered.report.rejected if "constants" not in row.reason] == []
    for name, result, eager in zip(calls, lowered.run(x), net(x), strict=True):
        assert result.dtype == eager.dtype == wanted, name
        within = 2e-5 if wanted == torch.float32 else 4 * torch.finfo(wanted).eps
        torch.testing.assert_close(result, eager, rtol=within, atol=within, msg=lambda m, n=name: f"{n}: {m}")


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
