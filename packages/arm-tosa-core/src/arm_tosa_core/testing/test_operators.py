"""Every operator case, in every scheme that the target's specification admits."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ..exir.compile_spec import TargetCompileSpec
from ..lower.exported_program import is_dequantize
from ..plugin.entry_points import target as find_target
from ..plugin.target import Target
from .case import SCHEMES, OpCase
from .cases import CASES
from .flows import assert_flows_agree
from .harness import Execution, delegated, exported, left_outside

ROWS = [pytest.param(case, scheme, id=f"{case.name}-{scheme}") for case in CASES for scheme in SCHEMES]


@pytest.mark.parametrize(("case", "scheme"), ROWS)
def test_operator(case: OpCase, scheme: str, request: pytest.FixtureRequest) -> None:
    target = find_target(request.config.getoption("--arm-target"))
    ordinary = request.config.getoption("--arm-flow") == "ordinary"
    check_case(case, scheme, target, validate=request.config.getoption("--arm-validate"), ordinary=ordinary)


def check_case(case: OpCase, scheme: str, target: Target, *, validate: bool = False, ordinary: bool = False) -> None:
    """Fails unless the target takes the whole case and computes what eager PyTorch does, or refuses it as the row says.

    Skips what the target cannot have: schemes outside its specification, operators beyond its own checks.

    Args:
        validate: have ``tosa-opt`` judge each graph.
        ordinary: also lower the case through ExecuTorch's own flow, and compare with the fast flow.
    """
    spec = target.tosa_spec
    if scheme == "fp32" and not spec.support_float():
        pytest.skip(f"{target.name} has no float")
    if scheme != "fp32" and not spec.support_integer():
        pytest.skip(f"{target.name} has no integers")
    if scheme == "int16" and not spec.support_extension("int16"):
        pytest.skip(f"{target.name} has no int16 extension")
    module, inputs = case.module(), case.example(0)
    compile_spec = target.compile_spec() if target.compile_spec else TargetCompileSpec(target.name)
    program = exported(module, inputs, compile_spec, scheme)
    run = Execution(program, target, check=validate)
    if ordinary:
        assert_flows_agree(program, compile_spec, target, case.example(1))
    reasons = [str(why) for why in run.analysis.rejected.values()]
    if scheme in case.refuses:
        other = spec.support_float() or case.refuses.get("fp32") == case.refuses[scheme]  # then float is not what lacks
        expected = [case.refuses[scheme], *([] if other else _NO_FLOAT)]
        assert any(e in r for r in reasons for e in expected), f"expected a refusal {expected}, got {reasons}"
        return
    left = left_outside(run.program, run.analysis)
    if scheme in case.needs_float and not spec.support_float():
        assert left, f"is delegated on {target.name}, which has no float: take {scheme} out of needs_float"
        if target.checks:  # they may have refused parts before float mattered
            left = left_outside(*delegated(program, replace(target, checks=())))
        assert any(word in why for why in left.values() for word in _NO_FLOAT), f"refused for other reasons: {left}"
        return
    if left and target.checks:
        unlimited = left_outside(*delegated(program, replace(target, checks=())))
        if not unlimited:
            pytest.skip(f"{target.name} refuses: {'; '.join(left.values())}")
    assert not left, f"left outside: {left}"
    pairs = run.edges(case.example(1))
    assert pairs, "nothing was delegated"
    for node, (ours, eager) in zip((n for r in run.regions for n in r.outputs), pairs, strict=True):
        assert ours.shape == eager.shape
        assert ours.dtype == eager.dtype
        if is_dequantize(node):  # inside the region, where the target has float
            off = (ours - eager).abs().max().item() / float(node.args[1])  # type: ignore[arg-type,operator]
            assert off <= case.allowed(scheme, target.joins_int48_rescales) + 0.01, f"{off:.2f} quanta off"
        elif eager.dtype.is_floating_point:
            torch.testing.assert_close(ours, eager, rtol=case.tolerance[0], atol=case.tolerance[1], equal_nan=True)
        else:
            off = (ours.to(torch.int64) - eager.to(torch.int64)).abs().max().item() if eager.numel() else 0
            allowed = (
                case.allowed(scheme, target.joins_int48_rescales)
                if scheme != "fp32" and eager.dtype in (torch.int8, torch.int16)
                else 0
            )
            assert off <= allowed, f"{off} quanta off"


#: What refusals say where an operator needs float.
_NO_FLOAT = ("has integers only", "needs FP", "16 bits cannot follow", "32 bits do not hold", "is used in float by")
