"""``torch.cond`` as a choice; the operator cases ``cond/...`` compare results."""

from __future__ import annotations

from collections.abc import Callable

import torch

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.aten.control_flow import with_choices
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution

_COND = torch.ops.higher_order.cond


def _exported(function: Callable[..., torch.Tensor]) -> torch.export.ExportedProgram:
    return torch.export.export(Apply(function), (torch.ones(3, 4),))


def test_a_program_without_branches_is_itself() -> None:
    program = _exported(lambda x: x + 1)
    assert with_choices(program) is program


def test_the_program_given_is_left_as_it_is() -> None:
    program = _exported(
        lambda x: torch.cond(
            x.sum() > 0, lambda x: torch.cond(x.mean() > 1, torch.sin, torch.cos, (x,)), lambda x: x - 1, (x,)
        )
    )
    before = program.graph_module.print_readable(print_output=False)
    made = with_choices(program)
    assert program.graph_module.print_readable(print_output=False) == before
    assert not made.graph.find_nodes(op="call_function", target=_COND)
    assert len(made.graph.find_nodes(op="call_function", target=torch.ops.aten.where.self)) == 2
    for x in (torch.full((3, 4), v) for v in (-1.0, 0.5, 2.0)):
        torch.testing.assert_close(made.module()(x), program.module()(x))


def test_a_choice_that_is_an_output_is_one_of_the_signature() -> None:
    program = _exported(lambda x: torch.cond(x.sum() > 0, lambda: torch.zeros(4), lambda: torch.ones(4), ()))
    with_choices(program).validate()


def test_a_loop_stays_outside_with_the_reason() -> None:
    class Loop(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            step = (lambda x: x.sum() < 30), (lambda x: (x * 2,))
            (result,) = torch.ops.higher_order.while_loop(*step, (x + 1,), ())
            return result  # type: ignore[no-any-return]

    run = Execution(torch.export.export(Loop(), (torch.ones(3),)), TosaCompileSpec("TOSA-1.0+FP").target())
    assert any("control flow that depends on data" in str(why) for why in run.analysis.rejected.values())
