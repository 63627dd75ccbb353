"""Operators that stay on the CPU, whether ExecuTorch can run them there or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from executorch.exir.backend.operator_support import DontPartition
from flow_kit import Net, export, quantize
from program_kit import X

from arm_tosa_core import ExecuTorchOptions, TosaCompileSpec, UsageError, lower
from arm_tosa_core.exir.explain import explain


@pytest.fixture(scope="module", autouse=True)
def operators() -> Iterator[None]:
    with torch.library._scoped_library("arm_test", "DEF") as library:
        for name in ("bare", "whole"):
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, lambda x: x + 1, "CompositeExplicitAutograd")
        library.define("whole.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
        library.impl("whole.out", lambda x, out: out.copy_(x + 1), "CompositeExplicitAutograd")
        yield


class Bare(Net):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.ops.arm_test.bare(self.conv(x))


LINE = f"test_out_variants.py:{Bare.forward.__code__.co_firstlineno + 1}, in forward"


class Keep(DontPartition):
    """A check that names the operator in either dialect."""

    def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
        return "bare" not in str(node.target)


@pytest.mark.parametrize(
    ("checks", "reason"),
    [([], "there is no rule for arm_test.bare.default (write one"), ([Keep()], "is kept on the CPU by Keep")],
)
def test_an_operator_without_an_out_variant_is_told_with_its_line_and_reason(
    checks: Sequence[Any], reason: str
) -> None:
    with pytest.raises(UsageError) as error:
        lower(export(Bare(), (X,)), "tosa-fp", executorch=ExecuTorchOptions(additional_checks=checks))
    text = str(error.value)
    assert text.startswith("arm_test.bare.default cannot run on the CPU: ExecuTorch needs an out variant")
    assert LINE in text
    assert f"arm_test.bare.default was not delegated: {reason}" in text
    assert "torch.library.define(" in text


def test_an_operator_with_an_out_variant_runs_on_the_cpu() -> None:
    lowered = lower(export(Net(lambda net, x: torch.ops.arm_test.whole(net.conv(x))), (X,)), "tosa-fp")
    assert [row.target for row in lowered.report.rejected] == ["arm_test.whole.default"]


def test_an_operator_stays_whole_if_its_parts_have_no_rules_either() -> None:
    """ExecuTorch has ``i0`` for the CPU, but not the operator of which PyTorch makes it."""
    lowered = lower(quantize(Net(lambda net, x: torch.i0(net.conv(x))), (X,)), "tosa-int")
    assert [row.target for row in lowered.report.rejected] == ["aten.i0.default"]


def test_operators_that_check_their_operands_are_told() -> None:
    with pytest.raises(UsageError, match="with_effects cannot run on the CPU(.|\n)*as torch.linalg.inv does"):
        lower(export(Net(lambda net, x: torch.linalg.inv(net.conv(x)[0, :, :3, :3])), (X,)), "tosa-fp")


def test_control_flow_that_executorch_does_not_write_is_told_with_its_line() -> None:
    def twice(net: Any, x: torch.Tensor) -> torch.Tensor:
        steps = torch.tensor(0)
        return torch.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a * 0.5), (steps, net.conv(x)))[1]

    program = export(Net(twice), (X,))
    with pytest.raises(UsageError) as error:
        lower(program, "tosa-fp")
    text = str(error.value)
    assert text.startswith("while_loop cannot run on the CPU: ExecuTorch has no such control flow")
    assert "in forward: return self._forward(self, *inputs)" in text and "torch.cond" in text
    assert "no kernel for while_loop" in explain(program, TosaCompileSpec("TOSA-1.0+FP")).without_kernels()
