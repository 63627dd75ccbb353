"""Which nodes of a program go to a target, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch.export import ExportedProgram
from torch.fx import Node

from ..support.errors import Rejected
from .lowering import Lowering

#: Why what is known at compile time stays on the CPU.
CONSTANT = Rejected("is computed from constants, and used on the CPU only")

#: May a node be delegated, as far as the caller is concerned? A reason if not.
NodeCheck = Callable[[Node], "Rejected | None"]


@dataclass
class Analysis:
    """Which nodes go to the target.

    Args:
        lowering: what was emitted for them.
        accepted: nodes to delegate, with the number of the region that each belongs to.
        rejected: the others, and why.
        constant: nodes whose value is known at compile time.
        calls: all nodes that call an operator.
        wide: all nodes whose result is an int64 tensor, inputs of the program among them.
    """

    lowering: Lowering
    accepted: dict[Node, int] = field(default_factory=dict)
    rejected: dict[Node, Rejected] = field(default_factory=dict)
    constant: set[Node] = field(default_factory=set)
    calls: list[Node] = field(default_factory=list)
    wide: list[Node] = field(default_factory=list)

    def of_copy(self, program: ExportedProgram, twins: Mapping[Node, Node]) -> Analysis:
        """The same of a copy of the program, given the copy of each node."""
        return Analysis(
            self.lowering.of_copy(program, twins),
            {twins[n]: region for n, region in self.accepted.items()},
            {twins[n]: why for n, why in self.rejected.items()},
            {twins[n] for n in self.constant},
            [twins[n] for n in self.calls],
            [twins[n] for n in self.wide],
        )

    def add_copy(self, node: Node, copy: Node) -> None:
        """Knows a copy, within the program, of a node that emits nothing."""
        self.lowering.add_same(copy, node)
        self.calls.append(copy)
        if node in self.constant:
            self.constant.add(copy)
