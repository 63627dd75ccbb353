"""Every operator case, in every scheme that the target's specification admits."""

from __future__ import annotations

import runpy
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ..exir.target_options import compile_spec_for
from ..lowering.exported_program import is_dequantize
from ..plugin.entry_points import target as find_target
from ..plugin.target import Target
from .case import SCHEMES, OpCase
from .cases import CASES
from .harness import Execution, delegated, exported_case, left_outside
from .plugin import REFUSALS
from .verified_rewrites import verified_rewrites

pytestmark = pytest.mark.arm_operator


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The rows of the target: every case in every scheme that its specification admits."""
    schemes = schemes_of(find_target(metafunc.config.getoption("--arm-target")))
    file = metafunc.config.getoption("--arm-cases")
    cases = read_cases(file) if file else CASES
    rows = [pytest.param(case, scheme, id=row_id(case, scheme)) for case in cases for scheme in schemes]
    metafunc.parametrize(("case", "scheme"), rows)


def read_cases(file: Path) -> list[OpCase]:
    """The list ``CASES`` of a Python file.

    Raises:
        pytest.UsageError: the file cannot be read or run, or has no such list.
    """
    try:
        cases = runpy.run_path(str(file)).get("CASES")
    except Exception as error:  # any exception of a foreign file
        raise pytest.UsageError(f"--arm-cases: {file} does not run: {type(error).__name__}: {error}") from error
    if not isinstance(cases, list) or not cases or not all(isinstance(case, OpCase) for case in cases):
        raise pytest.UsageError(f"--arm-cases: {file} has no list CASES of arm_tosa_core.testing.case.OpCase")
    return cases


def schemes_of(target: Target) -> list[str]:
    """The schemes that a target's specification admits."""
    spec = target.tosa_spec
    admitted = {
        "fp32": spec.support_float(),
        "int8": spec.support_integer(),
        "int16": spec.support_integer() and spec.support_extension("int16"),
    }
    return [scheme for scheme in SCHEMES if admitted[scheme]]


def row_id(case: OpCase, scheme: str) -> str:
    """The name of a row in pytest and in the file of ``--arm-refusals``."""
    return f"{case.name}-{scheme}"


def test_operator(case: OpCase, scheme: str, request: pytest.FixtureRequest) -> None:
    option = request.config.getoption
    with verified_rewrites() if option("--arm-verify-rewrites") else nullcontext():
        check_case(
            case,
            scheme,
            find_target(option("--arm-target")),
            validate=option("--arm-validate"),
            refusal=request.config.stash[REFUSALS].get(row_id(case, scheme)),
        )


def check_case(
    case: OpCase,
    scheme: str,
    target: Target,
    *,
    validate: bool = False,
    refusal: str | None = None,
) -> None:
    """Fails unless the target takes the whole case with the results of eager PyTorch, or refuses it as the row says.

    Skips a case only if the target's own checks refuse it for the reason given in ``refusal``.

    Args:
        validate: have ``tosa-opt`` judge each graph.
        refusal: a part of the reason with which the target's own checks must refuse the row; None: they must take it.
    """
    spec = target.tosa_spec
    program = exported_case(case, compile_spec_for(target, {}), scheme)
    run = Execution(program, target, check=validate)
    reasons = [str(why) for why in run.analysis.rejected.values()]
    if scheme in case.refuses:
        not_for_float = spec.support_float() or case.refuses.get("fp32") == case.refuses[scheme]  # float is not lacking
        expected = [case.refuses[scheme], *([] if not_for_float else _NO_FLOAT)]
        assert any(e in r for r in reasons for e in expected), f"expected a refusal {expected}, got {reasons}"
        assert not refusal, f"is refused on every target: {_DELETE}"
        return
    outside = left_outside(run.program, run.analysis)
    if scheme in case.needs_float and not spec.support_float():
        assert outside, f"is delegated on {target.name}, which has no float: take {scheme} out of needs_float"
        if target.checks:  # they may have refused parts before float mattered
            outside = left_outside(*delegated(program, replace(target, checks=())))
        assert any(word in why for why in outside.values() for word in _NO_FLOAT), (
            f"refused for other reasons: {outside}"
        )
        assert not refusal, f"is refused for want of float: {_DELETE}"
        return
    if outside and target.checks and not left_outside(*delegated(program, replace(target, checks=()))):
        reason = "; ".join(outside.values())
        assert refusal, f"{target.name} refuses what its specification admits: {reason}. Is it right to? {_LIST}"
        assert refusal in reason, f"{target.name} refuses for another reason than {refusal!r}: {reason}"
        pytest.skip(f"{target.name} refuses, as it is listed to: {reason}")
    assert not refusal, f"{target.name} does not refuse for {refusal!r}: {_DELETE}"
    assert not outside, f"left outside: {outside}"
    rounds = any(rewrite.rounds for rewrite in target.rewrites)
    pairs = run.edges(case.example(1))
    assert pairs, "nothing was delegated"
    for node, (ours, eager) in zip((n for r in run.regions for n in r.outputs), pairs, strict=True):
        assert ours.shape == eager.shape
        assert ours.dtype == eager.dtype
        if is_dequantize(node):  # inside the region, where the target has float
            off = (ours - eager).abs().max().item() / float(node.args[1])  # type: ignore[arg-type,operator]
            assert off <= case.allowed(scheme, rounds) + 0.01, f"{off:.2f} quanta off"
        elif eager.dtype.is_floating_point:
            torch.testing.assert_close(ours, eager, rtol=case.tolerance[0], atol=case.tolerance[1], equal_nan=True)
        else:
            off = (ours.to(torch.int64) - eager.to(torch.int64)).abs().max().item() if eager.numel() else 0
            allowed = (
                case.allowed(scheme, rounds) if scheme != "fp32" and eager.dtype in (torch.int8, torch.int16) else 0
            )
            assert off <= allowed, f"{off} quanta off"


#: Words of refusals of operators that need float.
_NO_FLOAT = (
    *("has integers only", "needs FP", "16 bits cannot follow", "32 bits do not hold", "is used in float by"),
    "into torch.float32",  # a cast whose result has no integer form
)
_LIST = "Then add the row and a part of the reason to the file of --arm-refusals."
_DELETE = "delete its line in the file of --arm-refusals"
