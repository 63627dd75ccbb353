"""Which nodes of a program go to a target, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from ..support.errors import Rejected
from ..tosa.ir import Op, Tensor
from .lowering import Lowering

#: Why what is known at compile time stays on the CPU.
CONSTANT = Rejected("is computed from constants, and used on the CPU only")

#: May a node be delegated, as far as the caller is concerned? A reason if not.
NodeCheck = Callable[[Node], "Rejected | None"]


@dataclass(frozen=True)
class Step:
    """How a node was lowered, and all that this depended on.

    Args:
        node: of the program that was walked over, which stays as it is.
        read: the values of the nodes that it reads.
        function: the function that it is part of, as text; empty: none.
        precise: whether its table is to be precise; None: nobody asked.
        result: its value, or why it has none.
        ops: the operators that it took, in order.
        asked: of each of the builder's caches, the keys that were looked up, and whether they were there.
        cached: of each of the builder's caches, what was put into it.
    """

    node: Node
    read: tuple[Any, ...]
    function: str
    precise: bool | None
    result: Any
    ops: list[Op]
    asked: list[dict[Any, bool]]
    cached: list[dict[Any, Tensor]]


@dataclass
class Analysis:
    """Which nodes go to the target.

    Args:
        lowering: what was emitted for them.
        accepted: nodes to delegate, with the number of the region that each belongs to.
        rejected: the others, and why.
        constant: nodes whose value is known at compile time.
        calls: all nodes that call an operator, but for those that lower and were refused for what is around them:
            they are not decomposed.
        wide: all nodes whose result is an int64 tensor, inputs of the program among them.
        steps: by name, how the nodes were lowered.
        taken: by name, the nodes that stay outside, and the values that they hand to the graph.
    """

    lowering: Lowering
    accepted: dict[Node, int] = field(default_factory=dict)
    rejected: dict[Node, Rejected] = field(default_factory=dict)
    constant: set[Node] = field(default_factory=set)
    calls: list[Node] = field(default_factory=list)
    wide: list[Node] = field(default_factory=list)
    steps: dict[str, Step] = field(default_factory=dict)
    taken: dict[str, tuple[Node, Any]] = field(default_factory=dict)

    def of_copy(self, program: ExportedProgram, twins: Mapping[Node, Node]) -> Analysis:
        """The same of a copy of the program, given the copy of each node."""
        return Analysis(
            self.lowering.of_copy(program, twins),
            {twins[n]: region for n, region in self.accepted.items()},
            {twins[n]: why for n, why in self.rejected.items()},
            {twins[n] for n in self.constant},
            [twins[n] for n in self.calls],
            [twins[n] for n in self.wide],
            self.steps,
            self.taken,
        )

    def add_copy(self, node: Node, copy: Node) -> None:
        """Knows a copy, within the program, of a node that emits nothing."""
        self.lowering.add_same(copy, node)
        self.calls.append(copy)
        if node in self.constant:
            self.constant.add(copy)
