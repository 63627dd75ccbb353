"""Delegates never hand on what they are given alone: such operators stay on the CPU, in both flows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.runtime import Runtime

from arm_ethosu import EthosUCompileSpec, EthosUPartitioner
from arm_tosa_core import lower
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.case import Apply
from arm_vgf import VgfCompileSpec, VgfPartitioner

pytestmark = pytest.mark.filterwarnings("ignore::arm_tosa_core.support.errors.NothingDelegatedWarning")

INTEGERS, REALS = torch.arange(-3, 3, dtype=torch.int32).reshape(2, 3), torch.randn(2, 3)
MASK = REALS > 0

#: The function, its inputs, and delegates at most in the fast flow.
ROWS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], int]] = {
    "a rule's operand": (lambda x: x.floor(), (INTEGERS,), 0),
    "two of them": (lambda x, y: (x.floor(), y.ceil()), (INTEGERS, INTEGERS + 1), 0),
    "beside work": (lambda x: (x.floor(), x * 2), (INTEGERS,), 1),
    "copy": (torch.clone, (REALS,), 0),
    "mask": (lambda x: x.t().t(), (MASK,), 0),
    "uint8": (lambda x: x.t().t(), (INTEGERS.to(torch.uint8),), 0),
    "turned and back beside work": (lambda x: (x.t().t(), x * 2), (INTEGERS,), 1),
}


def _ordinary(program: torch.export.ExportedProgram, partitioner: Any) -> bytes:
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner], compile_config=config)
    return bytes(edge.to_executorch().buffer)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("fast", [True, False])
def test_programs_run(name: str, fast: bool) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    function, inputs, _ = ROWS[name]
    program = torch.export.export(Apply(function), inputs)
    buffer = lower(program, "vgf").buffer if fast else _ordinary(program, VgfPartitioner(VgfCompileSpec()))
    results = Runtime.get().load_program(buffer).load_method("forward").execute(list(inputs))
    wanted = function(*inputs)
    for result, want in zip(results, [wanted] if isinstance(wanted, torch.Tensor) else wanted, strict=True):
        assert torch.equal(result, want)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("target", ["vgf", "ethos-u55-128"])
def test_nothing_is_delegated_where_nothing_is_computed(name: str, target: str) -> None:
    function, inputs, most = ROWS[name]
    report = lower(torch.export.export(Apply(function), inputs), target).report
    assert report.delegates <= most


def test_a_mask_that_is_turned_and_back_compiles_in_executorchs_flow() -> None:
    function, inputs, _ = ROWS["mask"]
    assert _ordinary(
        torch.export.export(Apply(function), inputs), EthosUPartitioner(EthosUCompileSpec("ethos-u55-128"))
    )


@pytest.mark.parametrize(
    ("function", "inputs", "unread"),
    [
        (lambda c, a: torch.where(c, a, a), (MASK, REALS), "args_0"),
        (lambda a, b: torch.stack([a, b])[0], (REALS, REALS + 1), "args_1"),
    ],
)
def test_an_input_that_no_result_depends_on_is_named_in_executorchs_flow(
    function: Callable[..., Any], inputs: tuple[torch.Tensor, ...], unread: str
) -> None:
    program = torch.export.export(Apply(function), inputs)
    assert lower(program, "vgf").report.delegates == 1
    with pytest.raises(UsageError, match=rf"its input {unread}, on which no result depends.*arm_tosa_core\.lower"):
        _ordinary(program, VgfPartitioner(VgfCompileSpec()))
