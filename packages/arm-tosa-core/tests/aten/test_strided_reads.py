"""``as_strided`` of tensors that lie in memory in another order than that of their axes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.export import ExportedProgram

from arm_tosa_core.aten.canonicalize import canonicalize
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.support.errors import UsageError

Function = Callable[[torch.Tensor], torch.Tensor]
READS: dict[str, Function] = {
    "transposed": lambda x: (x * 2).transpose(1, 2).as_strided((1, 4, 5), (20, 5, 1)),
    "transposed input": lambda x: x.transpose(1, 2).as_strided((3, 4), (5, 1), 1),
    "kept order": lambda x: x.transpose(1, 2).relu().as_strided((2, 3), (1, 2)),
    "four axes": lambda x: x.view(1, 2, 2, 5).permute(0, 3, 1, 2).as_strided((1, 2, 3), (1, 3, 1), 1),
    "a part, from its memory's beginning": lambda x: (x * 2)[:, 2:].as_strided((1, 3), (1, 1), 11),
}
OUTSIDE: dict[str, Function] = {
    "before a part": lambda x: (x * 2)[:, 2:].as_strided((1, 3), (1, 1), 0),
    "behind a part": lambda x: (x * 2)[:, :2].as_strided((4, 4), (5, 1)),
    "between elements": lambda x: (x * 2)[:, :, 1:].as_strided((3, 4), (5, 1)),
}


def canonical_program(function: Function) -> ExportedProgram:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    program = torch.export.export(Module(), (torch.randn(1, 4, 5),))
    return canonicalize(program, RuleSet.of(None))


@pytest.mark.parametrize("name", READS)
def test_what_is_read_lies_in_the_order_of_its_axes(name: str) -> None:
    program, x = canonical_program(READS[name]), torch.randn(1, 4, 5)
    assert torch.equal(program.module()(x), READS[name](x))
    (node,) = [n for n in program.graph.nodes if n.target is torch.ops.aten.as_strided.default]
    operand = node.all_input_nodes[0].meta["val"]
    assert operand.is_contiguous() and operand.storage_offset() == 0


@pytest.mark.parametrize("name", OUTSIDE)
def test_memory_of_others_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"as_strided at .*test_strided_reads.py.* contiguous\(\)"):
        canonical_program(OUTSIDE[name])
