"""Every operator case, in every scheme that the target's specification admits."""

from __future__ import annotations

import pytest
import torch

from ..compile_spec import TargetCompileSpec
from ..plugins import target as find_target
from ..program import is_dequantize, is_quantize
from .case import SCHEMES, OpCase
from .cases import CASES
from .harness import Execution, exported

ROWS = [pytest.param(case, scheme, id=f"{case.name}-{scheme}") for case in CASES for scheme in SCHEMES]


@pytest.mark.parametrize(("case", "scheme"), ROWS)
def test_operator(case: OpCase, scheme: str, request: pytest.FixtureRequest) -> None:
    target = find_target(request.config.getoption("--arm-target"))
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
    run = Execution(program, target, check=request.config.getoption("--arm-validate"))
    reasons = [str(why) for why in run.analysis.rejected.values()]
    if scheme in case.refuses:
        assert any(case.refuses[scheme] in r for r in reasons), (
            f"expected a refusal {case.refuses[scheme]!r}, got {reasons}"
        )
        return
    left = {n.name: str(run.analysis.rejected.get(n)) for n in program.graph.nodes if _must_be_inside(n, run)}
    assert not left, f"left outside: {left}"
    pairs = run.edges(case.example(1))
    assert pairs, "nothing was delegated"
    for node, (ours, eager) in zip((n for r in run.regions for n in r.outputs), pairs, strict=True):
        assert ours.shape == eager.shape
        assert ours.dtype == eager.dtype
        if is_dequantize(node):  # inside the region, where the target has float
            off = (ours - eager).abs().max().item() / float(node.args[1])  # type: ignore[arg-type,operator]
            assert off <= case.allowed(scheme) + 0.01, f"{off:.2f} quanta off"
        elif eager.dtype.is_floating_point:
            torch.testing.assert_close(ours, eager, rtol=case.tolerance[0], atol=case.tolerance[1], equal_nan=True)
        else:
            off = (ours.to(torch.int64) - eager.to(torch.int64)).abs().max().item() if eager.numel() else 0
            allowed = case.allowed(scheme) if scheme != "fp32" and eager.dtype in (torch.int8, torch.int16) else 0
            assert off <= allowed, f"{off} quanta off"


def _must_be_inside(node: torch.fx.Node, run: Execution) -> bool:
    """Operators; not the quantize and dequantize nodes at the edges."""
    if node.op != "call_function" or node in run.analysis.accepted:
        return False
    return not (is_quantize(node) or is_dequantize(node) or getattr(node.target, "__name__", "") == "getitem")
